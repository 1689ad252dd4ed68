import { rmSync, statfsSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openApi } from './support/api.ts';
import { enrichHere, run, startEnrich } from './support/command.ts';
import { domains, type Folder, openList } from './support/folder.ts';
import { expectUntouched } from './support/refusals.ts';
import { openSmallDisk } from './support/small-disk.ts';
import { inStore } from './support/stores.ts';

const api = await startSandbox();
afterAll(() => api.close());

describe('a store that cannot be used', () => {
  const respond = (domain: string) => ({ body: { name: domain, text: 'x'.repeat(20_000) } });

  it('is removed in the middle of a run', async () => {
    const folder = openList(300);
    const slow = await openApi({ latencyMs: 30 });
    const flags = ['--store', 'kept', '--concurrency', '4'];
    const running = await startEnrich(folder, slow.url, ...flags);
    await expect.poll(() => slow.stats().calls).toBeGreaterThan(20);
    rmSync(folder.at('kept'), { recursive: true, maxRetries: 5 }); // the run goes on writing
    const ended = await running.ended;
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(
      /Cannot write to the store kept: .*What was stored is gone with it.*outputs alone/,
    );
    const rows = folder.read('list.enriched.csv').trim().split('\n');
    expect(rows.filter((row) => row.includes(',found,'))).toHaveLength(slow.stats().calls);
  });

  it('may not be larger: the reason is told in words', async () => {
    const folder = openList(200);
    const large = await openApi({ respond });
    const flags = ['--store', 'kept', '--fields', 'one=text,two=text'];
    const args = ['enrich', 'list.csv', '--base-url', large.url, ...flags];
    const ended = await run(args, { cwd: folder.path, ulimit: '-f 1000' });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(
      /Cannot write to the store kept: [^.]*ulimit -f[^.]*\. What was stored is kept/,
    );
    // The output is larger, so it has the same trouble.
    expect(ended.stderr).toMatch(/\nbrandfill: Cannot write list\.enriched\.csv: .*ulimit -f/);
    expectUntouched(folder, ['kept', 'list.csv']);
  });

  it('is on a disk that fills up: what came by then goes to the outputs, and the run stops', async () => {
    const disk = openSmallDisk(6 * 1024 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openList(1_000);
    const large = await openApi({ respond });
    const args = ['enrich', 'list.csv', '--base-url', large.url, '--store', disk.at('store')];
    const ended = await run([...args, '--concurrency', '8'], { cwd: folder.path });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(
      /Cannot write to the store \S+: the disk is full\. .*The answers that came since then go to the outputs alone\. No further call is made/,
    );
    const { calls } = large.stats();
    expect(calls).toBeGreaterThan(50);
    expect(calls).toBeLessThan(1_000);
    const rows = folder.read('list.enriched.csv').trim().split('\n').slice(1);
    expect(rows).toHaveLength(1_000);
    expect(rows.filter((row) => row.includes(',found,'))).toHaveLength(calls);
  });

  it('is on a full disk: what it holds can be looked at and taken elsewhere', async () => {
    const disk = openSmallDisk(8 * 1024 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openList(3);
    const store = ['--store', disk.at('store')];
    expect((await enrichHere(folder, api.url, ...store)).code).toBe(0);
    fill(disk);
    const look = (...args: readonly string[]) => inStore(folder, ...args, ...store);
    expect((await look('stats')).stdout).toContain('3 found');
    expect(await look('get', domains(1)[0] ?? '')).toMatchObject({ code: 0 });
    const kept = await look('export');
    expect(kept.stdout.trim().split('\n')).toHaveLength(3);
    folder.write('kept.jsonl', kept.stdout);
    expect(await look('import', 'kept.jsonl')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/: the disk is full; make room, or choose another folder/),
    });
  });
});

/** Takes all the room that a disk has left. */
function fill(disk: Folder): void {
  const { bavail, bsize } = statfsSync(disk.path);
  disk.write('filling', Buffer.alloc(bavail * bsize));
  expect(statfsSync(disk.path).bavail).toBe(0);
}
