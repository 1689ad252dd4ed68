import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { PlanView, TestResult } from '../../src/web/app/contract.ts';
import { openApi, openScripted, openServer } from './support/api.ts';
import { type AppInTest, download, isOver, sampleWorkbook, startAppIn } from './support/apps.ts';
import { openFolder } from './support/folder.ts';
import { mountSmallDisk } from './support/small-disk.ts';
import { domains, listOf, rowsOf } from './support/tables.ts';

const KEY = 'sesame-open-4711';

async function listIn(app: AppInTest, count = 50): Promise<string> {
  return (await app.upload('list.csv', listOf(domains(count)))).value.id;
}

/** What no sentence for people at the page may hold. */
const FOR_TERMINALS = /--[a-z]|BRANDFILL_|run the same command|undefined|\[object/;

describe('brandfill app says what to do', () => {
  it('when the API refuses the key, and goes on once it is right', async () => {
    const api = await openApi({ auth: { scheme: 'bearer', key: KEY } });
    const app = await startAppIn(openFolder());
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: 'wrong-key-1' });
    const tested = await app.post<TestResult>('connection/test', { domain: 'acme.com' });
    expect(tested).toMatchObject({ isGood: false });
    expect(tested.message).toMatch(/^The API does not accept the key\. Check it under Connect/);
    const { id } = await app.startRun(await listIn(app));
    const stopped = await app.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped', steps: ['go-on'] });
    expect(stopped.lines[0]).toMatch(/does not accept the key/);
    expect(stopped.lines.join()).not.toMatch(FOR_TERMINALS);
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    await app.post(`runs/${id}/go-on`);
    expect(await app.waitFor(id, isOver)).toMatchObject({ state: 'done', statuses: { found: 50 } });
  });

  it('when what the key may ask is used up, and loses nothing', async () => {
    const api = await openApi({ quota: 20 });
    const app = await startAppIn(openFolder());
    await app.connect({ baseUrl: api.url });
    const { id } = await app.startRun(await listIn(app));
    const stopped = await app.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped', statuses: { found: 20, skipped: 30 } });
    expect(stopped.lines[0]).toMatch(/used up\..* Buy more or wait/);
    expect(stopped.lines.join()).not.toMatch(FOR_TERMINALS);
    const { rows } = await app.rows(id, '?status=skipped');
    expect(rows[0]?.message).toBe(
      'Not asked yet, because the run stopped before. Go on, and it is asked.',
    );
    const result = rowsOf(String(await download(app, `runs/${id}/result`)));
    expect(result.filter(({ brand_status }) => brand_status === 'found')).toHaveLength(20);
  });

  it('when the address of the API is wrong', async () => {
    const page = await openServer((_, response) => {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>');
    });
    const app = await startAppIn(openFolder());
    await app.connect({ baseUrl: page.url });
    const tested = await app.post<TestResult>('connection/test', { domain: 'acme.com' });
    expect(tested.isGood).toBe(false);
    expect(tested.message).toMatch(/The address of the API seems to be wrong/);
    const { id } = await app.startRun(await listIn(app));
    const stopped = await app.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped' });
    expect(stopped.lines[0]).toMatch(
      /address of the API seems to be wrong.* Check it under Connect/,
    );
    expect(stopped.lines.join()).not.toMatch(FOR_TERMINALS);
    expect(stopped.result).toBeUndefined();
    await app.connect({ baseUrl: 'http://127.0.0.1:9' });
    const nobody = await app.post<TestResult>('connection/test', { domain: 'acme.com' });
    expect(nobody).toMatchObject({ isGood: false });
    expect(nobody.message).not.toMatch(FOR_TERMINALS);
    const noUrl = await app.connect({ baseUrl: 'not an address' });
    expect(noUrl).toMatchObject({ status: 422, value: { error: { code: 'INVALID_SETTING' } } });
    expect(noUrl.text).not.toMatch(FOR_TERMINALS);
  });

  it('when no column holds addresses, or the list is none', async () => {
    const { url } = await openScripted({});
    const app = await startAppIn(openFolder());
    await app.connect({ baseUrl: url });
    const { value: list } = await app.upload('list.csv', 'name,city\nAcme,Oslo\nBolt,Rome\n');
    expect(list.column).toBeUndefined();
    expect(list.problem).toMatch(/^No column was found whose cells hold web addresses\. Click/);
    const { value } = await app.ask('POST', `lists/${list.id}/runs`, {});
    expect(value).toMatchObject({ error: { code: 'NO_COLUMN' } });
    await app.post(`lists/${list.id}/reading`, { column: 'name' });
    expect(await app.post<PlanView>(`lists/${list.id}/plan`, {})).toMatchObject({ invalid: 2 });

    const damaged = sampleWorkbook().subarray(0, 4_000);
    for (const [name, content, says] of [
      ['damaged.xlsx', damaged, /Cannot read damaged\.xlsx: .*(damaged|broken|incomplete)/i],
      ['old.xls', Buffer.from('\xd0\xcf\x11\xe0 and so on', 'latin1'), /save it as XLSX/],
      ['paper.pdf', Buffer.from('%PDF-1.7'), /a PDF; export the list/],
      ['empty.csv', Buffer.from(''), /empty/],
    ] as const) {
      const refused = await app.upload(name, content);
      expect(refused.status, name).toBe(422);
      expect(refused.value.error.message, name).toMatch(says);
      expect(refused.value.error.message, name).not.toMatch(FOR_TERMINALS);
      expect(refused.value.error.message, name).not.toContain('/lists/');
    }
    expect((await app.state()).lists).toHaveLength(1);
  });

  it('when the disk is full, and loses nothing', async ({ skip }) => {
    const folder = openFolder();
    if (!mountSmallDisk(folder, 12_000_000)) {
      console.log('not tested: this process may not mount a disk');
      skip();
    }
    const api = await openApi();
    const app = await startAppIn(folder);
    await app.connect({ baseUrl: api.url });
    const list = await listIn(app);
    const { id } = await app.startRun(list);
    await app.waitFor(id, isOver);
    const big = Buffer.alloc(14_000_000, 'company.com\n');
    const refused = await app.upload('big.csv', big);
    expect(refused).toMatchObject({ status: 507, value: { error: { code: 'NO_SPACE' } } });
    expect(refused.value.error.message).toMatch(/no room left on the disk.* Make room/);
    expect(readdirSync(folder.at('app/lists'))).toEqual([list]);
    const rows = rowsOf(String(await download(app, `runs/${id}/result`)));
    expect(rows).toHaveLength(50);
    // A list that fits, whose result does not.
    const { value: wide } = await app.upload('wide.csv', `domain,x\n${wideRows(700)}`);
    const { id: last } = await app.startRun(wide.id);
    const ended = await app.waitFor(last, isOver);
    expect(['failed', 'stopped']).toContain(ended.state);
    expect(ended.lines.join()).toMatch(/disk is full|no room left/);
    expect(ended.lines.join()).not.toMatch(FOR_TERMINALS);
    expect((await app.rows(id)).total).toBe(50);
  });
});

function wideRows(count: number): string {
  return domains(count)
    .map((domain) => `${domain},${'x'.repeat(9_000)}\n`)
    .join('');
}
