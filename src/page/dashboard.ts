import { Hono } from 'hono';
import { z } from 'zod';
import type { AllowedHost } from '../common/addresses.ts';
import { type Access, createAccess, refused, takes } from './access.ts';
import { loginPage, NOT_BUILT, readAssets } from './assets.ts';
import type { BoardSource } from './board.ts';
import { createHub } from './hub.ts';
import { createHostCheck, type Routes } from './listener.ts';

export interface CreateDashboardOptions {
  readonly source: BoardSource;
  /** Undefined lets in everybody who asks under a name that is known. */
  readonly token: string | undefined;
  readonly allowHost: readonly AllowedHost[] | undefined;
  /** The name of the setting `allowHost` in messages. */
  readonly label: string;
}

/** Makes the page that shows what is going on; the caller serves it. */
export async function createDashboard(options: CreateDashboardOptions) {
  const { source, token, allowHost = [], label } = options;
  const hub = createHub(async () => ({ board: await source.read() }));
  const access = createAccess({ token });
  const checkHost = createHostCheck(
    allowHost,
    `BRANDFILL_DASHBOARD_TOKEN has it ask for a token, or ${label}`,
  );
  const addPage = await pageRoutes(access, 'It is the one that the dashboard was started with.');
  return {
    /** Routes to add to an HTTP server; they come last. */
    routes: (app: Hono): void => {
      // A name that is not ours may be a page elsewhere, which has no token.
      if (token === undefined) app.use(checkHost);
      addPage(app);
      app.route('/api', boardApi(source));
      app.get('/api/events', (context) => hub.serve(context));
    },
    /** Sends the last state to all viewers. */
    close: () => hub.close(),
  };
}

/** Files that a stranger may load: those that make the login page look right. */
const OPEN_ASSETS = new Set(['/style.css', '/icon.svg']);

/** The page itself, signing in with a token, and the guard of all that the page asks for. */
export async function pageRoutes(access: Access, which: string): Promise<Routes> {
  const assets = await readAssets();
  return (app) => {
    for (const [path, { type, body }] of assets) {
      if (path === '/index.html') continue;
      if (!OPEN_ASSETS.has(path)) app.use(path, access.guard);
      app.get(path, (context) => context.body(body, 200, { 'content-type': type }));
    }
    app.get('/', (context) => {
      if (!access.isGranted(context)) return context.html(loginPage(which), 401);
      return context.html(assets.get('/index.html')?.body ?? NOT_BUILT);
    });
    app.post('/login', async (context) => {
      const verdict = await access.login(context);
      if (verdict === 'granted') return context.redirect('./', 303);
      const status = { wrong: 401, too_slow: 408 } as const;
      return context.html(loginPage(which, VERDICTS[verdict]), status[verdict]);
    });
    app.use('/api/*', access.guard);
  };
}

const VERDICTS = {
  wrong: 'That is not the token.',
  too_slow: 'The token did not come in time.',
} as const;

/** What can be asked of runs and queues, by their page. */
export function boardApi({ ask, takeFailedAgain }: Omit<BoardSource, 'read'>) {
  const action = z.object({ action: z.enum(['pause', 'resume', 'stop']) });
  const refuse = (refusal = ''): void => {
    if (refusal !== '') throw refused(409, refusal);
  };
  return new Hono()
    .post('/runs/:id/ask', takes(action), async (context) => {
      refuse(await ask(context.req.param('id'), context.req.valid('json').action));
      return context.json({});
    })
    .post('/queues/:queue/failed', async (context) => {
      refuse(await (takeFailedAgain?.(context.req.param('queue')) ?? 'There are no queues here.'));
      return context.json({});
    });
}
