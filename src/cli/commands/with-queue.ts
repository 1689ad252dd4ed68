import type { OnNotice } from '../../common/errors.ts';
import { type Closer, createCloser } from '../../common/lifetime.ts';
import type { SettingsOf } from '../../options/option.ts';
import { flagOf, type StatusSettings } from '../../options/options.ts';
import { openStatus, type Status } from '../../page/status.ts';
import type { RedisServer } from '../../queue/redis.ts';
import { toQueueError } from '../../queue/redis-errors.ts';
import type { Log } from '../../watch/log.ts';
import { type Call, type LOG_OPTIONS, openCommandLog, untilInterrupted } from './command.ts';

interface WithQueueOptions {
  readonly settings: Partial<StatusSettings> & { readonly queue: string };
  /** Whether its status is served, if an address is set. @default false */
  readonly hasStatus?: boolean;
  /** Fires when it is stopped: it is not ready from then on. */
  readonly signal?: AbortSignal;
  readonly onNotice: OnNotice;
}

/** What a command over a queue works with. */
export interface QueueWork {
  /** Loaded here, so that an error in the options need not wait for it. */
  readonly queue: typeof import('../../queue/index.ts');
  readonly redis: RedisServer;
  readonly status: Status | undefined;
  readonly closer: Closer;
}

/** Does some work over the queue on a Redis. @throws BrandfillError when it cannot be used */
export async function withQueue<T>(
  { settings, hasStatus, signal, onNotice }: WithQueueOptions,
  work: (service: QueueWork) => Promise<T>,
): Promise<T> {
  const { queue: url, ...own } = settings;
  const queue = await import('../../queue/index.ts');
  const closer = createCloser();
  try {
    const about = { settings: own, label: flagOf('allowHost'), onNotice };
    const status = hasStatus ? await openStatus(about) : undefined;
    if (status) closer.add(status);
    const redis = closer.add(await queue.openQueueServer({ url, onNotice }));
    status?.health.check(redis.trouble);
    status?.health.check(() => (signal?.aborted ? 'it is stopping' : undefined));
    return await work({ queue, redis, status, closer });
  } catch (error) {
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
}

/** What a command over a queue works with that goes on until it is stopped. */
export interface QueueService extends QueueWork {
  readonly log: Log;
  /** Fires at the first Ctrl-C, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  readonly onNotice: OnNotice;
  /** Writes a line for people to the log. */
  readonly say: (message: string) => void;
}

/** Runs a command over a queue that goes on until it is stopped. */
export async function serveQueue<T>(
  {
    name,
    settings,
    context,
  }: Pick<Call, 'name' | 'context'> & {
    readonly settings: SettingsOf<typeof LOG_OPTIONS> & WithQueueOptions['settings'];
  },
  work: (service: QueueService) => Promise<T>,
): Promise<T> {
  const log = openCommandLog(settings, { command: name }, context);
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const say = (message: string): void => log.write('info', message);
    const stopping = 'Stopping: what is under way is finished. Interrupt again to end at once.';
    signal.addEventListener('abort', () => say(stopping));
    const onNotice: OnNotice = (message, { level = 'warn', ...facts } = {}) =>
      log.write(level, message, facts);
    const options = { settings, signal, onNotice, hasStatus: name !== 'dashboard' };
    return await withQueue(options, async (opened) => {
      return await work({ ...opened, log, signal, onNotice, say });
    });
  });
}
