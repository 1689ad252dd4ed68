import type { Closable } from '../../common/closer.ts';
import type { OnNotice } from '../../common/notice.ts';
import { LOOKUPS_QUEUE, PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';

/** Where `pause()` of BullMQ notes it; `obliterate()` does so too, and leaves it when it is refused. */
const META = `${PREFIX}:${LOOKUPS_QUEUE}:meta`;
const LOOK_MS = 5_000;

/**
 * Says when others have paused the queue of lookups as a whole, until it is closed: nobody takes anything
 * from it, and it looks to workers as if it were empty.
 */
export function watchQueuePause(client: RedisClient, onNotice: OnNotice): Closable {
  let wasPaused = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const isPaused = (await client.hexists(META, 'paused')) === 1;
    if (isClosed || isPaused === wasPaused) return;
    wasPaused = isPaused;
    if (isPaused) {
      onNotice(
        'The queue of lookups is paused by means of BullMQ: no worker takes anything from it until it is resumed, by Queue.resume().',
      );
    } else onNotice('The queue of lookups is not paused any more.', { level: 'info' });
  }

  const tryLook = (): void => void look().catch(() => {}); // the next one will do
  tryLook();
  const timer = setInterval(tryLook, LOOK_MS);
  return {
    close: async () => {
      isClosed = true;
      clearInterval(timer);
    },
  };
}
