import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { enter, isOver, startAppIn } from './support/apps.ts';
import { run, start } from './support/command.ts';
import { signIn, statusOf } from './support/dashboards.ts';
import { openFolder } from './support/folder.ts';

const KEY = 'sesame-open-4711';
const TOKEN = 'correct-horse-battery';

describe('the page of brandfill app', () => {
  it('lets in whoever opens the address, once, and nobody without', async () => {
    const app = await startAppIn(openFolder());
    for (const path of ['/api/state', '/api/events', '/main.js', '/api/nothing']) {
      expect(await statusOf(app.url + path), path).toBe(401);
    }
    expect(await statusOf(app.url)).toBe(401);
    expect(await statusOf(`${app.url}/style.css`)).toBe(200);
    expect(await statusOf(app.address)).toBe(401); // it signed in before
    expect(await enter(app.address)).toBe('');
    const { headers, body } = await request(app.url, { headers: { cookie: app.cookie } });
    await body.dump();
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(headers['cache-control']).toBe('no-store');
    const second = await app.post<{ code: string }>('address');
    const way = `${app.url}/enter?code=${second.code}`;
    expect(await statusOf(way, { method: 'HEAD' })).toBe(401); // a look at it does not use it up
    const entered = await request(way);
    await entered.body.dump();
    expect(entered.headers['set-cookie']).toMatch(
      /^brandfill_app_[0-9a-f]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  it('does nothing for another site, nor under another name, nor when it is asked with GET', async () => {
    const api = await openApi();
    const app = await startAppIn(openFolder());
    await app.connect({ baseUrl: api.url });
    const { value: list } = await app.upload('list.csv', 'domain\nacme.com\n');
    const runs = `${app.url}/api/lists/${list.id}/runs`;
    const of = (
      headers: Record<string, string>,
      method: 'GET' | 'POST' = 'POST',
    ): Promise<number> =>
      statusOf(runs, {
        method,
        headers: { cookie: app.cookie, 'content-type': 'application/json', ...headers },
        ...(method === 'POST' && { body: '{}' }),
      });
    expect(await of({})).toBe(403);
    expect(await of({ origin: 'http://evil.example.com' })).toBe(403);
    expect(await of({ origin: 'null' })).toBe(403);
    expect(await of({ origin: app.url, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await of({ origin: app.url, 'sec-fetch-site': 'same-site' })).toBe(403);
    const host = `rebound.example.com:${new URL(app.url).port}`;
    expect(await of({ origin: `http://${host}`, host })).toBe(421);
    expect(await of({ origin: app.url, cookie: 'brandfill_app_00000000=x' })).toBe(401);
    expect(await of({}, 'GET')).toBe(404);
    expect(await of({ origin: app.url, 'content-type': 'text/plain' })).toBe(422);
    for (const path of ['', '/api/state', '/style.css', '/enter?code=x']) {
      expect(await statusOf(app.url + path, { headers: { host } }), path).toBe(421);
    }
    expect((await app.state()).runs).toEqual([]);
    expect(api.stats().calls).toBe(0);
    expect(await of({ origin: app.url })).toBe(200);
  });

  it('shows what happens to fifty tabs and no more, also when all open at once', async () => {
    const app = await startAppIn(openFolder());
    const tabs = await Promise.all(
      Array.from({ length: 60 }, async () => {
        return await request(`${app.url}/api/events`, { headers: { cookie: app.cookie } });
      }),
    );
    const count = (status: number): number =>
      tabs.filter(({ statusCode }) => statusCode === status).length;
    expect([count(200), count(503)]).toEqual([50, 10]);
    for (const { body } of tabs) body.on('error', () => {}).destroy();
  });

  it('never gives the key away, and keeps it only when asked to, for its owner alone', async () => {
    const api = await openApi({ auth: { scheme: 'bearer', key: KEY } });
    const folder = openFolder();
    const app = await startAppIn(folder);
    const connection = { baseUrl: api.url, auth: 'bearer', apiKey: KEY };
    const connected = await app.connect(connection);
    expect(connected.value).toMatchObject({ hasKey: true, isKeyKept: false });
    const { value: list } = await app.upload('list.csv', 'domain\nacme.com\n');
    const { id } = await app.startRun(list.id);
    await app.waitFor(id, isOver);
    const shown = [
      connected.text,
      (await app.ask('GET', 'state')).text,
      (await app.ask('GET', `runs/${id}`)).text,
      (await app.ask('GET', `runs/${id}/again`)).text,
      (await app.ask('POST', `runs/${id}/job`, {})).text,
      (await app.ask('POST', 'connection/test', { domain: 'acme.com' })).text,
    ];
    for (const text of shown) expect(text).not.toContain(KEY);
    const holders = (): readonly string[] =>
      readdirSync(folder.path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .filter((path) => readFileSync(path).includes(KEY));
    expect(holders()).toEqual([]);
    await app.connect({ ...connection, apiKey: '', keepKey: true });
    const [file = '', ...others] = holders();
    expect(others).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await app.post('connection/forget');
    expect(holders()).toEqual([]);
    expect((await app.ask('POST', 'connection/test', { domain: 'acme.com' })).status).toBe(409);
    // A key goes only to the address that it was typed for.
    const other = await app.connect({ baseUrl: 'http://127.0.0.1:9', auth: 'bearer' });
    expect(other.status).toBe(422);
  });

  it('sends a key of the environment to the address that it is for, and to no other', async () => {
    const api = await openApi({ auth: { scheme: 'bearer', key: KEY } });
    const other = await openApi();
    const env = { BRANDFILL_API_KEY: KEY, BRANDFILL_BASE_URL: `${api.url}/`, HUNTER_API_KEY: KEY };
    const app = await startAppIn(openFolder(), { env });
    const known = await app.connect({ baseUrl: api.url, auth: 'bearer' });
    expect(known.value).toMatchObject({ hasKey: true, isKeyKept: false });
    expect(await app.post('connection/test', { domain: 'acme.com' })).toMatchObject({
      status: 'found',
    });
    for (const elsewhere of [
      { baseUrl: other.url, auth: 'header:X-Key' },
      { baseUrl: other.url, profile: 'hunter' },
    ]) {
      expect(await app.connect(elsewhere)).toMatchObject({
        status: 422,
        text: expect.stringContaining('Type the key of'),
      });
    }
    expect(other.stats().calls).toBe(0);
  });

  it('is for this machine alone, unless there is a token', async () => {
    const folder = openFolder();
    const args = ['app', '--no-open', '--port', '0', '--dir', 'app', '--host', '0.0.0.0'];
    const refused = await run(args, { cwd: folder.path });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /Cannot show the page on 0\.0\.0\.0, .* set BRANDFILL_APP_TOKEN/,
    );
    const weak = await run([...args, '--token', 'hunter2'], { cwd: folder.path });
    expect(weak).toMatchObject({ code: 2 });
    expect(weak.stderr).not.toContain('hunter2');
    const env = { BRANDFILL_APP_TOKEN: TOKEN };
    const running = await start(args, { cwd: folder.path, env });
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await running.shows('Ctrl-C')) ?? [];
    expect(await signIn(url, 'wrong')).toEqual({ status: 401, cookie: '' });
    const { status, cookie } = await signIn(url, TOKEN);
    expect(status).toBe(303);
    const [pair = ''] = cookie.split(';');
    expect(await statusOf(`${url}/api/state`, { headers: { cookie: pair } })).toBe(200);
  });
});
