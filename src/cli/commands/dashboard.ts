import { aborted } from '../../common/lifetime.ts';
import { listen } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { flagOf, QUEUE_OPTIONS, STATUS_OPTIONS } from '../../options/options.ts';
import { defineCommand, LOG_OPTIONS } from './command.ts';
import { serveQueue } from './with-queue.ts';

const DASHBOARD_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...under('Page and metrics', {
    listen: option(listen(), {
      default: '8081',
      help: 'address to serve the page on; only on this machine unless a HOST is given',
    }),
    allowHost: STATUS_OPTIONS.allowHost,
  }),
  ...LOG_OPTIONS,
};

/** `brandfill dashboard`: shows all runs, workers and schedules of a queue on a page. */
export const dashboard = defineCommand(DASHBOARD_OPTIONS, async (call) => {
  const { listen, allowHost } = call.settings;
  const { readToken } = await import('../../page/access.ts');
  const token = readToken(listen);
  await serveQueue(call, async ({ redis, closer, signal, say }) => {
    const { createDashboard } = await import('../../page/dashboard.ts');
    const { showQueue } = await import('../../page/queue-board.ts');
    const { openListener } = await import('../../page/listener.ts');
    const shown = await createDashboard({
      source: showQueue(redis),
      token,
      allowHost,
      label: flagOf('allowHost'),
    });
    const listener = closer.add(await openListener({ ...listen, routes: [shown.routes] }));
    closer.add(shown); // closed first: the server waits for its viewers
    say(`The dashboard of Redis at ${redis.name} is on ${listener.url}.`);
    await aborted(signal);
  });
});
