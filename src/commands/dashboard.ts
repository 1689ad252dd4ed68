import { BrandfillError, type OnNotice } from '../common/errors.ts';
import {
  aborted,
  createCallbackGuard,
  createCloser,
  SHUTDOWN_TIMEOUT_MS,
  within,
} from '../common/lifetime.ts';
import { DASHBOARD_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { libraryNaming, type OptionKinds, readOptions } from '../options/read-options.ts';

/** Options of the dashboard. */
export interface DashboardOptions extends OptionsOf<typeof DASHBOARD_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /**
   * The token that viewers need; required if others can reach it. @default
   * BRANDFILL_DASHBOARD_TOKEN
   */
  readonly token?: string | undefined;
  /** Stops the dashboard. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line in a log. The first one is the address of the page. */
  readonly onNotice?: OnNotice | undefined;
}

/**
 * Shows all runs, workers and schedules of a queue on a page, until it is told to stop.
 *
 * @throws BrandfillError when an option or the queue cannot be used
 *
 * @example
 * ```ts
 * await dashboard({ queue: 'redis://localhost:6379/0', listen: 8080 });
 * ```
 */
export async function dashboard(
  options: DashboardOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<void> {
  const known = { of: 'dashboard', declared: DASHBOARD_OPTIONS, others: OTHERS, describe };
  const settings = readOptions(options, known);
  const { token, signal, onNotice: notify = () => {} } = options;
  const { queue: url, listen, tokenFile, acceptEviction = false } = settings;
  const { allowHost, trustedProxy } = settings;
  if (url === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot show a dashboard without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE; a run without a queue shows its own with enrich --listen.`,
    );
  }
  // Loaded here, so that --help need not wait for it.
  const { openAllQueues, openQueueServer } = await import('../queue/bullmq/index.ts');
  const { openDashboard } = await import('../web/dashboard.ts');
  const { showQueue } = await import('../web/show-queue.ts');
  const { withPatience } = await import('../web/show-queue.ts');
  const { readToken } = await import('../web/access.ts');
  const { createQueuesPage } = await import('../web/queues-page.ts');
  const { openListener } = await import('../web/listener.ts');
  const sources = { token, tokenFile, env: process.env, describe };
  const read = readToken(sources, listen);
  const callbackGuard = createCallbackGuard([signal]);
  const onNotice = callbackGuard.guard(notify);
  const closer = createCloser();
  try {
    const redis = closer.add(await openQueueServer({ url, acceptEviction, onNotice }));
    const all = openAllQueues(redis.client);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, all.close())) });
    const shown = await openDashboard({
      source: withPatience(showQueue({ redis, lookups: all.lookups }), redis),
      token: read,
      allowHost,
      trustedProxy,
      label: describe('allowHost'),
      queues: createQueuesPage({ findQueues: () => all.find() }),
    });
    const listener = closer.add(
      await openListener({ ...listen, label: describe('listen'), routes: [shown.routes] }),
    );
    closer.add(shown); // closed first: the server waits for its viewers
    onNotice(`The dashboard of Redis at ${redis.name} is on ${listener.url}.`, { level: 'info' });
    await aborted(callbackGuard.signal);
  } finally {
    await closer.close();
  }
  callbackGuard.throwIfFailed();
}

const OTHERS: OptionKinds<BesideSettings> = {
  token: 'text',
  signal: 'signal',
  onNotice: 'function',
};
