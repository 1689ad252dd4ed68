import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type {
  Again,
  AppRun,
  ListView,
  PlanView,
  Preview,
  Samples,
  TestResult,
} from '../../src/web/app/contract.ts';
import { open as openWorkbook } from '../rows/xlsx/workbooks.ts';
import { openApi } from './support/api.ts';
import { type AppInTest, download, isOver, sampleWorkbook, startAppIn } from './support/apps.ts';
import { run } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { domains, listOf, objectsOf, rowsOf } from './support/tables.ts';

const KEY = 'key-of-the-tests-4711';

async function openStage(): Promise<{
  readonly app: AppInTest;
  readonly api: Awaited<ReturnType<typeof openApi>>;
  readonly folder: ReturnType<typeof openFolder>;
}> {
  const folder = openFolder();
  const api = await openApi({ auth: { scheme: 'bearer', key: KEY } });
  const app = await startAppIn(folder);
  return { app, api, folder };
}

describe('brandfill app', () => {
  it('goes the whole way with a workbook, and gives it back enriched', async () => {
    const { app, api } = await openStage();
    const { status } = await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    expect(status).toBe(200);
    const tested = await app.post<TestResult>('connection/test', { domain: 'https://acme.com/x' });
    expect(tested).toMatchObject({ domain: 'acme.com', status: 'found', isGood: true, calls: 1 });

    const given = sampleWorkbook();
    const { value: list } = await app.upload('Kunden „Süd“.xlsx', given);
    expect(list).toMatchObject({
      name: 'Kunden „Süd“.xlsx',
      kind: 'xlsx',
      headerRow: 4,
      column: { name: 'Homepage', index: 2 },
    });
    expect(list.sheets.map(({ name }) => name)).toEqual(['Accounts', 'Stages']);

    const before = api.stats().calls;
    const plan = await app.post<PlanView>(`lists/${list.id}/plan`, {});
    expect(plan).toMatchObject({ rows: 14, companies: 9, duplicates: 2, invalid: 3, fresh: 1 });
    expect(plan.invalidReasons).toContainEqual({
      reason: 'single_label',
      count: 1,
      words: { one: 'cell holds no web address', many: 'cells hold no web address' },
      examples: [{ row: 8, cell: 'http://localhost:8080' }],
    });
    expect(api.stats().calls).toBe(before);

    const samples = await app.post<Samples>(`lists/${list.id}/samples`, {});
    expect(samples.domains).toHaveLength(3);
    expect(api.stats().calls - before).toBe(2); // one of them was tested just now
    expect(samples.tree.find(({ label }) => label === 'location')?.children[0]).toMatchObject({
      label: 'city',
      expression: 'location.city',
      name: 'location_city',
      kind: 'value',
    });
    const choice = {
      fields: [
        { name: 'name', expression: 'name' },
        { name: 'where', expression: 'location.city' },
      ],
      fills: [],
    };
    const preview = await app.post<Preview>(`lists/${list.id}/preview`, choice);
    expect(preview.columns.slice(-2)).toEqual([
      { name: 'brand_name', kind: 'added' },
      { name: 'brand_where', kind: 'added' },
    ]);
    expect(preview.rows).toHaveLength(3);

    const { id } = await app.startRun(list.id, { choice });
    const ended = await app.waitFor(id, isOver);
    expect(ended).toMatchObject({ state: 'done', statuses: { invalid: 3 } });
    expect(ended.result?.name).toBe('Kunden „Süd“.enriched.xlsx');

    const own = await openWorkbook(given);
    const made = await openWorkbook(await download(app, `runs/${id}/result`));
    const names = own.format.columns;
    expect(made.format.columns.slice(0, names.length)).toEqual(names);
    const ofList = made.rows.map((row) =>
      Object.fromEntries(names.map((name) => [name, row[name]])),
    );
    expect(ofList).toEqual(own.rows);
    expect(made.format.columns.slice(-2)).toEqual(['brand_name', 'brand_where']);
    expect(made.rows[1]?.['brand_name']).toBe('Acme');
    const failures = await openWorkbook(await download(app, `runs/${id}/failures`));
    expect(failures.format.columns).toContain('brand_reason');
  });

  it('shows a result by status, mends cells, and asks about these alone', async () => {
    const { app, api } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    const content = `name;website
Acme;acme.com
Bolt;bolt
Bolt again;bolt
Cord;"not ""yet"""
Day;day.com
East;east.com
`;
    const { value: list } = await app.upload('liste.csv', content);
    expect(list.format).toBe('CSV, semicolon-separated');
    const { id } = await app.startRun(list.id);
    await app.waitFor(id, isOver);
    const invalid = await app.rows(id, '?status=invalid');
    expect(invalid).toMatchObject({ total: 3, domainColumn: 1 });
    expect(invalid.rows[0]).toMatchObject({ row: 2, status: 'invalid', canMend: true });
    expect(invalid.rows[0]?.message).toMatch(/holds no web address/);
    expect((await app.rows(id, '?offset=1&limit=2')).rows.map(({ row }) => row)).toEqual([2, 3]);

    const { calls } = api.stats();
    const cells = [
      { row: 2, value: 'bolt.com' },
      { row: 4, value: 'still none' },
    ];
    await app.post(`runs/${id}/mend`, { cells });
    const mended = await app.waitFor(id, isOver);
    expect(mended).toMatchObject({ state: 'done', statuses: { found: 4, invalid: 2 } });
    expect(api.stats().calls).toBe(calls + 1);
    const rows = rowsOf(String(await download(app, `runs/${id}/result`)), ';');
    expect(rows.slice(0, 4).map(({ website }) => website)).toEqual([
      'acme.com',
      'bolt.com',
      'bolt',
      'still none',
    ]);
    expect(rows[1]).toMatchObject({ name: 'Bolt', brand_status: 'found', brand_name: 'Bolt' });
    expect((await app.rows(id, '?status=found')).total).toBe(4);
  });

  it('fills blank cells, keeps what was chosen, and gives other formats back as they came', async () => {
    const { app, api } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    const choice = {
      fields: [{ name: 'name', expression: 'name' }],
      fills: [{ column: 'city', expression: 'location.city' }],
    };
    const { value: first } = await app.upload('one.jsonl', '{"website":"acme.com","city":""}\n');
    const { id } = await app.startRun(first.id, { choice });
    await app.waitFor(id, isOver);
    const [object] = objectsOf(String(await download(app, `runs/${id}/result`)));
    expect(object).toMatchObject({ website: 'acme.com', brand_name: 'Acme' });
    expect(object?.['city']).not.toBe('');
    const { value: next } = await app.upload('next.tsv', 'website\tcity\nbolt.com\tParis\n');
    expect(next.choice).toEqual(choice);
    const { value: other } = await app.upload('other.csv', 'website\nbolt.com\n');
    expect(other.choice).toEqual({ ...choice, fills: [] });
  });

  it('reads a list in another way when somebody says so', async () => {
    const { app, api } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    const { value: list } = await app.upload('liste.csv', 'acme.com,x\nbolt.com,y\n');
    expect(list.problem).toMatch(/no names of columns/);
    const plan = await app.ask('POST', `lists/${list.id}/plan`, {});
    expect(plan).toMatchObject({ status: 422, value: { error: { code: 'NO_COLUMN' } } });
    const read = await app.post<ListView>(`lists/${list.id}/reading`, { noHeader: true });
    expect(read).toMatchObject({ columns: ['column_1', 'column_2'], column: { index: 0 } });
    expect(read.problem).toBeUndefined();
    const chosen = { noHeader: true, column: 'column_2' };
    const other = await app.post<ListView>(`lists/${list.id}/reading`, chosen);
    expect(other.column).toMatchObject({ index: 1, why: 'You chose it.' });
    const wrong = await app.ask('POST', `lists/${list.id}/reading`, { encoding: 'klingon' });
    expect(wrong.status).toBe(422);
    expect((await app.get<ListView>(`lists/${list.id}`)).column?.index).toBe(1);
  });

  it('asks after the first ones, and goes on with yes, or stops with no', async () => {
    const { app, api } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY, price: 0.01 });
    const { value: list } = await app.upload('list.csv', listOf(domains(50)));
    const { id } = await app.startRun(list.id, { firstAskMe: 20 });
    const asking = await app.waitFor(id, ({ state }) => state === 'asking');
    expect(asking.sampled).toMatchObject({
      calls: 20,
      left: { companies: 30, cost: { money: 0.3 } },
    });
    expect(api.stats().calls).toBe(20);
    await app.post(`runs/${id}/no`);
    const stopped = await app.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped', steps: ['go-on'] });
    expect(stopped.result).toBeUndefined();
    await app.post(`runs/${id}/go-on`);
    await app.waitFor(id, ({ state }) => state === 'asking');
    expect(api.stats().calls).toBe(40);
    await app.post(`runs/${id}/yes`);
    const done = await app.waitFor(id, isOver);
    expect(done).toMatchObject({ state: 'done', calls: 50, cost: { money: 0.5 } });
    expect(api.stats().calls).toBe(50);
  });

  it('writes a job file that runs, and says the command line for what was done', async () => {
    const { app, api, folder } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY });
    const { value: list } = await app.upload("it's a list.csv", listOf(domains(3)));
    const { id } = await app.startRun(list.id, {
      choice: { fields: [{ name: 'n', expression: 'name' }], fills: [] },
    });
    await app.waitFor(id, isOver);
    const again = await app.post<Again>(`runs/${id}/job`, { at: '03:15' });
    expect(again.job).toContain('cron: 15 3 * * *');
    expect(again.keyVariable).toBe('BRANDFILL_API_KEY');
    expect(again.command).toContain(`'\\''s a list.csv'`);
    expect(JSON.stringify(again)).not.toContain(KEY);
    const { jobFile = '' } = again;
    expect(statSync(jobFile).mode & 0o077).toBe(0);
    const env = { BRANDFILL_API_KEY: KEY };
    const { calls } = api.stats();
    const ended = await run(['run', jobFile, '--json'], { cwd: folder.path, env });
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ statuses: { found: 3 } });
    expect(api.stats().calls).toBe(calls); // the same store
  });

  it('rehearses with a sandbox of its own and the sample', async () => {
    const { app } = await openStage();
    expect(await app.post('connection/rehearse')).toMatchObject({ kind: 'sandbox', auth: 'none' });
    const list = await app.post<ListView>('lists/sample');
    expect(list).toMatchObject({ name: 'crm-export.xlsx' });
    const { id } = await app.startRun(list.id);
    expect(await app.waitFor(id, isOver)).toMatchObject({ state: 'done', isRehearsal: true });
  });

  it('takes a list whatever its name, beside files of its own', async () => {
    const { app } = await openStage();
    const taken = async (name: string): Promise<string> =>
      (await app.upload(name, listOf(domains(1)))).value.name;
    expect(await taken('list.json')).toBe('list list.json');
    // One name, on a disk that does not tell case.
    expect(await taken('Samples.JSON')).toBe('list Samples.JSON');
    expect(await taken('li\u017ft.json')).toBe('list li\u017ft.json');
    expect(await taken('../list.csv')).toBe('list.csv');
    expect((await app.state()).lists).toHaveLength(4);
  });

  it('keeps all for its owner alone, and deletes lists and runs', async () => {
    const { app, api, folder } = await openStage();
    await app.connect({ baseUrl: api.url, auth: 'bearer', apiKey: KEY, keepKey: true });
    const { value: list } = await app.upload('../../etc/list.csv', listOf(domains(2)));
    expect(list.name).not.toMatch(/[/\\]/);
    const { id } = await app.startRun(list.id);
    await app.waitFor(id, isOver);
    const open = readdirSync(folder.at('app'), { recursive: true })
      .map((name) => join(folder.at('app'), String(name)))
      .filter((path) => (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
    await app.post(`runs/${id}/delete`);
    await app.post(`lists/${list.id}/delete`);
    expect(await app.state()).toMatchObject({ lists: [], runs: [] });
    expect(readdirSync(folder.at('app/lists'))).toEqual([]);
    expect((await app.ask<AppRun>('GET', `runs/${id}`)).status).toBe(404);
  });
});
