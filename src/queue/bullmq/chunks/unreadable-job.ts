import { LOOKUPS_QUEUE, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

const JOBS = `${PREFIX}:${LOOKUPS_QUEUE}:`;
/** Members of a job beside its options that BullMQ reads as JSON, and a chunk does without. */
const EXTRAS = ['progress', 'parent', 'stacktrace', 'returnvalue'];

/** Whether a job that was taken could not be read; Redis and its connection fail in other ways. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof TypeError;
}

/**
 * Takes from the job that was taken with a token what is no JSON, and lets it go. It was written by hand:
 * nobody could take it, and it would come again and again, whenever its lock has run out.
 *
 * @returns its id, if it is still taken
 */
export async function mendUnreadable(
  client: RedisClient,
  token: string,
): Promise<string | undefined> {
  const active = await client.lrange(`${JOBS}active`, 0, -1);
  if (active.length === 0) return undefined;
  const tokens = await client.mget(active.map((id) => `${JOBS}${id}:lock`));
  const id = active[tokens.indexOf(token)];
  if (id === undefined) return undefined;
  const key = JOBS + id;
  await client
    .multi()
    .hset(key, 'opts', '{}')
    .hdel(key, ...EXTRAS)
    .del(`${key}:lock`)
    .exec();
  return id;
}
