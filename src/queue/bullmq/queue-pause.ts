import type { Closable } from '../../common/closer.ts';
import { startHeartbeat } from '../../common/heartbeat.ts';
import type { OnNotice } from '../../common/notice.ts';
import { type LOOKUPS_QUEUE, type OUTCOMES_QUEUE, PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';

const POLL_MS = 5_000;

export interface QueuePauseWatchOptions {
  readonly client: RedisClient;
  readonly queue: typeof LOOKUPS_QUEUE | typeof OUTCOMES_QUEUE;
  readonly onNotice: OnNotice;
}

/**
 * Reports when a whole queue is paused by other means, until the watch is closed. Nothing is then
 * taken from the queue, as if it were empty.
 */
export function watchQueuePause({ client, queue, onNotice }: QueuePauseWatchOptions): Closable {
  // The field in which BullMQ's `pause()` notes it. `obliterate()` sets it too, and leaves it set
  // when it is refused.
  const meta = `${PREFIX}:${queue}:meta`;
  let wasPaused = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const isPaused = (await client.hexists(meta, 'paused')) === 1;
    if (isClosed || isPaused === wasPaused) return;
    wasPaused = isPaused;
    if (isPaused) {
      onNotice(
        `The queue of ${queue} was paused through BullMQ: nothing is taken from it until it is resumed with Queue.resume().`,
      );
    } else onNotice(`The queue of ${queue} is no longer paused.`, { level: 'info' });
  }

  const heartbeat = startHeartbeat(POLL_MS, look);
  return {
    close: async () => {
      isClosed = true;
      heartbeat.close();
    },
  };
}
