import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ListView } from '../../src/page/app/lists.ts';
import { open as openWorkbook } from '../rows/xlsx/workbooks.ts';
import { holdCalls, openApi } from './support/api.ts';
import { start } from './support/command.ts';
import { startAppIn } from './support/dashboards.ts';
import { domains, listOf, openFolder } from './support/folder.ts';
import { openSmallDisk } from './support/small-disk.ts';

const KEY = 'key-of-the-tests-4711';

async function openStage(begin?: typeof start) {
  const folder = openFolder();
  const api = await openApi({ auth: { scheme: { kind: 'bearer' }, key: KEY } });
  const app = await startAppIn(folder, begin);
  await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY, price: '0.01 EUR' });
  return { app, api, folder };
}

describe('brandfill app', () => {
  it('goes the whole way with a workbook, and gives it back enriched', async () => {
    const { app, api, folder } = await openStage(start); // its command is run
    const given = readFileSync('samples/crm-export.xlsx');
    const { value: list } = await app.upload('Kunden „Süd“.xlsx', given);
    expect(list).toMatchObject({ name: 'Kunden „Süd“.xlsx', kind: 'xlsx' });
    const before = api.stats().calls;
    const plan = await app.post(`lists/${list.id}/plan`);
    const counts = { rows: 14, uniqueDomains: 9, freshDomains: 0 };
    expect(plan).toMatchObject({ ...counts, cost: 0.09, currency: 'EUR' });
    expect(api.stats().calls).toBe(before);
    const sampled = await app.post(`lists/${list.id}/samples`);
    expect(sampled).toMatchObject({
      calls: 3,
      whole: expect.stringMatching(
        /^The whole list: \d+ to 100 % of 11 rows found; 6 more domains to ask; .*; cost about 0\.06 EUR$/,
      ),
    });
    expect(api.stats().calls - before).toBe(3);
    const fields = [
      { name: 'name', expression: 'name' },
      { name: 'where', expression: 'location.city' },
    ];
    await app.post(`lists/${list.id}/fields`, { fields });
    expect(await app.run(list.id)).toMatchObject({ end: 'done', calls: 6 });
    const own = await openWorkbook(given);
    const made = await openWorkbook(await app.download(`lists/${list.id}/files/out`));
    const names = own.format.columns;
    expect(made.format.columns.slice(0, names.length)).toEqual(names);
    expect(made.format.columns.slice(-2)).toEqual(['brand_name', 'brand_where']);
    expect(made.rows[1]?.['brand_name']).toBe('Acme');
    const shown = await app.result(list.id);
    expect(shown.columns.slice(-2)).toEqual(['brand_name', 'brand_where']);
    expect(shown.rows).toHaveLength(14);
    expect((await app.download(`lists/${list.id}/files/failures`)).length).toBeGreaterThan(0);
    expect(shown.rows[0]).toMatchObject({ number: 5, cells: expect.arrayContaining(['00117']) });
    const { command, keyVariable } = shown;
    expect(command).not.toContain(KEY);
    const calls = api.stats().calls;
    folder.write('Kunden „Süd“.xlsx', given);
    const line = command.replace('/path/to/', `${folder.path}/`);
    const env = { PATH: process.env['PATH'], [keyVariable]: KEY };
    await promisify(execFile)('sh', ['-c', line], { cwd: '/', env });
    const again = readFileSync(folder.at('Kunden „Süd“.enriched.xlsx'));
    expect((await openWorkbook(again)).format.columns).toEqual(made.format.columns);
    expect(api.stats().calls).toBe(calls);
  });

  it('is opened by a private file that signs in once, also where it runs already, and leaves none', async () => {
    const folder = openFolder();
    const script = '#!/bin/sh\necho "$@" >> arguments\ncp "$1" made && mv made opened.html\n';
    for (const name of ['xdg-open', 'open']) chmodSync(folder.write(name, script), 0o700);
    const env = { DISPLAY: ':0', PATH: `${folder.path}:${process.env['PATH']}` };
    const begin = async () =>
      await start(['app', '--listen', '0', '--dir', 'app'], { cwd: folder.path, env });
    const app = await begin();
    const [url = ''] = /http:\S+/.exec(await app.shows('Ctrl-C ends it.')) ?? [];
    await (await begin()).ended;
    while (!folder.names().includes('opened.html')) await delay(10);
    const [, code = ''] = /name="code" value="([\w-]+)"/.exec(folder.read('opened.html')) ?? [];
    const enter = async () =>
      await fetch(`${url}/enter`, { method: 'POST', body: new URLSearchParams({ code }) });
    expect([(await enter()).status, (await enter()).status]).toEqual([200, 401]);
    expect(folder.read('arguments')).not.toContain(code);
    const headers = { 'content-length': 10_000_000 };
    const endless = request(`${url}/enter`, { method: 'POST', headers });
    endless.on('error', () => {}).write('x'.repeat(10_000));
    const [answer] = (await once(endless, 'response')) as [IncomingMessage];
    endless.destroy();
    expect(answer.statusCode, 'who is a stranger sends little').toBe(401);
    await app.stop();
    expect(readdirSync(folder.at('app/brandfill-app')).join()).not.toContain('.html');
  });

  it('reads a list in another way when somebody says so', async () => {
    const { app } = await openStage();
    const { value: list } = await app.upload('liste.csv', 'acme.com,x\nbolt.com,y\n');
    expect(list.problem).toMatch(/no names of columns/);
    const plan = await app.ask('POST', `lists/${list.id}/plan`);
    expect(plan).toMatchObject({ status: 422, text: `${list.problem}\n` });
    const read = async (how: object): Promise<ListView> => {
      await app.post(`lists/${list.id}/reading`, how);
      return await app.get(`lists/${list.id}`);
    };
    const columns = ['column_1', 'column_2'];
    expect(await read({ noHeader: true })).toMatchObject({ columns, column: { index: 0 } });
    const chosen = await read({ noHeader: true, column: 'column_2' });
    expect(chosen.column).toMatchObject({ index: 1 });
    const none = await read({ column: 'column_3' });
    expect([none.column, none.problem]).toEqual([undefined, list.problem]);
    await read({ noHeader: true, column: 'column_2' });
    const wrong = await app.ask('POST', `lists/${list.id}/reading`, { noHeader: 'no' });
    expect(wrong.status).toBe(422);
    expect((await app.get<ListView>(`lists/${list.id}`)).column?.index).toBe(1);
  });

  it('keeps the bounds of a run though its process is killed', async () => {
    const folder = openFolder();
    const api = await openApi({ latencyMs: 30 });
    let app = await startAppIn(folder, start);
    await app.connect({ baseUrl: api.url, auth: 'none', price: '1' });
    const { value: list } = await app.upload('list.csv', listOf(domains(300)));
    await app.post(`lists/${list.id}/run`, { maxCalls: 60 });
    while (api.stats().calls < 30) await app.state();
    await app.running.stop('SIGKILL');
    app = await startAppIn(folder);
    const { run } = await app.get<ListView>(`lists/${list.id}`);
    expect(run?.view).toMatchObject({ phase: 'lost', next: expect.stringContaining('Go on') });
    expect(await app.run(list.id, { goesOn: true })).toMatchObject({ end: 'stopped' });
    const { calls } = api.stats();
    expect(calls).toBeLessThanOrEqual(60);
    expect(await app.run(list.id, { goesOn: true })).toMatchObject({ end: 'stopped' });
    expect(api.stats().calls, 'who goes on after a bound allows as much again').toBe(calls + 60);
  });

  it('says so when there is no room for a list, also to who still sends it', async (context) => {
    const disk = openSmallDisk(3 * 1024 * 1024);
    if (!disk) return context.skip('no disk can be mounted here');
    const app = await startAppIn(disk);
    const { status, text } = await app.upload('list.csv', Buffer.alloc(30_000_000, 'domain,x\n'));
    expect([status, text]).toEqual([507, expect.stringContaining('There is no room left')]);
    expect((await app.upload('list.csv', listOf(domains(2)))).status).toBe(200);
  });

  it('plans beside a run, and says in a sentence when companies can be asked about', async () => {
    const folder = openFolder();
    const api = await openApi();
    const calls = await holdCalls(api);
    const app = await startAppIn(folder);
    await app.connect({ baseUrl: calls.url, auth: 'none' });
    const [long, short] = [
      (await app.upload('long.csv', listOf(domains(20)))).value.id,
      (await app.upload('short.csv', listOf(domains(5)))).value.id,
    ];
    const running = app.run(long);
    await expect.poll(() => calls.come()).toBeGreaterThan(0);
    expect(await app.post(`lists/${short}/plan`)).toMatchObject({ rows: 5, lookups: 5 });
    expect(await app.ask('POST', `lists/${short}/samples`)).toMatchObject({
      status: 409,
      text: expect.stringContaining('A run needs these answers'),
    });
    calls.release();
    expect(await running).toMatchObject({ end: 'done' });
    expect((await app.ask('POST', `lists/${short}/samples`)).status).toBe(200);
  });

  it('keeps all for its owner alone, and deletes a list with its runs', async () => {
    const { app, folder } = await openStage();
    const { value: list } = await app.upload('../../etc/list.csv', listOf(domains(2)));
    expect(list.name).not.toMatch(/[/\\]/);
    await app.run(list.id);
    const open = readdirSync(folder.at('app'), { recursive: true })
      .map((name) => join(folder.at('app'), String(name)))
      .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
    expect(open).toEqual([]);
    await app.post(`lists/${list.id}/delete`);
    expect(await app.state()).toMatchObject({ lists: [] });
    expect(readdirSync(folder.at('app/brandfill-app/lists'))).toEqual([]);
  });
});
