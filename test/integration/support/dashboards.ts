import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import type { z } from 'zod';
import type { PageState } from '../../../src/page/app/app.ts';
import type { connectionRequest } from '../../../src/page/app/connections.ts';
import type { ListRun, ListView } from '../../../src/page/app/lists.ts';
import type { ShownRow } from '../../../src/page/app/read-list.ts';
import type { runRequest } from '../../../src/page/app/runs.ts';
import type { Board } from '../../../src/page/board.ts';
import { type start, startHere } from './command.ts';

type Headers = Readonly<Record<string, string>>;

/** What the page of a command hears first. */
async function readState(url: string, headers: Headers): Promise<PageState & { board: Board }> {
  const { body } = await request(`${url}/api/events`, { headers });
  let text = '';
  for await (const part of body) {
    text += String(part);
    const [, data] = /data: (.*)\n\n/.exec(text) ?? [];
    if (data !== undefined) return JSON.parse(data) as PageState & { board: Board };
  }
  throw new Error(`no state in ${text}`);
}

/** What a dashboard shows now. */
export async function readBoard(url: string, headers: Headers = {}): Promise<Board> {
  return (await readState(url, headers)).board;
}

/** The status of an answer. */
export async function statusOf(
  url: string,
  options: Parameters<typeof request>[1] = {},
): Promise<number> {
  const { statusCode, body } = await request(url, options);
  await body.dump();
  return statusCode;
}

/** Signs in with a token, as the form does. The cookie is empty when it is refused. */
export async function signIn(url: string, token: string) {
  const { statusCode, headers, body } = await request(`${url}/login`, {
    method: 'POST',
    headers: { origin: url },
    body: new URLSearchParams({ token }).toString(),
  });
  await body.dump();
  return { status: statusCode, cookie: String(headers['set-cookie'] ?? '') };
}

/** Asks something of a run, as the page does; gives the status of the answer. */
export async function askRun(url: string, run: string, action: string): Promise<number> {
  return await statusOf(`${url}/api/runs/${run}/ask`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ action }),
  });
}

/** What came back: `value` is what JSON holds, else the text. */
interface Answered<T> {
  readonly status: number;
  readonly text: string;
  readonly value: T;
}

/**
 * Starts `brandfill app` in `app` of a folder, and signs in.
 *
 * @param begin `start` for a process of its own
 */
export async function startAppIn(
  { path: cwd }: { readonly path: string },
  begin: typeof startHere | typeof start = startHere,
) {
  const running = await begin(['app', '--no-open', '--listen', '0', '--dir', 'app'], { cwd });
  const shown = await running.shows('Ctrl-C ends it.');
  const [, address = '', url = ''] = /((http:\/\/[^/\s]+)\/enter\?code=\S+)/.exec(shown) ?? [];
  const entered = await request(address);
  await entered.body.dump();
  const [cookie = ''] = String(entered.headers['set-cookie'] ?? '').split(';');

  /** @param body sent as JSON, or as it is if it is bytes */
  async function send(method: 'GET' | 'POST', path: string, body?: unknown) {
    const isBytes = Buffer.isBuffer(body);
    const type = isBytes ? 'application/octet-stream' : 'application/json';
    const came = await request(`${url}/api/${path}`, {
      method,
      headers: {
        cookie,
        ...(method === 'POST' && { origin: url }),
        ...(body !== undefined && { 'content-type': type }),
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const isJson = String(came.headers['content-type']).includes('json');
    return { status: came.statusCode, isJson, bytes: Buffer.from(await came.body.arrayBuffer()) };
  }

  async function ask<T>(...asked: Parameters<typeof send>): Promise<Answered<T>> {
    const { status, isJson, bytes } = await send(...asked);
    const text = bytes.toString();
    return { status, text, value: (isJson ? JSON.parse(text) : text) as T };
  }

  /** The value of an answer that has to be 2xx. */
  async function good<T>(...asked: Parameters<typeof send>): Promise<T> {
    const { status, value, text } = await ask<T>(...asked);
    if (status >= 300) throw new Error(`${status}: ${text}`);
    return value;
  }

  const get = <T>(path: string): Promise<T> => good('GET', path);
  const post = <T>(path: string, body?: unknown): Promise<T> => good('POST', path, body);
  return {
    running,
    ask,
    get,
    post,
    connect: (connection: z.input<typeof connectionRequest>) =>
      ask('POST', 'connection', connection),
    upload: (name: string, content: string | Buffer) =>
      ask<ListView>('POST', `lists?name=${encodeURIComponent(name)}`, Buffer.from(content)),
    /** Runs a list to its end. */
    run: async (list: string, how: z.infer<typeof runRequest> = {}): Promise<ListRun['view']> => {
      const view = async () => (await get<ListView>(`lists/${list}`)).run?.view;
      const before = await view();
      await post(`lists/${list}/run`, how);
      for (;;) {
        const now = await view();
        if (now?.phase === 'ended' && now.startedAt !== before?.startedAt) return now;
        await delay(20);
      }
    },
    result: (list: string) =>
      get<{ columns: string[]; rows: ShownRow[]; command: string; keyVariable: string }>(
        `lists/${list}/result`,
      ),
    download: async (path: string): Promise<Buffer> => {
      const { status, bytes } = await send('GET', path);
      if (status !== 200) throw new Error(`${status}: ${String(bytes)}`);
      return bytes;
    },
    state: async () => (await readState(url, { cookie })).app,
  };
}
