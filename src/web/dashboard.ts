import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context, MiddlewareHandler } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { AllowedHost } from '../common/addresses.ts';
import type { Closable } from '../common/lifetime.ts';
import type { AddressRange } from '../options/network-kinds.ts';
import { type Access, createAccess, type Verdict } from './access.ts';
import type { BoardSource, RunAction } from './board.ts';
import { cookieOf, createGuards, type LoginPage, loginPage, readTypedToken } from './guards.ts';
import { createHub, type Hub } from './hub.ts';
import {
  type AddressFinder,
  createAddressFinder,
  createHostCheck,
  type Routes,
} from './listener.ts';
import type { QueuesPage } from './queues-page.ts';

export interface OpenDashboardOptions {
  readonly source: BoardSource;
  /** Undefined lets in everybody who asks under a name that is known. */
  readonly token: string | undefined;
  readonly allowHost: readonly AllowedHost[] | undefined;
  readonly trustedProxy: readonly AddressRange[] | undefined;
  /** The name of the setting `allowHost` in messages. */
  readonly label: string;
  /** The page of all queues. @default there is none */
  readonly queues?: QueuesPage | undefined;
}

/** The page that shows what is going on. */
export interface Dashboard extends Closable {
  /** Routes to add to an HTTP server. */
  readonly routes: Routes;
}

/** Makes the page; the caller serves it. Closing it sends the last state to all viewers. */
export async function openDashboard(options: OpenDashboardOptions): Promise<Dashboard> {
  const { source, token, queues, allowHost = [], trustedProxy = [], label } = options;
  const hub = createHub({ source });
  const assets = await readAssets();
  const access = createAccess({ token });
  return {
    routes: dashboardRoutes({
      source,
      hub,
      access,
      assets,
      queues,
      checkHost: createHostCheck(
        allowHost,
        `BRANDFILL_DASHBOARD_TOKEN has it ask for a token, or ${label}`,
      ),
      addressOf: createAddressFinder(trustedProxy),
    }),
    close: () => hub.close(),
  };
}

export interface DashboardRoutesOptions {
  readonly source: Pick<BoardSource, 'ask' | 'runNow' | 'steerBackfills'>;
  readonly hub: Hub;
  readonly access: Access;
  readonly assets: ReadonlyMap<string, Asset>;
  /** The page of all queues, if there are queues. */
  readonly queues?: QueuesPage | undefined;
  /** Lets only names through that are known to be ours; asked where there is no token. */
  readonly checkHost: MiddlewareHandler;
  readonly addressOf: AddressFinder;
}

/** More viewers would be a mistake, or an attack. */
const MOST_VIEWERS = 100;
/** Files that a stranger may load: those that make the login page look right. */
const OPEN_ASSETS = new Set(['/tokens.css', '/style.css', '/icon.svg']);

