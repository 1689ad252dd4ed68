import { request } from 'undici';
import type { Board } from '../../../src/page/board.ts';

/** What a dashboard shows now. */
export async function readBoard(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Board> {
  const { body } = await request(`${url}/api/events`, { headers });
  let text = '';
  for await (const part of body) {
    text += String(part);
    const [, data] = /data: (.*)\n\n/.exec(text) ?? [];
    if (data !== undefined) return (JSON.parse(data) as { readonly board: Board }).board;
  }
  throw new Error(`no board in ${text}`);
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
export async function signIn(
  url: string,
  token: string,
): Promise<{ readonly status: number; readonly cookie: string }> {
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
