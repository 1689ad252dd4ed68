import { open, readdir, readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { type ZodType, z } from 'zod';
import { toCleanJson } from '../../common/secrets.ts';
import type { Access } from '../access.ts';
import type { Board } from '../board.ts';
import type { Asset } from '../dashboard.ts';
import {
  cookieOf,
  createGuards,
  type GuardsOptions,
  type LoginPage,
  loginPage,
  readTypedToken,
} from '../guards.ts';
import { createHub } from '../hub.ts';
import type { Routes } from '../listener.ts';
import type {
  Again,
  AppRun,
  AppState,
  ColumnChoice,
  Connection,
  ConnectionRequest,
  JobRequest,
  ListView,
  MendRequest,
  PlanView,
  Preview,
  Reading,
  Refusal,
  RefusalCode,
  RowStatusName,
  RowsPage,
  RunRequest,
  RunStep,
  Samples,
  SamplesRequest,
  TestRequest,
  TestResult,
} from './contract.ts';

/** What the page shows and does. Everything throws what `explain` can say in words. */
export interface AppModel {
  state(): AppState;
  board(): Board;
  /** Calls `listener` when the state has changed. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
  readonly connections: {
    set(request: ConnectionRequest): Promise<Connection>;
    rehearse(): Promise<Connection>;
    forget(): Promise<void>;
    test(domain: string, signal: AbortSignal): Promise<TestResult>;
  };
  readonly lists: {
    find(id: string): ListView;
    add(
      name: string,
      bytes: Readable,
      about: { readonly sizeBytes: number | undefined; readonly signal: AbortSignal },
    ): Promise<ListView>;
    addSample(signal: AbortSignal): Promise<ListView>;
    read(id: string, reading: Reading, signal: AbortSignal): Promise<ListView>;
    plan(id: string, request: RunRequest, signal: AbortSignal): Promise<PlanView>;
    sample(id: string, count: number, signal: AbortSignal): Promise<Samples>;
    preview(id: string, choice: ColumnChoice): Promise<Preview>;
    remove(id: string): Promise<void>;
  };
  readonly runs: {
    find(id: string): AppRun;
    start(list: string, request: RunRequest): Promise<AppRun>;
    ask(id: string, step: RunStep): Promise<void>;
    mend(id: string, request: MendRequest): Promise<AppRun>;
    remove(id: string): Promise<void>;
    rows(id: string, request: RowsRequest): Promise<RowsPage>;
    fileOf(id: string, which: 'result' | 'failures'): string | undefined;
    again(id: string): Again;
    writeJob(id: string, at: string | undefined): Promise<Again>;
  };
  explain(error: unknown): Refusal['error'];
}

interface RowsRequest {
  readonly status: RowStatusName | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface AppRoutesOptions extends GuardsOptions {
  readonly model: AppModel;
  readonly access: Access;
  readonly assets: ReadonlyMap<string, Asset>;
  /** Makes an address that signs in once. */
  readonly makeCode: () => string;
  /** Whether a code was made and not used yet. It is used up by this. */
  readonly takeCode: (code: string) => boolean;
}

/** The page of the app and all that it asks for. Closing ends what is sent to open tabs. */
export interface AppPage {
  readonly routes: Routes;
  close(): Promise<void>;
}

const MOST_VIEWERS = 50;
const MOST_BODY_BYTES = 4_000_000;
const MOST_ROWS = 200;
/** Changes within this time are sent together. */
const STATE_DELAY_MS = 50;
const OPEN_ASSETS: ReadonlySet<string> = new Set(['/style.css', '/icon.svg']);

export function createAppPage(options: AppRoutesOptions): AppPage {
  const { model, access, assets, makeCode, takeCode, addressOf, checkHost } = options;
  const { open, guarded, changing, checkOrigin, askerOf, accessOf } = createGuards({
    access,
    addressOf,
    checkHost,
    refuse: (context, status, message) =>
      refuse(context, { code: status === 401 ? 'NOT_SIGNED_IN' : 'NOT_OUR_PAGE', message }),
  });
  const hub = createHub({ source: { read: async () => model.board() } });

  const answer =
    (handle: (context: Context) => unknown) =>
    async (context: Context): Promise<Response> => {
      try {
        const value = await handle(context);
        if (value instanceof Response) return value;
        if (value === undefined) return context.body(null, 204);
        return context.body(toCleanJson(value), 200, JSON_TYPE);
      } catch (error) {
        if (error instanceof BadRequest) {
          return refuse(context, { code: 'INVALID_SETTING', message: error.message });
        }
        return refuse(context, model.explain(error));
      }
    };

  const routes: Routes = (app) => {
    const get = (path: string, handle: (context: Context) => unknown): void =>
      void app.get(path, ...guarded, answer(handle));
    const post = (path: string, handle: (context: Context) => unknown): void =>
      void app.post(path, ...changing, answer(handle));

    for (const [path, { type, body }] of assets) {
      if (path === '/index.html') continue;
      const checks = OPEN_ASSETS.has(path) ? open : guarded;
      app.use(path, ...checks);
      app.get(path, (context) => context.body(body, 200, { 'content-type': type }));
    }
    app.get('/', ...open, async (context) => {
      if (!(await access.isGranted(accessOf(context)))) {
        return context.html(loginPage(LOGIN), 401);
      }
      return context.html(assets.get('/index.html')?.body ?? NOT_BUILT);
    });
    app.get('/enter', ...open, async (context) => {
      // Programs that look at a link before somebody opens it ask with HEAD, and must not use it up.
      const isOpened = context.req.method === 'GET';
      const isRight = isOpened && takeCode(context.req.query('code') ?? '');
      if (!isRight && !(await access.isGranted(accessOf(context)))) {
        return context.html(loginPage(LOGIN, USED_UP), 401);
      }
      if (isRight) context.header('set-cookie', cookieOf(context, access));
      // Not a redirect: where another site led here, the cookie would not be sent along with it.
      return context.html(ENTERED);
    });
    app.post('/login', ...open, checkOrigin, async (context) => {
      const verdict = await access.tryToken(await readTypedToken(context), askerOf(context));
      if (verdict !== 'granted') {
        return context.html(loginPage(LOGIN, WRONG_TOKEN), verdict === 'wrong' ? 401 : 429);
      }
      context.header('set-cookie', cookieOf(context, access));
      return context.redirect('./', 303);
    });
    post('/api/address', () => ({ code: makeCode() }));

    get('/api/state', () => model.state());
    app.get('/api/events', ...guarded, (context) => serveEvents(context));

    post('/api/connection', async (context) => {
      return await model.connections.set(await readJson(context, REQUESTS.connection));
    });
    post('/api/connection/rehearse', async () => await model.connections.rehearse());
    post('/api/connection/forget', async () => await model.connections.forget());
    post('/api/connection/test', async (context) => {
      const { domain } = await readJson(context, REQUESTS.test);
      return await model.connections.test(domain, goneOf(context));
    });

    post('/api/lists', async (context) => {
      requireType(context, 'application/octet-stream');
      const { body } = context.req.raw;
      const length = Number(context.req.header('content-length') ?? Number.NaN);
      const sizeBytes = Number.isFinite(length) ? length : undefined;
      const bytes = body ? Readable.fromWeb(body) : Readable.from([]);
      const name = context.req.query('name') ?? '';
      return await model.lists.add(name, bytes, { sizeBytes, signal: goneOf(context) });
    });
    post('/api/lists/sample', async (context) => await model.lists.addSample(goneOf(context)));
    get('/api/lists/:id', (context) => model.lists.find(idOf(context)));
    post('/api/lists/:id/reading', async (context) => {
      const reading = await readJson(context, REQUESTS.reading);
      return await model.lists.read(idOf(context), reading, goneOf(context));
    });
    post('/api/lists/:id/plan', async (context) => {
      const request = await readJson(context, REQUESTS.run);
      return await model.lists.plan(idOf(context), request, goneOf(context));
    });
    post('/api/lists/:id/samples', async (context) => {
      const { count = 3 } = await readJson(context, REQUESTS.samples);
      return await model.lists.sample(idOf(context), count, goneOf(context));
    });
    post('/api/lists/:id/preview', async (context) => {
      const choice = await readJson(context, REQUESTS.choice);
      return await model.lists.preview(idOf(context), choice);
    });
    post('/api/lists/:id/delete', async (context) => await model.lists.remove(idOf(context)));
    post('/api/lists/:id/runs', async (context) => {
      const request = await readJson(context, REQUESTS.run);
      return await model.runs.start(idOf(context), request);
    });

    get('/api/runs/:id', (context) => model.runs.find(idOf(context)));
    get('/api/runs/:id/rows', async (context) => {
      const { status, offset, limit } = context.req.query();
      return await model.runs.rows(idOf(context), {
        status: isStatus(status) ? status : undefined,
        offset: wholeNumber(offset, 0),
        limit: Math.min(MOST_ROWS, wholeNumber(limit, 50)),
      });
    });
    get('/api/runs/:id/result', async (context) => await download(context, 'result'));
    get('/api/runs/:id/failures', async (context) => await download(context, 'failures'));
    get('/api/runs/:id/again', (context) => model.runs.again(idOf(context)));
    post('/api/runs/:id/mend', async (context) => {
      const request = await readJson(context, REQUESTS.mend);
      return await model.runs.mend(idOf(context), request);
    });
    post('/api/runs/:id/job', async (context) => {
      const { at } = await readJson(context, REQUESTS.job);
      return await model.runs.writeJob(idOf(context), at);
    });
    post('/api/runs/:id/delete', async (context) => await model.runs.remove(idOf(context)));
    post('/api/runs/:id/:step', async (context) => {
      const step = context.req.param('step') ?? '';
      if (!isStep(step)) throw new BadRequest('There is no such button.');
      await model.runs.ask(idOf(context), step);
    });
    app.all('/api/*', ...guarded, (context) =>
      refuse(context, { code: 'NOT_FOUND', message: 'There is nothing here.' }),
    );
  };

  async function download(context: Context, which: 'result' | 'failures'): Promise<Response> {
    const path = model.runs.fileOf(idOf(context), which);
    if (path === undefined) {
      return refuse(context, { code: 'NOT_FOUND', message: 'There is no such file yet.' });
    }
    const handle = await openFile(path);
    const { size } = await handle.stat();
    const name = encodeURIComponent(basename(path)).replaceAll("'", '%27');
    const bytes = Readable.toWeb(handle.createReadStream()) as globalThis.ReadableStream;
    return context.body(bytes, 200, {
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'content-disposition': `attachment; filename*=UTF-8''${name}`,
    });
  }

  function serveEvents(context: Context): Response | Promise<Response> {
    if (hub.viewers >= MOST_VIEWERS) return context.text('Too many tabs are open already.\n', 503);
    context.header('x-accel-buffering', 'no');
    if (context.req.method === 'HEAD') {
      return context.body(null, 200, { 'content-type': 'text/event-stream' });
    }
    return streamSSE(context, async (stream) => {
      const left = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const send = async (): Promise<void> => {
        timer = undefined;
        await stream.writeSSE({ event: 'state', data: toCleanJson(model.state()) }).catch(() => {});
      };
      const stopListening = model.onChange(() => {
        timer ??= setTimeout(() => void send(), STATE_DELAY_MS);
      });
      stream.onAbort(() => left.abort());
      try {
        // Not awaited: until it is served, a tab does not count, and it may be slow to read.
        void send();
        await hub.serve((event, data) => stream.writeSSE({ event, data }), left.signal);
      } finally {
        stopListening();
        clearTimeout(timer);
      }
    });
  }

  return { routes, close: async () => await hub.close() };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** A request that our page would not make. */
class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

async function openFile(path: string): ReturnType<typeof open> {
  return await open(path, 'r');
}

/** Fires when nobody waits for the answer any more. */
function goneOf(context: Context): AbortSignal {
  return context.req.raw.signal;
}

function idOf(context: Context): string {
  return context.req.param('id') ?? '';
}

function requireType(context: Context, type: string): void {
  const [given] = (context.req.header('content-type') ?? '').split(';');
  if (given?.trim().toLowerCase() !== type) throw new BadRequest(`Expected ${type}.`);
}

async function readJson<T>(context: Context, shape: ZodType<T>): Promise<T> {
  requireType(context, 'application/json');
  const length = Number(context.req.header('content-length') ?? Number.POSITIVE_INFINITY);
  if (!(length <= MOST_BODY_BYTES)) throw new BadRequest('That is too much at once.');
  let value: unknown;
  try {
    value = JSON.parse((await context.req.text()) || '{}');
  } catch {
    throw new BadRequest('Expected JSON.');
  }
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const place = issue?.path.join('.') ?? '';
  throw new BadRequest(`This is not filled in as expected: ${place} (${issue?.message}).`);
}

function wholeNumber(text: string | undefined, standard: number): number {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : standard;
}

const STATUSES: Readonly<Record<RowStatusName, true>> = {
  found: true,
  not_found: true,
  rejected: true,
  failed: true,
  pending: true,
  stale: true,
  invalid: true,
  skipped: true,
};

function isStatus(status: string | undefined): status is RowStatusName {
  return status !== undefined && Object.hasOwn(STATUSES, status);
}

const STEPS: Readonly<Record<RunStep, true>> = {
  pause: true,
  resume: true,
  stop: true,
  retry: true,
  'go-on': true,
  yes: true,
  no: true,
};

function isStep(step: string): step is RunStep {
  return Object.hasOwn(STEPS, step);
}

const HTTP_STATUS: Readonly<Record<RefusalCode, 400 | 401 | 403 | 404 | 409 | 422 | 500 | 507>> = {
  INVALID_SETTING: 422,
  UNREADABLE_INPUT: 422,
  NO_COLUMN: 422,
  NO_CONNECTION: 409,
  UNWRITABLE_OUTPUT: 500,
  OUTPUT_IN_USE: 409,
  NO_SPACE: 507,
  NOT_FOUND: 404,
  NOT_NOW: 409,
  NOT_SIGNED_IN: 401,
  NOT_OUR_PAGE: 403,
  UNEXPECTED: 500,
};

function refuse(context: Context, error: Refusal['error']): Response {
  return context.body(toCleanJson({ error } satisfies Refusal), HTTP_STATUS[error.code], JSON_TYPE);
}

const LOGIN: LoginPage = {
  styles: ['style.css'],
  which:
    'Open the address that the terminal shows; it works once. Start <code>brandfill app</code> again for another one. If it was started with a token, type that.',
};
const USED_UP = 'This address was used already, or is of an earlier start.';
const WRONG_TOKEN = 'That is not the token.';
const ENTERED =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Brandfill</title><link rel="icon" href="icon.svg"><meta http-equiv="refresh" content="0; url=./"></head><body><p><a href="./">Go on to Brandfill</a></p></body></html>';
const NOT_BUILT =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Brandfill</title></head><body><p>The page is not built yet: run npm run build.</p></body></html>';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The files of the page, as the build made them; none when it was not built. */
export async function readAppAssets(): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  // Beside the bundle, or in `dist` when run from the sources.
  for (const place of ['app-page/', '../../../dist/app-page/']) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    const names = await readdir(folder).catch(() => []);
    for (const name of names) {
      const type = TYPES[extname(name)];
      if (type) assets.set(`/${name}`, { type, body: await readFile(`${folder}${name}`, 'utf8') });
    }
    if (assets.size > 0) return assets;
  }
  return assets;
}

