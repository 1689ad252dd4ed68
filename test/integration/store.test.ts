import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findStored } from '../../src/commands/store.ts';
import { exportStore } from '../../src/commands/store-export.ts';
import { importStore } from '../../src/commands/store-import.ts';
import { openStore } from '../../src/store/store.ts';
import { openApi } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';
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
    expect(stats.stdout).toMatch(/^Store \.brandfill, version 2: \d+ KB on the disk$/m);
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

  it('import never replaces what is newer, and ends at a line that holds no outcome', async () => {
    const { folder } = await openEnriched();
    const [acme = ''] = await exported(folder);
    const older = acme.replace(/"fetched_at":"\d{4}/, '"fetched_at":"1999');
    const newer = acme
      .replace(/"fetched_at":"\d{4}/, '"fetched_at":"2099')
      .replace('"name": "Acme"', '"name": "Newer"');
    folder.write('in.jsonl', `${older}\n\n${newer}\r\n`);
    expect(await inStore(folder, 'import', 'in.jsonl')).toMatchObject({
      code: 0,
      stderr: '1 outcome imported, 1 were already there and at least as new.\n',
    });
    expect((await inStore(folder, 'get', 'acme.com')).stdout).toContain('"name": "Newer"');
    folder.write('wrong.jsonl', `${newer}\n{"domain":"n/a"}\n`);
    const ended = await inStore(folder, 'import', 'wrong.jsonl', '--store', 'nowhere');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toBe(
      "brandfill: Cannot import wrong.jsonl: line 2 is no outcome ('api' is missing or not as exported); give a file that brandfill store export has written.\n",
    );
    const missing = await inStore(folder, 'import', 'missing.jsonl', '--store', 'nowhere');
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toMatch(/Cannot read the outcomes from missing.jsonl/);
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
    await store.close();
    const what = '0 answers, 0 failures, 1 note of logos, whose files stay';
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

  it.each([
    [['stats'], /Cannot open the store \.brandfill: there is none; name its folder with --store\./],
    [['get', 'acme.com'], /there is none/],
    [['delete', 'acme.com'], /there is none/],
    [
      ['export', '--status', 'lost'],
      /Cannot use --status: expected found, not_found, rejected, failed or pending/,
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
