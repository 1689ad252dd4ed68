import { lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { own } from '../../src/store/owner.ts';
import { openStore } from '../../src/store/store.ts';
import { outcomeOf } from '../store/outcomes.ts';
import { start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { watchOwnMemory } from './support/memory.ts';
import { inStore, openEnriched } from './support/stores.ts';

describe('the file of an export', () => {
  it('is written as those of a run: through a link, compressed by name, and leaves nothing half done', async () => {
    const { folder } = await openEnriched();
    mkdirSync(folder.at('real'));
    folder.write('real/old.jsonl', '');
    symlinkSync(folder.at('real/old.jsonl'), folder.at('link.jsonl'));
    expect(await inStore(folder, 'export', '--out', 'link.jsonl')).toMatchObject({ code: 0 });
    expect(folder.read('real/old.jsonl').trimEnd().split('\n')).toHaveLength(3);
    expect(lstatSync(folder.at('link.jsonl')).isSymbolicLink()).toBe(true);

    await inStore(folder, 'export', '--out', 'all.jsonl.gz');
    const unpacked = gunzipSync(readFileSync(folder.at('all.jsonl.gz'))).toString();
    expect(unpacked).toBe(folder.read('real/old.jsonl'));
    const imported = await inStore(folder, 'import', 'all.jsonl.gz', '--store', 'second');
    expect(imported.stderr).toMatch(/^3 outcomes imported/);
    folder.write('torn.jsonl.gz', readFileSync(folder.at('all.jsonl.gz')).subarray(0, 40));
    const torn = await inStore(folder, 'import', 'torn.jsonl.gz', '--store', 'third');
    expect(torn).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^brandfill: Cannot read/),
    });

    const refused = await inStore(folder, 'export', '--out', 'real');
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/real: it is a folder/),
    });
    expect(folder.names().filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('is refused where it cannot be written, and is complete where it is there', async () => {
    const { folder } = await openEnriched();
    const ended = await inStore(folder, 'export', '--out', 'no/such/folder.jsonl');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(
      /Cannot write no\/such\/folder.jsonl: there is no folder no\/such; make it first\./,
    );
    folder.write('mine.jsonl', 'mine');
    const refused = await inStore(folder, 'export', '--out', 'mine.jsonl', '--store', 'nowhere');
    expect(refused.code).toBe(2);
    expect(readFileSync(folder.at('mine.jsonl'), 'utf8')).toBe('mine');
    expect(folder.names().some((name) => name.endsWith('.part'))).toBe(false);
  });

  it('is not said to be complete when whoever read standard output has closed it', async () => {
    const { folder } = await openEnriched();
    const exporting = await start(['store', 'export'], { cwd: folder.path });
    exporting.process.stdout?.destroy();
    expect(await exporting.ended).toMatchObject({
      code: 0,
      stderr:
        'Not all of 3 outcomes exported: whoever read standard output closed it before the end.\n',
    });
  });

  it('is left as it was by a Ctrl-C, and nothing stays beside it', async () => {
    const { folder } = await openEnriched();
    folder.write('all.jsonl', 'mine');
    const isPart = (name: string): boolean => name.endsWith('.part');
    const owner = await own(folder.at('.brandfill'));
    // It has its file, and waits a moment for the store.
    const exporting = await start(['store', 'export', '--out', 'all.jsonl'], { cwd: folder.path });
    await vi.waitUntil(() => folder.names().some(isPart), { timeout: 60_000 });
    exporting.process.kill('SIGINT');
    const { code } = await exporting.ended;
    await owner.release();
    expect(code).toBe(130);
    expect(folder.read('all.jsonl')).toBe('mine');
    expect(folder.names().filter(isPart)).toEqual([]);
  });

  it('of answers of megabytes is written, and read, a few at a time', async () => {
    const folder = openFolder();
    const store = await openStore(folder.at('.brandfill'), 'endpoint');
    const json = `{"about":"${'x'.repeat(1024 * 1024)}"}`;
    for (let number = 0; number < 150; number += 1) {
      await store.put(outcomeOf(`${number}.com`, { json }));
    }
    await store.close();
    for (const args of [
      ['export', '--out', 'all.jsonl'],
      ['import', 'all.jsonl', '--store', 'second'],
      ['prune', '--older-than', '1d', '--store', 'second'],
    ]) {
      const running = await start(['store', ...args], { cwd: folder.path, stdin: '' });
      const peakBytes = watchOwnMemory(running.process);
      expect(await running.ended).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('150'),
      });
      expect(peakBytes(), args.join(' ')).toBeLessThan(300 * 1024 * 1024);
    }
  });
});
