import { EventEmitter, once } from 'node:events';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { within } from '../common/lifetime.ts';
import { toCleanJson } from '../common/secrets.ts';

const EVERY_MS = 500;
/**
 * A state is sent this often although nothing has changed, because proxies close silent
 * connections.
 */
const ALIVE_MS = 15_000;
const MOST_VIEWERS = 100;
const LAST_WORDS_MS = 1_000;

/**
 * Sends the whole state to each viewer twice a second, if it has changed. Reads nothing while
 * nobody looks.
 */
export function createHub(read: () => unknown) {
  const bell = new EventEmitter().setMaxListeners(MOST_VIEWERS);
  const viewers = new Set<Promise<void>>();
  let isClosed = false;

  /** A viewer that is slow misses states, never parts of them. */
  async function watch(send: (data: string) => Promise<void>, isGone: () => boolean) {
    for (let last = '', sentMs = 0; !isGone(); ) {
      const isLast = isClosed;
      const data = toCleanJson(await read());
      if (data !== last || performance.now() - sentMs > ALIVE_MS) {
        [last, sentMs] = [data, performance.now()];
        await send(data);
      }
      if (isLast) return;
      if (!isClosed) {
        await once(bell, 'ring', { signal: AbortSignal.timeout(EVERY_MS) }).catch(() => {});
      }
    }
  }

  return {
    /** Answers a request for events. */
    serve: (context: Context): Response => {
      if (viewers.size >= MOST_VIEWERS) {
        return context.text('Too many look already: close some tabs.\n', 503);
      }
      context.header('x-accel-buffering', 'no'); // else nginx holds events back
      // Nobody reads the events that answer a HEAD, so such a viewer would never leave.
      if (context.req.method === 'HEAD') {
        return context.body(null, 200, { 'content-type': 'text/event-stream' });
      }
      return streamSSE(context, async (stream) => {
        const watching = watch(
          async (data) => await stream.writeSSE({ data }),
          () => stream.aborted,
        ).catch(() => {});
        viewers.add(watching);
        stream.onAbort(() => void viewers.delete(watching)); // a place for the next at once
        await watching;
        viewers.delete(watching);
      });
    },
    /** Has the state sent at once, since it has changed. */
    changed: (): void => void bell.emit('ring'),
    /** Sends the last state and ends. */
    close: async (): Promise<void> => {
      isClosed = true;
      bell.emit('ring');
      await within(
        LAST_WORDS_MS,
        Promise.allSettled(viewers).then(() => {}),
      );
    },
  };
}
