import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openStore, outcomeOf } from '../store/outcomes.ts';
import { enrichHere, start, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { objectsOf, openFolder } from './support/folder.ts';
import { watchOwnMemory } from './support/memory.ts';
import { inStore, openEnriched } from './support/stores.ts';

describe('brandfill store', () => {
  it('stats says what is in it; the summary of a run says how large it is', async () => {
    const { folder, api } = await openEnriched();
    const ended = await enrichHere(folder, api.url, '--json', '--retries', '0');
    const sizeBytes = statSync(folder.at('.brandfill/brandfill-store/data.mdb')).blocks * 512;
    expect(summaryOf(ended).store).toEqual({ folder: '.brandfill', sizeBytes });
    expect(ended.stderr).toMatch(/^ {2}store {5}\.brandfill \(\d+ KB\)$/m);
    const stats = await inStore(folder, 'stats');
    expect(stats).toMatchObject({ code: 0, stderr: '' });
    expect(stats.stdout).toMatch(/^Store \.brandfill, version 2: \d+ KB on the disk$/m);
    expect(stats.stdout).toContain(`${api.url} (`);
    expect(stats.stdout).toMatch(/^ {2}3 domains: 1 found, 1 not found, 1 failed$/m);
    const json = await inStore(folder, 'stats', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ version: 2, apis: [{ name: api.url }] });
  });

  it('get has the outcome of what a cell may hold, with the answer as it came', async () => {
    const { folder } = await openEnriched();
    const got = await inStore(folder, 'get', 'HTTPS://www.Acme.com/about?x=1');
    expect(got.code).toBe(0);
    expect(got.stdout).toContain('"answer":{"id": 12345678901234567890,  "name": "Acme"}}');
    expect(objectsOf(got.stdout)).toMatchObject([
      { domain: 'acme.com', status: 'found', http_status: 200, answer: { name: 'Acme' } },
    ]);
    expect(await inStore(folder, 'get', 'unknown.com')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'There is no outcome of unknown.com in the store.\n',
    });
    const invalid = await inStore(folder, 'get', 'n/a');
    expect(invalid).toMatchObject({ code: 2, stdout: '' });
    expect(invalid.stderr).toMatch(/Cannot look for 'n\/a': there is no domain in it/);
  });

  it('export and import carry all to another store, where nothing is asked again', async () => {
    const { folder, api, settings } = await openEnriched();
    const out = await inStore(folder, 'export');
    expect(out).toMatchObject({ code: 0, stderr: '3 outcomes exported.\n' });
    folder.write('kept.jsonl', out.stdout);
    const enriched = folder.read('list.enriched.csv');
    const into = ['import', 'kept.jsonl', '--store', 'second'];
    for (const [imported, kept] of [
      [3, 0],
      [0, 3],
    ]) {
      expect((await inStore(folder, ...into)).stderr).toBe(
        `${imported} outcomes imported, ${kept} were already there and at least as new.\n`,
      );
    }
    const { calls } = api.stats();
    await enrichIn(folder, { ...settings, store: 'second' });
    expect(api.stats().calls).toBe(calls + 1); // what had failed
    expect(folder.read('list.enriched.csv')).toBe(enriched);
  });

  it('import ends at a line that holds no outcome, and makes no store of what is none', async () => {
    const { folder } = await openEnriched();
    const [line = ''] = (await inStore(folder, 'export')).stdout.split('\n');
    folder.write('wrong.jsonl', `${line}\r\n\n{"domain":"n/a"}\n`);
    const ended = await inStore(folder, 'import', 'wrong.jsonl', '--store', 'nowhere');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toBe(
      "brandfill: Cannot import wrong.jsonl: line 3 is no outcome ('api' is missing or not as exported); give a file that brandfill store export has written.\n",
    );
    const missing = await inStore(folder, 'import', 'missing.jsonl', '--store', 'nowhere');
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toMatch(/Cannot read the outcomes from missing.jsonl: there is no such/);
    expect(folder.names()).not.toContain('nowhere');
  });

  it('prune removes what is old, and delete what is stored of domains; both say how much', async () => {
    const { folder } = await openEnriched();
    const store = await openStore(folder.at('.brandfill'), 'an-api');
    await store.put(outcomeOf('old.com', { fetchedAtMs: 1_000 }));
    const saved = { file: 'old.png', sizeBytes: 70, mark: 'a' };
    await store.logos.put('old.com', { saved, atMs: 1_000 });
    await store.close();
    const reuse = 'Their space is reused for new outcomes; the file does not shrink.';
    const old = '1 answer, 0 failures, 1 note of logos, whose files stay.';
    for (const [args, code, stderr] of [
      [['prune', '--older-than', '180d'], 0, `Removed: ${old} ${reuse}\n`],
      [
        ['delete', 'crow.com', 'HTTPS://Acme.com/x', 'unknown.com'],
        3,
        `There is nothing of unknown.com in the store.\nRemoved: 1 answer, 1 failure. ${reuse}\n`,
      ],
    ] as const) {
      expect(await inStore(folder, ...args)).toMatchObject({ code, stdout: '', stderr });
    }
    expect((await inStore(folder, 'delete', 'bolt.com', 'n/a')).code).toBe(2);
    const left = objectsOf((await inStore(folder, 'export')).stdout);
    expect(left).toMatchObject([{ domain: 'bolt.com' }]);
  });

  it.each([
    [['stats'], /Cannot open the store \.brandfill: there is none; name its folder with --store\./],
    [['delete', 'acme.com'], /there is none/],
    [['prune', '--older-than', 'long'], /Cannot use --older-than: expected a duration/],
  ] as const)('%j is refused where it cannot be done, and leaves nothing', async (args, why) => {
    const folder = openFolder();
    const ended = await inStore(folder, ...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(why);
    expect(ended.stderr.split('\n')).toHaveLength(2);
    expect(folder.hasStore()).toBe(false);
  });

  it('export does not say that all was exported when its reader has closed standard output', async () => {
    const { folder } = await openEnriched();
    const exporting = await start(['store', 'export'], { cwd: folder.path });
    exporting.process.stdout?.destroy();
    expect(await exporting.ended).toMatchObject({
      code: 0,
      stderr: 'Not all outcomes were exported: standard output was closed before the end.\n',
    });
  });

  it('export and import take answers of megabytes a few at a time', async () => {
    const folder = openFolder();
    const store = await openStore(folder.at('.brandfill'), 'endpoint');
    const json = `{"about":"${'x'.repeat(1024 * 1024)}"}`;
    for (let number = 0; number < 60; number += 1)
      await store.put(outcomeOf(`${number}.com`, { json }));
    await store.close();
    const exporting = await start(['store', 'export'], { cwd: folder.path });
    const into = ['store', 'import', '-', '--store', 'second'];
    const importing = await start(into, { cwd: folder.path });
    exporting.process.stdout?.pipe(importing.process.stdin as NodeJS.WritableStream);
    const peaks = [exporting, importing].map(({ process }) => watchOwnMemory(process));
    expect((await exporting.ended).stderr).toBe('60 outcomes exported.\n');
    expect((await importing.ended).stderr).toMatch(/^60 outcomes imported/);
    for (const peak of peaks) expect(peak()).toBeLessThan(200 * 1024 * 1024);
  });
});
