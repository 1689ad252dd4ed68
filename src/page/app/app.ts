import { createReadStream, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { BrandfillError, describeSystemError, systemErrorCode } from '../../common/errors.ts';
import { withoutSecrets } from '../../common/secrets.ts';
import { shellWord } from '../../common/text.ts';
import { flagOf } from '../../options/options.ts';
import { readVersion } from '../../version.ts';
import { type Access, readForm, refused, takes } from '../access.ts';
import { enteredPage, loginPage } from '../assets.ts';
import { boardApi, pageRoutes } from '../dashboard.ts';
import { createHub } from '../hub.ts';
import { connectionRequest, keyVariableOf, openConnections, settingsOf } from './connections.ts';
import type { AppFolder } from './folder.ts';
import { fieldsRequest, openLists } from './lists.ts';
import { createPreviews, type Library } from './previews.ts';
import { readingRequest } from './read-list.ts';
import { openRuns, runRequest } from './runs.ts';
import { onPage } from './words.ts';

export interface OpenAppOptions {
  readonly folder: AppFolder;
  readonly library: Library;
  readonly access: Access;
  /** Makes a way in, for another start of the app. */
  readonly wayIn: (as: WayIn) => Promise<string>;
}

/** An address to be typed, or a file to be opened; each signs in once. */
export type WayIn = 'address' | 'file';

const WHICH =
  'Open the address that the terminal shows; it works once. Start brandfill app again for another one. If it was started with a token, type that.';
const USED_UP = 'This address was used already, is too old, or is of an earlier start.';

/** Opens the page of the app and all that it asks for. */
export async function openApp(options: OpenAppOptions) {
  const { folder, access, wayIn } = options;
  const model = await openModel(options, () => hub.changed());
  const hub = createHub(model.state);
  const addPage = await pageRoutes(access, WHICH);
  const enter = (context: Context, code: string) => {
    if (access.enter(context, code) || access.isGranted(context))
      return context.html(enteredPage());
    return context.html(loginPage(WHICH, USED_UP), 401);
  };
  return {
    routes: (app: Hono): void => {
      // Programs that look at a link before somebody opens it ask with HEAD, and must not use it
      // up.
      app.get('/enter', (context) => {
        const isOpened = context.req.method === 'GET';
        return enter(context, isOpened ? (context.req.query('code') ?? '') : '');
      });
      app.post('/enter', async (context) =>
        enter(context, (await readForm(context))?.get('code') ?? ''),
      );
      addPage(app);
      app.get('/api/events', (context) => hub.serve(context));
      app.post('/api/way-in/:as{address|file}', async (context) =>
        context.json({ way: await wayIn(context.req.param('as') as WayIn) }),
      );
      const api = createApi(model);
      api.onError((error, context) => {
        const { status, message } = refusalOf(error, folder.path);
        return context.text(`${message}\n`, status);
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
async function openModel({ folder, library }: OpenAppOptions, onChange: () => void) {
  const connections = openConnections(folder, onChange);
  const shared = { folder, connections, library, onChange };
  const lists = await openLists(shared);
  const previews = createPreviews({ ...shared, lists });
  const runs = openRuns({ ...shared, lists });
  return {
    connections,
    lists,
    previews,
    runs,
    state: async () => ({
      board: await runs.board.read(),
      app: {
        version: readVersion(),
        folder: folder.path,
        connection: connections.show(),
        profiles: connections.profiles,
        lists: lists.entries(),
      },
    }),
    /** The first rows of a result, and the command that does the same with the user's own file. */
    result: async (id: string, signal: AbortSignal) => {
      const { name, run } = lists.find(id);
      const rows = await previews.rows(id, signal);
      if (!run || run.connection.isRehearsal) return rows;
      const { input: _, ...reading } = lists.optionsOf(id);
      const settings = { ...settingsOf(run.connection), ...reading, store: folder.at('store') };
      const command = commandOf(`/path/to/${name}`, settings);
      return { ...rows, command, keyVariable: keyVariableOf(run.connection) };
    },
    close: async () => {
      await runs.close();
      await connections.close();
    },
  };
}

/** The contract of page and server: `hono/client` types the page's side of it. */
export function createApi({ connections, lists, previews, runs, result }: Model) {
  const gone = (context: Context): AbortSignal => context.req.raw.signal;
  return new Hono()
    .route('/', boardApi(runs.board))
    .post('/connection', takes(connectionRequest), async (context) => {
      await connections.set(context.req.valid('json'));
      return context.json({});
    })
    .post('/lists', async (context) => {
      const { body } = context.req.raw;
      const bytes = body
        ? // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- of two declarations of the same stream
          Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
        : Readable.from([]);
      const name = context.req.query('name') ?? '';
      return context.json(await lists.add(name, bytes, gone(context)));
    })
    .post('/lists/sample', async (context) => {
      const file = createReadStream(sampleFile());
      return context.json(await lists.add('crm-export.xlsx', file, gone(context)));
    })
    .get('/lists/:id', (context) => context.json(lists.show(context.req.param('id'))))
    .post('/lists/:id/reading', takes(readingRequest), async (context) => {
      await lists.read(context.req.param('id'), context.req.valid('json'), gone(context));
      return context.json({});
    })
    .post('/lists/:id/samples', async (context) =>
      context.json(await previews.sample(context.req.param('id'), gone(context))),
    )
    .post('/lists/:id/fields', takes(fieldsRequest), async (context) => {
      await lists.choose(context.req.param('id'), context.req.valid('json').fields);
      return context.json({});
    })
    .post('/lists/:id/plan', async (context) =>
      context.json(await previews.plan(context.req.param('id'), gone(context))),
    )
    .post('/lists/:id/run', takes(runRequest), async (context) => {
      await runs.start(context.req.param('id'), context.req.valid('json'));
      return context.json({});
    })
    .get('/lists/:id/result', async (context) =>
      context.json(await result(context.req.param('id'), gone(context))),
    )
    .get('/lists/:id/files/:which{out|failures}', async (context) => {
      const { id, which } = context.req.param();
      return await download(context, lists.outputsOf(id)[which === 'out' ? 'out' : 'failures']);
    })
    .post('/lists/:id/delete', async (context) => {
      const id = context.req.param('id');
      if (runs.isLive(id)) throw refused(409, 'A run still needs this list: stop it first.');
      await lists.remove(id);
      return context.json({});
    });
}

/** What is sent to a page twice a second. */
export type PageState = Awaited<ReturnType<Model['state']>>;

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** What went wrong, for people. It never holds a credential. */
function refusalOf(error: unknown, folder: string): Pick<HTTPException, 'status' | 'message'> {
  if (error instanceof HTTPException) return error;
  for (let one = error; one instanceof Error; one = one.cause) {
    if (!FULL.has(systemErrorCode(one) ?? '')) continue;
    const message = `There is no room left on the disk of ${folder}. Make room there (delete earlier lists, or empty the bin), then do it again. Nothing that was there is lost.`;
    return { status: 507, message };
  }
  if (error instanceof BrandfillError && error.code === 'STORE_IN_USE')
    return { status: 409, message: 'A run needs these answers: do it again when that has ended.' };
  if (error instanceof BrandfillError)
    return { status: 422, message: onPage(withoutSecrets(error.message)) };
  if (systemErrorCode(error) !== undefined) {
    const message = `${folder} cannot be used: ${describeSystemError(error)}. Nothing that was there is lost.`;
    return { status: 500, message };
  }
  const why = error instanceof Error ? error.message : String(error);
  return { status: 500, message: `Something unexpected happened: ${withoutSecrets(why)}` };
}

async function download(context: Context, path: string): Promise<Response> {
  const handle = await open(path, 'r').catch(() => {
    throw refused(404, 'There is no such file yet.');
  });
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
  return [...words, ...flags, '--yes'].map(shellWord).join(' ');
}

function flagsOf(key: string, value: Setting): readonly string[] {
  if (value === undefined || value === false) return [];
  if (value === true) return [flagOf(key)];
  const pairs = (of: object): string =>
    Object.entries(of)
      .map(([name, way]) => `${name}=${String(way)}`)
      .join(',');
  return [flagOf(key), typeof value === 'object' ? pairs(value) : String(value)];
}

type Setting = string | number | boolean | undefined | Readonly<Record<string, string>>;

/** `samples` of the package: beside `dist`, or beside `src` when run from the sources. */
function sampleFile(): string {
  const places = ['../samples', '../../../samples'].map((path) =>
    fileURLToPath(new URL(`${path}/crm-export.xlsx`, import.meta.url)),
  );
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw refused(404, 'The sample is not part of this installation.');
}
