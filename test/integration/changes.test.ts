import { rmSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { runJob } from '../../src/cli/commands/run.ts';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { enrichHere, startEnrich } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder, openList, rowsOf } from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

async function openNights() {
  const folder = openFolder();
  /** What the API says from now on. */
  const says: Record<string, SandboxReply> = {};
  const api = await openApi({ respond: (domain) => says[domain] ?? { body: { name: 'A' } } });
  return {
    folder,
    api,
    says,
    /** Enriches the list once more, asking all again, and gives what the changes file tells. */
    run: async (list: string, more: object = {}) => {
      folder.write('list.csv', list);
      const changes = folder.at('changes.csv');
      const options = { baseUrl: api.url, changes, refresh: true, retries: 0, maxFailed: '100%' };
      const { summary } = await enrichIn(folder, { input: 'list.csv', ...options, ...more });
      const rows = rowsOf(folder.read('changes.csv'));
      expect(summary.changes).toMatchObject({
        file: changes,
        new: rows.filter((row) => row['brand_change'] === 'new').length,
        changed: rows.filter((row) => row['brand_change'] === 'changed').length,
      });
      return rows;
    },
  };
}

const told = (rows: Record<string, string>[]): unknown[] =>
  rows.map((row) => [row['id'], row['brand_change'], row['brand_changed']]);

const LIST = 'id,domain\n1,a.com\n2,b.com\n';

describe('a changes file', () => {
  it('tells everything once, then what has changed, then nothing', async () => {
    const nights = await openNights();
    expect(told(await nights.run(LIST))).toEqual([
      ['1', 'new', ''],
      ['2', 'new', ''],
    ]);
    const [header] = nights.folder.read('list.enriched.csv').split('\n');
    expect(nights.folder.read('changes.csv').split('\n')[0]).toBe(
      `${header},brand_change,brand_changed`,
    );
    nights.says['b.com'] = { body: { name: 'B', city: '=Oslo' } };
    expect(await nights.run(LIST)).toEqual([
      {
        id: '2',
        domain: 'b.com',
        brand_domain: 'b.com',
        brand_status: 'found',
        brand_fetched_at: '<time>',
        brand_name: 'B',
        brand_city: "'=Oslo",
        brand_change: 'changed',
        brand_changed: 'brand_name;brand_city',
      },
    ]);
    expect(await nights.run(LIST)).toEqual([]);
    expect(nights.folder.read('changes.csv')).toMatch(/^id,domain,.*,brand_changed\n$/);
  });

  it('of a job file goes on from night to night, whatever the date makes of its path', async () => {
    const { folder } = await openNights();
    const { url } = await openApi();
    folder.write('list.csv', LIST);
    const file = folder.write(
      'night.yaml',
      `input: list.csv\nbaseUrl: ${url}\nchanges: changes-{date}.csv\n`,
    );
    for (const [day, rows] of [
      ['01', 2],
      ['02', 0],
    ] as const) {
      const now = (): Date => new Date(`2026-11-${day}T12:00:00`);
      await runJob(file, { now });
      expect(rowsOf(folder.read(`changes-2026-11-${day}.csv`))).toHaveLength(rows);
    }
  });

  it('is about all rows again after a night with some of them', async () => {
    const { run } = await openNights();
    await run(LIST);
    expect(await run(LIST, { where: 'id=1' })).toEqual([]);
    expect(await run(LIST)).toEqual([]);
  });

  it('tells again what a killed run had to tell, and all of it without its store', async () => {
    const { folder, says, run, api } = await openNights();
    await run(LIST);
    says['b.com'] = { body: { name: 'B' } };
    says['c.com'] = 'hang';
    folder.write('list.csv', `${LIST}3,c.com\n`);
    const killed = await startEnrich(folder, api.url, '--changes', 'changes.csv', '--refresh');
    await vi.waitFor(() => expect(api.stats().calls).toBe(5), 20_000);
    await killed.stop('SIGKILL');
    delete says['c.com'];
    expect(told(await run(`${LIST}3,c.com\n`))).toEqual([
      ['2', 'changed', 'brand_name'],
      ['3', 'new', ''],
    ]);
    rmSync(folder.at('changes.csv'));
    expect(await run(`${LIST}3,c.com\n`)).toEqual([]);
    rmSync(folder.at('.brandfill'), { recursive: true });
    expect(await run(LIST)).toHaveLength(2);
  });
});

it.each([
  [['--changes', '-'], /Cannot use --changes: expected a file/],
  [
    ['--changes', 'c.csv', '--key', 'uid'],
    /Cannot find the column 'uid' in list\.csv: there are: id, domain\.$/,
  ],
  [['--changes', 'list.csv'], /Cannot write .*list\.csv: it is the input itself/],
])('%s is refused before any call', async (flags, expected) => {
  const folder = openList(LIST);
  const api = await openApi();
  const ended = await enrichHere(folder, api.url, ...flags);
  expectRefusal(ended, expected);
  expect(folder.names()).toEqual(['list.csv']);
  expect(api.stats().calls).toBe(0);
});
