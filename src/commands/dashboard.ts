import { EXIT, type OnNotice } from '../common/errors.ts';
import { aborted, createCallbackGuard, SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { DASHBOARD_OPTIONS, type LOG_FLAGS } from '../options/command-options.ts';
import { callback, secret, signal } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf, readOptions } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { type RunCommand, serve } from './command.ts';
import { withQueue } from './with-queue.ts';

const DASHBOARD = {
  ...DASHBOARD_OPTIONS,
  /**
   * The token that viewers need; required if others can reach it. @default
   * BRANDFILL_DASHBOARD_TOKEN
   */
  token: secret(),
  /** Stops the dashboard. */
  signal: signal(),
  /** Called with notices, each worth a line in a log. The first one is the address of the page. */
  onNotice: callback<OnNotice>(),
};

/** Options of the dashboard. */
export interface DashboardOptions extends OptionsOf<typeof DASHBOARD> {}

/**
 * Shows all runs, workers and schedules of a queue on a page, until it is told to stop.
 *
 * @throws BrandfillError when an option or the queue cannot be used
 *
 * @example
 * ```ts
 * await dashboard({ queue: 'redis://localhost:6379/0', listen: 8081 });
 * ```
 */
export async function dashboard(
  options: DashboardOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<void> {
  const settings = readOptions('dashboard', DASHBOARD, { given: options, describe });
  const { listen, allowHost } = settings;
  const callbackGuard = createCallbackGuard([options.signal]);
  const { signal } = callbackGuard;
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const { readToken } = await import('../page/access.ts');
  const token = readToken({ token: options.token, env: process.env, describe }, listen);
  const service = { purpose: 'show a dashboard', settings, describe, signal, onNotice };
  await withQueue(service, async ({ queue, redis, closer }) => {
    const { createDashboard } = await import('../page/dashboard.ts');
    const { showQueue } = await import('../page/queue-board.ts');
    const { createQueuesPage } = await import('../page/queues-page.ts');
    const { openListener } = await import('../page/listener.ts');
    const all = queue.openAllQueues(redis.client);
    closer.add({ close: async () => void (await within(SHUTDOWN_TIMEOUT_MS, all.close())) });
    const shown = await createDashboard({
      source: showQueue({ redis }),
      token,
      allowHost,
      label: describe('allowHost'),
      queues: createQueuesPage({ findQueues: () => all.find() }),
    });
    const label = describe('listen');
    const listener = closer.add(await openListener({ ...listen, label, routes: [shown.routes] }));
    closer.add(shown); // closed first: the server waits for its viewers
    onNotice(`The dashboard of Redis at ${redis.name} is on ${listener.url}.`, { level: 'info' });
    await aborted(signal);
  });
  callbackGuard.throwIfFailed();
}

/** `brandfill dashboard` */
export const runDashboard: RunCommand<typeof LOG_FLAGS> = async ({ options, ...call }) =>
  await serve('dashboard', call, async ({ common }) => {
    await dashboard({ ...options, ...common }, flagOf);
    return EXIT.ok;
  });
