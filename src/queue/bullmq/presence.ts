import { PREFIX } from './names.ts';
import type { RedisClient } from './redis.ts';

const KEY = `${PREFIX}:workers`;
const BEAT_MS = 5_000;
/** Who has not been heard of for so long is taken for gone. */
const ABSENT_MS = 15_000;

/** Says that a worker is there, until it is closed. */
export interface Presence {
  close(): Promise<void>;
}

/** Announces a worker of this process under an id of its own. */
export function announceWorker(client: RedisClient, id: string): Presence {
  const beat = (): void => {
    client
      .multi()
      .zadd(KEY, Date.now(), id)
      .pexpire(KEY, ABSENT_MS)
      .exec()
      .catch(() => {}); // the next one will do
  };
  beat();
  const timer = setInterval(beat, BEAT_MS);
  return {
    close: async () => {
      clearInterval(timer);
      await client.zrem(KEY, id);
    },
  };
}

/** How many workers are there, on all machines. */
export async function countWorkers(client: RedisClient): Promise<number> {
  return await client.zcount(KEY, Date.now() - ABSENT_MS, '+inf');
}
