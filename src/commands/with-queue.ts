import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { type Closer, createCloser } from '../common/lifetime.ts';
import type { StatusSettings } from '../options/options.ts';
import { openStatus, type Status, type StatusOptions } from '../page/status.ts';
import type { RedisServer } from '../queue/redis.ts';
import { toQueueError } from '../queue/redis-errors.ts';

interface WithQueueOptions {
  /** What cannot be done without a queue, such as `keep schedules`. */
  readonly purpose: string;
  readonly settings: Partial<StatusSettings> & {
    readonly queue?: string | undefined;
  };
  /** The name of a setting in messages. */
  readonly describe: (key: string) => string;
  /** The command whose status is served, if an address is set. @default none */
  readonly command?: StatusOptions['command'];
  /** Fires when it is told to stop: it is not ready from then on. */
  readonly signal?: AbortSignal;
  readonly onNotice: OnNotice;
}

/** What a command over a queue works with. */
export interface QueueService {
  /** Loaded here, so that an error in the options need not wait for it. */
  readonly queue: typeof import('../queue/index.ts');
  readonly redis: RedisServer;
  readonly status: Status | undefined;
  readonly closer: Closer;
}

/**
 * Does some work over the queue on a Redis.
 *
 * @throws BrandfillError when there is no queue, or it cannot be used
 */
export async function withQueue<T>(
  options: WithQueueOptions,
  work: (service: QueueService) => Promise<T>,
): Promise<T> {
  const { purpose, settings, describe, command, signal, onNotice } = options;
  const { listen, allowHost } = settings;
  const url = queueUrlOf(settings, purpose, describe);
  const queue = await import('../queue/index.ts');
  const closer = createCloser();
  try {
    const status =
      command &&
      (await openStatus({ settings: { listen, allowHost }, describe, command, onNotice }));
    if (status) closer.add(status);
    const redis = closer.add(await queue.openQueueServer({ url, onNotice }));
    status?.health.check(() => queue.findRedisTrouble(redis));
    status?.health.check(() => (signal?.aborted ? 'it was told to stop' : undefined));
    return await work({ queue, redis, status, closer });
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
}

/** @throws BrandfillError when there is no queue */
export function queueUrlOf(
  { queue }: { readonly queue?: string | undefined },
  purpose: string,
  describe: (key: string) => string,
): string {
  if (queue !== undefined) return queue;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot ${purpose} without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
  );
}
