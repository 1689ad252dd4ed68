import { expect, it, onTestFinished } from 'vitest';
import { createAccess } from '../../src/dashboard/access.ts';
import { createHub } from '../../src/dashboard/hub.ts';
import { dashboardRoutes } from '../../src/dashboard/routes.ts';
import { openListener } from '../../src/http/listener.ts';
import { board } from './boards.ts';

it('a HEAD of the events leaves no viewer behind', async () => {
  const hub = createHub({ source: { read: async () => board() } });
  const refuse = async (): Promise<string> => 'not here';
  const routes = dashboardRoutes({
    source: { ask: refuse, runNow: refuse, steerBackfills: refuse },
    hub,
    access: createAccess({ token: undefined }),
    assets: new Map(),
  });
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes: [routes] });
  onTestFinished(async () => {
    await hub.close();
    await listener.close();
  });
  const events = `${listener.url}/events`;
  const head = await fetch(events, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-type')).toBe('text/event-stream');
  const viewer = (await fetch(events)).body?.getReader();
  await viewer?.read(); // the board: both requests have been served by now
  expect(hub.viewers).toBe(1);
  await viewer?.cancel();
});
