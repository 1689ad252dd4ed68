import { existsSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { exportStore, findStored, pruneStore } from '../../src/commands/store.ts';
import { importStore } from '../../src/commands/store-import.ts';
import { openStore } from '../../src/store/store.ts';
import { openApi } from './support/api.ts';
import { run, start, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { inStore, openEnriched } from './support/stores.ts';

const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** The lines that an export would have; made in this process, for tests of something else. */
async function exported(folder: Folder, status?: 'found'): Promise<string[]> {
  const lines: string[] = [];
  const store = folder.at('.brandfill');
  await exportStore({ store, ...(status ? { status } : {}) }, async (batch) => {
    lines.push(...batch);
  });
  return lines;
}

describe('brandfill store', () => {
  it('stats says what is in it; the summary of a run says how large it is', async () => {
    const { folder, api } = await openEnriched();
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json'];
    const ended = await run([...args, '--retries', '0'], { cwd: folder.path });
    const { sizeBytes } = summaryOf(ended).store;
    expect(summaryOf(ended).store.folder).toBe('.brandfill');
    expect(sizeBytes).toBe(statSync(folder.at('.brandfill/data.mdb')).blocks * 512);
    expect(ended.stderr).toMatch(/^ {2}store {5}\.brandfill \(\d+ KB\)$/m);
    const stats = await inStore(folder, 'stats');
    expect(stats).toMatchObject({ code: 0, stderr: '' });
    expect(stats.stdout).toMatch(/^Store \.brandfill, version 1: \d+ KB on the disk$/m);
    expect(stats.stdout).toMatch(/^3 domains: 1 found, 1 not found, 1 failed$/m);
    expect(stats.stdout).toContain(`  ${api.url} (`);
    expect(stats.stdout).toMatch(/^ {2}less than a day ago +3$/m);
    const json = await inStore(folder, 'stats', '--json', '--base-url', 'https://other.example');
    expect(JSON.parse(json.stdout)).toMatchObject({ statuses: { found: 0 }, apis: [] });
  });

  it('get has the outcome of what a cell may hold, with the answer as it came', async () => {
    const { folder } = await openEnriched();
    const got = await inStore(folder, 'get', 'HTTPS://www.Acme.com/about?x=1');
    expect(got.code).toBe(0);
    expect(got.stdout).toContain('"answer":{"id": 12345678901234567890,  "name": "Acme"}}');
    expect(linesOf(got.stdout)).toMatchObject([
      { domain: 'acme.com', status: 'found', http_status: 200, answer: { name: 'Acme' } },
    ]);
    const failed = await inStore(folder, 'get', 'crow.com');
    expect(linesOf(failed.stdout)).toMatchObject([{ status: 'failed', reason: 'http_500' }]);
    expect(await inStore(folder, 'get', 'unknown.com')).toEqual({
      code: 3,
      signal: null,
      stdout: '',
      stderr: 'There is no outcome of unknown.com in the store.\n',
    });
    const invalid = await inStore(folder, 'get', 'n/a');
    expect(invalid).toMatchObject({ code: 2, stdout: '' });
    expect(invalid.stderr).toMatch(/Cannot look for 'n\/a': there is no domain in it/);
  });

  it('export and import carry all to another store, where nothing is asked again', async () => {
    const { folder, api, settings } = await openEnriched();
    const out = await inStore(folder, 'export', '--out', 'kept.jsonl');
    expect(out).toMatchObject({ code: 0, stdout: '', stderr: '3 outcomes exported.\n' });
    const piped = await inStore(folder, 'export');
    expect(piped.stdout).toBe(folder.read('kept.jsonl'));
    const found = await inStore(folder, 'export', '--status', 'found');
    expect(linesOf(found.stdout).map(({ domain }) => domain)).toEqual(['acme.com']);
    const enriched = folder.read('list.enriched.csv');

    const into = ['import', 'kept.jsonl', '--store', 'second'];
    expect((await inStore(folder, ...into)).stderr).toBe(
      '3 outcomes imported, 0 were already there and at least as new.\n',
    );
    expect((await inStore(folder, ...into)).stderr).toBe(
      '0 outcomes imported, 3 were already there and at least as new.\n',
    );
    const { calls } = api.stats();
    await enrichIn(folder, { ...settings, store: 'second' });
    expect(api.stats().calls).toBe(calls + 1); // what had failed
    expect(folder.read('list.enriched.csv')).toBe(enriched);
    const again = await inStore(folder, 'export', '--store', 'second', '--status', 'found');
    expect(again.stdout).toBe(found.stdout);
  });

  it('import never replaces what is newer, and says which lines hold no outcome', async () => {
    const { folder } = await openEnriched();
    const [acme = ''] = await exported(folder);
    const older = acme.replace(/"fetched_at":"\d{4}/, '"fetched_at":"1999');
    const newer = acme
      .replace(/"fetched_at":"\d{4}/, '"fetched_at":"2099')
      .replace('"name": "Acme"', '"name": "Newer"');
    folder.write('in.jsonl', `${older}\n\nnonsense\n{"domain":"n/a"}\r\n${newer}\n{"api":`);
    const ended = await inStore(folder, 'import', 'in.jsonl');
    expect(ended.code).toBe(3);
    expect(ended.stderr).toBe(
      'Line 3 was left out: it is no JSON object.\n' +
        "Line 4 was left out: 'status' is missing or not as expected.\n" +
        'Line 6 was left out: it is no JSON object.\n' +
        '1 outcome imported, 1 were already there and at least as new.\n',
    );
    expect((await inStore(folder, 'get', 'acme.com')).stdout).toContain('"name": "Newer"');
    const missing = await inStore(folder, 'import', 'missing.jsonl', '--store', 'nowhere');
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toMatch(/Cannot read the outcomes from missing.jsonl/);
    expect(existsSync(folder.at('nowhere'))).toBe(false);
  });

  it('import takes a file that begins with a byte order mark', async () => {
    const { folder } = await openEnriched();
    folder.write('in.jsonl', `\uFEFF${(await exported(folder)).join('\r\n')}`);
    const ended = await inStore(folder, 'import', 'in.jsonl', '--store', 'second');
    expect(ended.stderr).toBe('3 outcomes imported, 0 were already there and at least as new.\n');
  });

  it('import tells of twenty lines that hold no outcome, and counts the others', async () => {
    const { folder } = await openEnriched();
    const [acme = ''] = await exported(folder);
    folder.write('in.jsonl', `${'nonsense\n'.repeat(99)}${acme}\n${'nonsense\n'.repeat(51)}`);
    const { code, stderr } = await inStore(folder, 'import', 'in.jsonl');
    expect(code).toBe(3);
    expect(stderr.split('\n').slice(19)).toEqual([
      'Line 20 was left out: it is no JSON object.',
      '130 more lines left out.',
      '0 outcomes imported, 1 were already there and at least as new.',
      '',
    ]);
  });

  it('import ends at once where none of the first hundred lines is an outcome, or of fewer', async () => {
    const { folder } = await openEnriched();
    const outcomes = (await exported(folder)).join('\n');
    folder.write('list.csv', `domain\n\n${'acme.com\n'.repeat(99)}${outcomes}`);
    const ended = await inStore(folder, 'import', 'list.csv', '--store', 'nowhere');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toBe(
      'brandfill: Cannot import list.csv: none of its first 100 lines is an outcome (the first: it is no JSON object); give a file that brandfill store export has written.\n',
    );
    folder.write('short.csv', 'domain\nacme.com\n');
    const short = await inStore(folder, 'import', 'short.csv', '--store', 'nowhere');
    expect(short).toMatchObject({ code: 2, stdout: '' });
    expect(short.stderr).toMatch(/^brandfill: Cannot import short\.csv: none of its lines is an/);
    expect(existsSync(folder.at('nowhere'))).toBe(false);
  });

  it('import with --base-url puts all in for that API, as when it has moved', async () => {
    const { folder, settings } = await openEnriched();
    folder.write('kept.jsonl', (await exported(folder, 'found')).join('\n'));
    const moved = await openApi();
    await inStore(folder, 'import', 'kept.jsonl', '--base-url', moved.url);
    await enrichIn(folder, { ...settings, baseUrl: moved.url });
    expect(moved.callsOf('acme.com').calls).toBe(0);
    expect(moved.callsOf('bolt.com').calls).toBe(1);
    const both = await inStore(folder, 'get', 'acme.com');
    expect(linesOf(both.stdout)).toHaveLength(2);
    const one = await inStore(folder, 'get', 'acme.com', '--base-url', moved.url);
    expect(linesOf(one.stdout)).toHaveLength(1);
  });

  it('prune removes what is old, and asks for an age', async () => {
    const { folder } = await openEnriched();
    const [line = ''] = await exported(folder);
    const old = line
      .replaceAll('acme.com', 'old.com')
      .replace(/"fetched_at":"\d{4}/, '"fetched_at":"1999');
    const store = folder.at('.brandfill');
    await importStore({ store, input: folder.write('old.jsonl', old) });
    const has = async (domain: string): Promise<boolean> =>
      (await findStored({ store, domain })).length > 0;
    const dry = await inStore(folder, 'prune', '--older-than', '180d', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: '' });
    expect(dry.stderr).toMatch(/^To be removed: 1 answer, 0 failures\.$/m);
    expect(await has('old.com')).toBe(true);
    const done = await inStore(folder, 'prune', '--older-than', '180d');
    expect(done.stderr).toMatch(/^Removed: 1 answer, 0 failures\. Their space is reused/m);
    expect(await has('old.com')).toBe(false);
    expect(await has('acme.com')).toBe(true);
    const ageless = await inStore(folder, 'prune');
    expect(ageless).toMatchObject({ code: 2, stdout: '' });
    expect(ageless.stderr).toMatch(/Cannot prune without an age: give --older-than/);
  });

  it('prune tells of what is known of logos, which goes along', async () => {
    const { folder } = await openEnriched();
    const store = await openStore(folder.at('.brandfill'), 'an-api');
    const saved = { file: 'gone.png', sizeBytes: 70, mark: 'a' };
    await store.logos.put('gone.com', { saved, atMs: Date.now() });
    await store.leftOvers.add(['later.com'], 0);
    await store.close();
    const what =
      '0 answers, 0 failures, 1 note of domains left over, 1 note of logos, whose files stay';
    const dry = await inStore(folder, 'prune', '--older-than', '180d', '--dry-run');
    expect(dry.stderr).toBe(`To be removed: ${what}.\n`);
    const done = await inStore(folder, 'prune', '--older-than', '180d');
    expect(done.stderr).toContain(`Removed: ${what}. Their space`);
  });

  it('delete removes all that is stored of domains, and says of which there is nothing', async () => {
    const { folder } = await openEnriched();
    const cell = 'HTTPS://www.Acme.com/about?x=1';
    const dry = await inStore(folder, 'delete', cell, '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'To be removed: 1 answer, 0 failures.\n',
    });
    expect(await exported(folder)).toHaveLength(3);
    const done = await inStore(folder, 'delete', 'crow.com', cell, 'unknown.com');
    expect(done).toMatchObject({ code: 3, stdout: '' });
    expect(done.stderr).toMatch(
      /^There is nothing of unknown\.com in the store\.\nRemoved: 1 answer, 1 failure\. Their space/,
    );
    expect(await exported(folder)).toHaveLength(1);
    const invalid = await inStore(folder, 'delete', 'bolt.com', 'n/a');
    expect(invalid).toMatchObject({ code: 2, stdout: '' });
    expect(await exported(folder)).toHaveLength(1);
  });

  it('works while a run uses the store', async () => {
    const folder = openList(400);
    const api = await openApi({ latencyMs: 10 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '4', '--json'];
    const running = await start(args, { cwd: folder.path });
    while (api.stats().calls < 40) await delay(2);
    folder.write('in.jsonl', '');
    const actions = [['stats', '--json'], ['export'], ['prune', '--older-than', '1d']];
    const during = await Promise.all(
      [...actions, ['import', 'in.jsonl']].map((args) =>
        run(['store', ...args], { cwd: folder.path }),
      ),
    );
    expect(during.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(linesOf(during[1]?.stdout ?? '').length).toBeGreaterThan(0);
    const ended = await running.ended;
    expect(ended.code).toBe(0);
    expect(summaryOf(ended).statuses.found).toBe(400);
    expect(api.stats().domains.repeated).toBe(0);
    const all = await inStore(folder, 'export', '--out', 'all.jsonl');
    expect(all.stderr).toBe('400 outcomes exported.\n');
  });

  it('prune of what a run counts on is told by that run, which does not end as if nothing were', async () => {
    const folder = openList(40);
    const api = await openApi({ latencyMs: 100 });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--concurrency', '1'];
    const running = await start([...args, '--report', 'run.json'], { cwd: folder.path });
    while (api.stats().calls < 10) await delay(2);
    const pruned = await pruneStore({ store: folder.at('.brandfill'), olderThan: '1ms' });
    expect(pruned.answers).toBeGreaterThan(0);
    const { code, stderr } = await running.ended;
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^\d+ rows were skipped: their outcomes were removed from the store while the run went on\. Run the same command again\.$/m,
    );
    expect(folder.read('list.failures.csv')).toMatch(/,skipped,pruned,,0\n/);
    const report = JSON.parse(folder.read('run.json')) as object;
    expect(report).toMatchObject({
      run: { end: 'some_failed', headline: expect.stringMatching(/, \d+ rows skipped\.$/) },
      reasons: [
        { reason: 'pruned', advice: expect.stringContaining('were removed from the store') },
      ],
    });
  });

  it.each([
    [['stats'], /Cannot open the store \.brandfill: there is none; name its folder with --store\./],
    [['get', 'acme.com'], /there is none/],
    [['delete', 'acme.com'], /there is none/],
    [
      ['export', '--status', 'lost'],
      /Cannot use --status: expected found, not_found, rejected or failed/,
    ],
    [['prune', '--older-than', 'long'], /Cannot use --older-than: expected a duration/],
    [['stats', '--param', 'a=b'], /Cannot use --param alone/],
    [['stats', '--base-url', 'nowhere'], /Cannot use --base-url: expected a URL/],
  ] as const)('%j is refused where it cannot be done, and leaves nothing', async (args, why) => {
    const folder = openFolder();
    const ended = await inStore(folder, ...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(why);
    expect(ended.stderr.split('\n')).toHaveLength(2);
    expect(folder.hasStore()).toBe(false);
  });
});
