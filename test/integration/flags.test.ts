import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi, openScripted, openServer } from './support/api.ts';
import { enrichHere, summaryOf } from './support/command.ts';
import { column, openList, rowsOf, withoutTimes } from './support/folder.ts';

// One case for each flag of enrich: that it comes to where it acts. What it does there is tested
// there.

it('--param and --header go with every call, as often as given', async () => {
  const server = await openServer();
  const params = ['--param', 'lang=de', '--param', 'q=a=b&c'];
  const headers = ['--header', 'X-Team=crm', '--header', 'X-Run=1=2'];
  await enrichHere(openList(), server.url, ...params, ...headers);
  expect(server.requests).toHaveLength(2);
  for (const { url, headers } of server.requests) {
    expect(url).toMatch(/&lang=de&q=a%3Db%26c$/);
    expect(headers).toMatchObject({ 'x-team': 'crm', 'x-run': '1=2' });
  }
});

it('--concurrency bounds the calls in flight', async () => {
  const api = await openApi({ latencyMs: 20 });
  await enrichHere(openList(40), api.url, '--concurrency', '3');
  expect(api.stats()).toMatchObject({ calls: 40, concurrency: { highest: 3 } });
});

type Script = Readonly<Record<string, SandboxReply>>;

/** Flags, a list, what the API says, the summary, and the columns of the rows. */
it.each<[readonly string[], string | number, Script, object, Record<string, readonly string[]>]>([
  [
    ['--retries', '2'],
    'domain\nacme.com\n',
    { 'acme.com': { status: 500 } },
    { calls: 3, retries: 2 },
    { brand_status: ['failed'] },
  ],
  [
    ['--retries', '0', '--timeout', '150ms'],
    'domain\nacme.com\n',
    { 'acme.com': 'hang' },
    { calls: 1, statuses: { failed: 1 } },
    { brand_status: ['failed'] },
  ],
  [
    ['--registrable'],
    'domain\nshop.acme.co.uk\nwww.acme.co.uk\n',
    {},
    { calls: 1 },
    { brand_domain: ['acme.co.uk', 'acme.co.uk'] },
  ],
  [['--prefix', 'x.'], 'site\nacme.com\n', {}, {}, { 'x.status': ['found'], 'x.name': ['Acme'] }],
])('%j', async (flags, list, script, summary, columns) => {
  const folder = openList(list);
  const api = await openScripted(script);
  const ended = await enrichHere(folder, api.url, '--json', ...flags);
  expect(ended.stdout.trimEnd()).not.toContain('\n'); // one line for one run
  expect(summaryOf(ended)).toMatchObject(summary);
  const rows = rowsOf(folder.read('list.enriched.csv'));
  for (const [name, cells] of Object.entries(columns)) expect(column(rows, name)).toEqual(cells);
});

it('--out and --failures name the two files, and --out - is standard output', async () => {
  const folder = openList();
  const api = await openScripted({ 'bolt.com': { status: 404 } });
  await enrichHere(folder, api.url, '--out', 'o.csv', '--failures', 'f.csv');
  expect(folder.names()).toEqual(['f.csv', 'list.csv', 'o.csv']);
  expect(column(rowsOf(folder.read('o.csv')), 'brand_status')).toEqual(['found', 'not_found']);
  expect(column(rowsOf(folder.read('f.csv')), 'name')).toEqual(['Bolt']);
  const { stdout } = await enrichHere(folder, api.url, '--out', '-', '--failures', 'f.csv');
  expect(withoutTimes(stdout)).toBe(
    'name,domain,brand_domain,brand_status,brand_fetched_at,brand_name\n' +
      'Acme,acme.com,acme.com,found,<time>,Acme\nBolt,bolt.com,bolt.com,not_found,<time>,\n',
  );
});

it('--fresh, --fresh-not-found and --refresh say what is asked again, and --store where it is kept', async () => {
  const folder = openList('domain\nacme.com\nbolt.com\nacme.com\nwww.bolt.com\n');
  const api = await openScripted({ 'bolt.com': { status: 404 } });
  const calls = async (...flags: readonly string[]): Promise<number> =>
    summaryOf(await enrichHere(folder, api.url, '--json', '--store', 'deep/kept', ...flags)).calls;
  expect(await calls()).toBe(2);
  expect(existsSync(folder.at('deep/kept'))).toBe(true);
  expect(folder.hasStore()).toBe(false);
  expect(await calls()).toBe(0);
  expect(await calls('--fresh', '0')).toBe(1);
  expect(await calls('--fresh-not-found', '0')).toBe(1);
  expect([api.callsOf('acme.com').calls, api.callsOf('bolt.com').calls]).toEqual([2, 2]);
  expect(await calls('--refresh')).toBe(2);
  expect(await calls()).toBe(0);
});
