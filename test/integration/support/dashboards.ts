import { request } from 'undici';
import type { Board } from '../../../src/web/board.ts';

/** What a dashboard shows now. */
export async function readBoard(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Board> {
  const { body } = await request(`${url}/events`, { headers });
  let text = '';
  for await (const part of body) {
    text += String(part);
    const [, data] = /event: board\ndata: (.*)\n\n/.exec(text) ?? [];
    if (data !== undefined) return JSON.parse(data) as Board;
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
