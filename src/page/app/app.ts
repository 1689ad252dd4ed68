import { createReadStream, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';
import type { Closable } from '../../common/lifetime.ts';
import { flagOf } from '../../options/options.ts';
import { readVersion } from '../../version.ts';
import { type Access, refuse, takes } from '../access.ts';
import { ENTERED, loginPage } from '../assets.ts';
import { pageRoutes } from '../dashboard.ts';
import { createHub } from '../hub.ts';
import type { Routes } from '../listener.ts';
import { connectionRequest, keyVariableOf, openConnections } from './connections.ts';
import { type AppFolder, AppRefusal, REFUSALS, refusalOf } from './folder.ts';
import { openLists, readingRequest, runRequest } from './lists.ts';
import { openRuns } from './runs.ts';

export interface OpenAppOptions {
  readonly folder: AppFolder;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly access: Access;
}

/** The page of the app and all that it asks for. */
export interface App extends Closable {
  readonly routes: Routes;
}

const WHICH =
  'Open the address that the terminal shows; it works once. Start brandfill app again for another one. If it was started with a token, type that.';
const USED_UP = 'This address was used already, is too old, or is of an earlier start.';
/** How long an address that is asked for by another start of the app is good. */
const CODE_MS = 600_000;

export async function openApp({ folder, env, access }: OpenAppOptions): Promise<App> {
  const model = await openModel(folder, env, () => hub.changed());
  const hub = createHub(() => model.state());
  const addPage = await pageRoutes(access, WHICH);
  const enter = (context: Context, code: string): Response => {
    if (access.enter(context, code) || access.isGranted(context)) return context.html(ENTERED);
    return context.html(loginPage(WHICH, USED_UP), 401);
  };
  return {
    routes: (app) => {
      // Programs that look at a link before somebody opens it ask with HEAD, and must not use it up.
      app.get('/enter', (context) => {
        const isOpened = context.req.method === 'GET';
        return enter(context, isOpened ? (context.req.query('code') ?? '') : '');
      });
      app.post('/enter', async (context) => {
        const { code } = await context.req.parseBody();
        return enter(context, typeof code === 'string' ? code : '');
      });
      addPage(app);
      app.get('/api/events', (context) => hub.serve(context));
      app.post('/api/address', (context) => context.json({ code: access.makeCode(CODE_MS) }));
      const api = createApi(model);
      api.onError((error, context) => {
        if (error instanceof HTTPException) return error.getResponse();
        const { code, message } = refusalOf(error, folder.path);
        return refuse(context, REFUSALS[code], code, message);
      });
      app.route('/api', api);
    },
    close: async () => {
      await hub.close();
      await model.close();
    },
  };
}

type Model = Awaited<ReturnType<typeof openModel>>;

/** Everything that the page shows and does, without the page. */
async function openModel(folder: AppFolder, env: OpenAppOptions['env'], onChange: () => void) {
  const connections = openConnections(folder, env, onChange);
  const lists = await openLists({ folder, connections, env, onChange });
  const runs = await openRuns({ folder, connections, lists, env, onChange });
  return {
    connections,
    lists,
    runs,
    state: () => ({
      board: { runs: runs.views(), workers: [], schedules: [] },
      hasQueues: false,
      app: {
        version: readVersion(),
        folder: folder.path,
        connection: connections.show(),
        profiles: connections.profiles,
        lists: lists.entries(),
        runs: runs.all(),
      },
    }),
    /** The command that does what a run did. Its input is the user's own file, which only they can name. */
    commandOf: (id: string) => {
      const { list, request, connection } = runs.record(id);
      const { input: _, ...reading } = lists.optionsOf(list.id, request);
      const { profile: api, baseUrl, auth, price, kind } = connection;
      const store = folder.at(kind === 'sandbox' ? 'rehearsal' : 'store');
      const needed = auth === 'none' ? undefined : auth;
      const settings = { api, baseUrl, auth: needed, price, ...reading, store };
      const keyVariable = keyVariableOf(connection);
      return { command: commandOf(`/path/to/${list.name}`, settings), keyVariable };
    },
    close: async () => {
      await runs.close();
      await connections.close();
    },
  };
}

const step = z.enum(['pause', 'resume', 'stop', 'go-on']);

/** The contract of page and server: `hono/client` types the page's side of it. */
export function createApi({ connections, lists, runs, commandOf }: Model) {
  const gone = (context: Context): AbortSignal => context.req.raw.signal;
  return new Hono()
    .post('/connection', takes(connectionRequest), async (context) => {
      await connections.set(context.req.valid('json'));
      return context.json({});
    })
    .post('/connection/rehearse', async (context) => {
      await connections.rehearse();
      return context.json({});
    })
    .post('/lists', async (context) => {
      const { body, headers } = context.req.raw;
      const bytes = body
        ? // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- of two declarations of the same stream
          Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
        : Readable.from([]);
      const name = context.req.query('name') ?? '';
      const sizeBytes = Number(headers.get('content-length'));
      return context.json(await lists.add(name, bytes, sizeBytes, gone(context)));
    })
    .post('/lists/sample', async (context) => {
      const file = createReadStream(sampleFile());
      return context.json(await lists.add('crm-export.xlsx', file, 0, gone(context)));
    })
    .get('/lists/:id', (context) => context.json(lists.find(context.req.param('id'))))
    .post('/lists/:id/reading', takes(readingRequest), async (context) => {
      const reading = context.req.valid('json');
      return context.json(await lists.read(context.req.param('id'), reading, gone(context)));
    })
    .post('/lists/:id/plan', takes(runRequest), async (context) => {
      const request = context.req.valid('json');
      return context.json(await lists.plan(context.req.param('id'), request, gone(context)));
    })
    .post('/lists/:id/samples', async (context) =>
      context.json(await lists.sample(context.req.param('id'), gone(context))),
    )
    .post('/lists/:id/fields', takes(runRequest.pick({ fields: true })), async (context) => {
      const { fields = null } = context.req.valid('json');
      await lists.choose(context.req.param('id'), fields);
      return context.json({});
    })
    .post('/lists/:id/delete', async (context) => {
      const id = context.req.param('id');
      await runs.removeOf(id);
      await lists.remove(id);
      return context.json({});
    })
    .post('/lists/:id/runs', takes(runRequest), async (context) => {
      const request = context.req.valid('json');
      return context.json({ id: await runs.start(context.req.param('id'), request) });
    })
    .post('/runs/:id/ask', takes(z.object({ action: step })), async (context) => {
      await runs.ask(context.req.param('id'), context.req.valid('json').action);
      return context.json({});
    })
    .get('/runs/:id/rows', async (context) =>
      context.json(await runs.rows(context.req.param('id'), gone(context))),
    )
    .get('/runs/:id/command', (context) => context.json(commandOf(context.req.param('id'))))
    .get('/runs/:id/result', (context) =>
      download(context, runs.fileOf(context.req.param('id'), 'result')),
    )
    .get('/runs/:id/failures', (context) =>
      download(context, runs.fileOf(context.req.param('id'), 'failures')),
    );
}

/** What is sent to a page twice a second. */
export type PageState = ReturnType<Model['state']>;

async function download(context: Context, path: string): Promise<Response> {
  const handle = await open(path, 'r');
  const { size } = await handle.stat();
  const name = encodeURIComponent(basename(path)).replaceAll("'", '%27');
  const bytes = Readable.toWeb(handle.createReadStream()) as globalThis.ReadableStream;
  return context.body(bytes, 200, {
    'content-type': 'application/octet-stream',
    'content-length': String(size),
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
  });
}

/** The command of a run, with paths from the root, for a terminal or a timetable. */
function commandOf(input: string, settings: Readonly<Record<string, Setting>>): string {
  const words = [process.execPath, resolve(process.argv[1] ?? 'brandfill'), 'enrich', input];
  const flags = Object.entries(settings).flatMap(([key, value]) => flagsOf(key, value));
  return [...words.map(quote), ...flags, '--yes'].join(' ');
}

function flagsOf(key: string, value: Setting): readonly string[] {
  if (value === undefined || value === false) return [];
  const flag = flagOf(key);
  if (value === true) return [flag];
  const pairs = (of: object): string =>
    Object.entries(of)
      .map(([name, way]) => `${name}=${String(way)}`)
      .join(',');
  return [flag, quote(typeof value === 'object' ? pairs(value) : String(value))];
}

type Setting = string | number | boolean | undefined | Readonly<Record<string, string>>;

/** A word of a shell, whatever is in it. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** `samples` of the package: beside `dist`, or beside `src` when run from the sources. */
function sampleFile(): string {
  const places = ['../samples', '../../../samples'].map((path) =>
    fileURLToPath(new URL(`${path}/crm-export.xlsx`, import.meta.url)),
  );
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new AppRefusal('NOT_FOUND', 'The sample is not part of this installation.');
}
