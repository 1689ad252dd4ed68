import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import type { z } from 'zod';
import type { PageState } from '../../../src/page/app/app.ts';
import type { connectionRequest } from '../../../src/page/app/connections.ts';
import type { ListRun, ListView, ShownRow } from '../../../src/page/app/lists.ts';
import type { runRequest } from '../../../src/page/app/runs.ts';
import { type Started, type start, startHere } from './command.ts';

export type AppState = PageState['app'];

/** What came back. */
export interface Answered<T = unknown> {
  readonly status: number;
  /** What JSON holds, else the text. */
  readonly value: T;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A running `brandfill app`, and somebody who has signed in. */
export interface AppInTest {
  readonly running: Started;
  readonly url: string;
  /** The address that signed in. */
  readonly address: string;
  readonly cookie: string;
  /** @param body sent as JSON, or as it is if it is bytes */
  ask<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answered<T>>;
  /** The value of an answer that has to be 2xx. */
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  connect(connection: z.input<typeof connectionRequest>): Promise<Answered>;
  upload(name: string, content: string | Buffer): Promise<Answered<ListView>>;
  /** Runs a list to its end. */
  run(list: string, request?: z.infer<typeof runRequest>): Promise<ListRun['view']>;
  result(list: string): Promise<Result>;
  state(): Promise<AppState>;
}

interface Result {
  readonly columns: string[];
  readonly rows: ShownRow[];
  readonly command: string;
  readonly keyVariable: string;
}

const ORDER = /(http:\/\/\S+\/enter\?code=\S+)/;

/**
 * Starts the app in `app` of a folder, and signs in.
 *
 * @param begin `start` for a process of its own
 */
export async function startAppIn(
  { path: cwd }: { readonly path: string },
  begin: typeof startHere | typeof start = startHere,
): Promise<AppInTest> {
  const running = await begin(['app', '--no-open', '--listen', '0', '--dir', 'app'], { cwd });
  const shown = await running.shows('Ctrl-C ends it.');
  const [, address = ''] = ORDER.exec(shown) ?? [];
  const url = new URL(address).origin;
  return signedIn(running, { url, address, cookie: await enter(address) });
}

/** Opens an address that works once, and gives the cookie. */
async function enter(address: string): Promise<string> {
  const { headers, body } = await request(address);
  await body.dump();
  const [cookie = ''] = String(headers['set-cookie'] ?? '').split(';');
  return cookie;
}

function signedIn(
  running: Started,
  { url, address, cookie }: Pick<AppInTest, 'url' | 'address' | 'cookie'>,
): AppInTest {
  async function ask<T>(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<Answered<T>> {
    const isBytes = Buffer.isBuffer(body);
    const response = await request(`${url}/api/${path}`, {
      method,
      headers: {
        cookie,
        ...(method === 'POST' && { origin: url }),
        ...(body !== undefined && {
          'content-type': isBytes ? 'application/octet-stream' : 'application/json',
        }),
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return {
      status: response.statusCode,
      text,
      value: valueOf(text) as T,
      headers: response.headers,
    };
  }

  async function good<T>(asked: Promise<Answered<T>>): Promise<T> {
    const { status, value, text } = await asked;
    if (status >= 300) throw new Error(`${status}: ${text}`);
    return value;
  }

  const app: AppInTest = {
    running,
    url,
    address,
    cookie,
    ask,
    get: async <T>(path: string) => await good(ask<T>('GET', path)),
    post: async <T>(path: string, body?: unknown) => await good(ask<T>('POST', path, body)),
    connect: async (connection) => await ask('POST', 'connection', connection),
    upload: async (name, content) =>
      await ask('POST', `lists?name=${encodeURIComponent(name)}`, Buffer.from(content)),
    run: async (list, how = {}) => {
      const view = async () => (await app.get<ListView>(`lists/${list}`)).run?.view;
      const before = await view();
      await app.post(`lists/${list}/run`, how);
      for (;;) {
        const now = await view();
        if (now?.phase === 'ended' && now.startedAt !== before?.startedAt) return now;
        await delay(20);
      }
    },
    result: async (list) => await app.get(`lists/${list}/result`),
    state: async () => (await readState(url, cookie)).app,
  };
  return app;
}

/** What the server says first. */
async function readState(url: string, cookie: string): Promise<PageState> {
  const { body } = await request(`${url}/api/events`, { headers: { cookie } });
  let text = '';
  for await (const part of body) {
    text += String(part);
    const [, data] = /data: (.*)\n\n/.exec(text) ?? [];
    if (data !== undefined) return JSON.parse(data) as PageState;
  }
  throw new Error(`no state in ${text}`);
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The bytes of a result. */
export async function download(app: AppInTest, path: string): Promise<Buffer> {
  const { statusCode, body } = await request(`${app.url}/api/${path}`, {
    headers: { cookie: app.cookie },
  });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`${statusCode}: ${String(bytes)}`);
  return bytes;
}

/** A workbook that comes with Brandfill. */
export function sampleWorkbook(): Buffer {
  return readFileSync(new URL('../../../samples/crm-export.xlsx', import.meta.url));
}