// What the page asks for, checked: anything may come over HTTP. What is known only of a list, an API
// or a run is checked where that is known.

const MOST_ITEMS = 10_000;
const text = z.string().max(10_000);
const words = z.string().min(1).max(10_000);
const items = <T extends z.ZodType>(item: T) => z.array(item).max(MOST_ITEMS);

const choice: z.ZodType<ColumnChoice> = z.object({
  fields: items(z.object({ name: text, expression: words })).nullable(),
  fills: items(z.object({ column: text, expression: words })).default([]),
});

const price = z.number().nonnegative();
const count = z.number().int().positive();

const connection: z.ZodType<ConnectionRequest> = z.object({
  profile: words.optional(),
  baseUrl: text.optional(),
  auth: text.optional(),
  apiKey: text.optional(),
  keepKey: z.boolean().optional(),
  price: price.optional(),
  rate: text.optional(),
});

const reading: z.ZodType<Reading> = z.object({
  sheet: words.optional(),
  column: text.optional(),
  encoding: words.optional(),
  noHeader: z.boolean().optional(),
  skipLines: z.number().int().min(0).max(1_000).optional(),
});

const run: z.ZodType<RunRequest> = z.object({
  choice: choice.optional(),
  maxCalls: count.optional(),
  maxCost: z.number().positive().optional(),
  firstAskMe: count.max(1_000).optional(),
});

const mend: z.ZodType<MendRequest> = z.object({
  cells: items(z.object({ row: count, value: z.string().min(1).max(1_000) })).min(1),
});

const test: z.ZodType<TestRequest> = z.object({ domain: text });
const samples: z.ZodType<SamplesRequest> = z.object({ count: count.max(3).optional() });
const job: z.ZodType<JobRequest> = z.object({ at: words.optional() });

/** The shapes of what the page sends. */
const REQUESTS = { choice, connection, job, mend, reading, run, samples, test } as const;