/** The page, its events, and its actions. */
function dashboardRoutes(options: DashboardRoutesOptions): Routes {
  const { source, hub, access, assets, queues, addressOf } = options;
  const index = indexOf(assets, queues !== undefined);

  const checkHost: MiddlewareHandler = async (context, next) =>
    access.isOpen ? await options.checkHost(context, next) : await next();
  const guards = createGuards({ access, addressOf, checkHost });
  const { open, guarded, changing, checkOrigin, askerOf, accessOf } = guards;

  return (app) => {
    for (const [path, { type, body }] of assets) {
      if (path === '/index.html') continue;
      const checks = OPEN_ASSETS.has(path) ? open : guarded;
      app.use(path, ...checks);
      app.get(path, (context) => context.body(body, 200, { 'content-type': type }));
    }
    app.get('/', ...open, async (context) => {
      if (!(await access.isGranted(accessOf(context)))) return context.html(loginPage(LOGIN), 401);
      return context.html(index);
    });
    app.get('/events', ...guarded, (context) => {
      if (hub.viewers >= MOST_VIEWERS) return context.text('Too many look already.\n', 503);
      context.header('x-accel-buffering', 'no'); // else nginx holds events back
      // Nobody reads the events that answer a HEAD, so such a viewer would never leave.
      if (context.req.method === 'HEAD') {
        return context.body(null, 200, { 'content-type': 'text/event-stream' });
      }
      return streamSSE(context, async (stream) => {
        const left = new AbortController();
        stream.onAbort(() => left.abort());
        await hub.serve((event, data) => stream.writeSSE({ event, data }), left.signal);
      });
    });
    app.post('/login', ...open, checkOrigin, async (context) => {
      const token = await readTypedToken(context);
      const verdict = await access.tryToken(token, askerOf(context));
      if (verdict !== 'granted') {
        return context.html(loginPage(LOGIN, WORDS[verdict]), verdict === 'wrong' ? 401 : 429);
      }
      context.header('set-cookie', cookieOf(context, access));
      return context.redirect('./', 303);
    });
    if (queues) {
      for (const path of ['/queues', '/queues/*']) app.use(path, ...guarded, queues.toLookAt);
      app.route('/queues', queues.page);
    }
    app.post('/runs/:id/:action', ...changing, async (context) => {
      const { id, action } = context.req.param();
      if (!isAction(action)) return context.text('There is no such button.\n', 404);
      return reply(context, await source.ask(id, action));
    });
    app.post('/backfills/:action', ...changing, async (context) => {
      const { action } = context.req.param();
      if (action !== 'pause' && action !== 'resume') {
        return context.text('There is no such button.\n', 404);
      }
      return reply(context, await source.steerBackfills(action));
    });
    app.post('/schedules/:group/:job/run', ...changing, async (context) => {
      const { group, job } = context.req.param();
      return reply(context, await source.runNow(group, job));
    });
  };
}

/** The page, with a link to the queues if there are queues. */
function indexOf(assets: ReadonlyMap<string, Asset>, hasQueues: boolean): string {
  const html = assets.get('/index.html')?.body ?? '';
  return hasQueues ? html.replace('href="queues" hidden', 'href="queues"') : html;
}

const LOGIN: LoginPage = {
  which: 'It is the one that the dashboard was started with.',
  styles: ['tokens.css', 'style.css'],
};

const WORDS: Readonly<Record<Exclude<Verdict, 'granted'>, string>> = {
  wrong: 'That is not the token.',
  too_often: 'That is not the token, and too many others are wrong too: try again in a minute.',
};

const ACTIONS: Readonly<Record<RunAction, true>> = {
  pause: true,
  resume: true,
  stop: true,
  retry: true,
};

function isAction(action: string): action is RunAction {
  return Object.hasOwn(ACTIONS, action);
}

function reply(context: Context, refusal: string | undefined): Response {
  return refusal === undefined ? context.body(null, 204) : context.text(refusal, 409);
}

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Files beside this one, served as they are in the sources. */
const OWN = [
  'index.html',
  'tokens.css',
  'style.css',
  'icon.svg',
  'main.js',
  'backfills.js',
  'chart.js',
  'dom.js',
  'format.js',
  'merge-run.js',
  'run-card.css',
  'run-card.js',
  'tables.css',
  'tables.js',
];

/** The path of each file and its place on the disk; nothing is loaded from elsewhere. */
const FILES: ReadonlyMap<string, string> = new Map([
  ...OWN.map(
    (name) => [`/${name}`, fileURLToPath(new URL(`page/${name}`, import.meta.url))] as const,
  ),
  ['/uplot.js', createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js')],
  ['/uplot.css', createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css')],
]);

/** Reads all files of the page; there are few, and they are small. */
async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const read = async ([path, file]: readonly [string, string]): Promise<[string, Asset]> => {
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    return [path, { type, body: await readFile(file, 'utf8') }];
  };
  return new Map(await Promise.all([...FILES].map(read)));
}
