import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { builtCommand } from './support/build.ts';
import { type Ended, enrichHere, runHere } from './support/command.ts';
import { domains, type Folder, listOf, openList } from './support/folder.ts';
import { expectRefusal, expectUntouched } from './support/refusals.ts';
import { openSmallDisk } from './support/small-disk.ts';

const api = await startSandbox();
afterAll(() => api.close());

describe('an output that cannot be used', () => {
  const LIST = listOf(domains(3));

  it('is the database of a store, also through a link', async () => {
    const folder = openList(LIST);
    const enrich = ['enrich', 'list.csv', '--base-url', api.url];
    await runHere(enrich, { cwd: folder.path });
    const stored = folder.read('.brandfill/brandfill-store/data.mdb');
    symlinkSync('.brandfill/brandfill-store/data.mdb', folder.at('link.csv'));
    const bad = [
      [...enrich, '--out', '.brandfill/brandfill-store/data.mdb'],
      [...enrich, '--failures', 'link.csv'],
      [...enrich, '--out', '.brandfill/brandfill-store/lock.mdb'],
    ];
    for (const args of bad) {
      expectRefusal(await runHere(args, { cwd: folder.path }), /a store's database/);
    }
    expect(folder.read('.brandfill/brandfill-store/data.mdb')).toBe(stored);
  });

  it('is the input, when that comes from standard input', async () => {
    const folder = openList(LIST);
    const ended = await runShell(folder, '"$@" enrich - --out list.csv --retries 0 < list.csv');
    expectRefusal(ended, /it is the input itself/);
    expect(folder.read('list.csv')).toBe(LIST);
  });

  it.each(['--out', '--failures', '--changes'])(
    'is the input, by way of a folder that is not there: %s',
    async (flag) => {
      const folder = openList(LIST);
      const ended = await enrichHere(folder, api.url, flag, 'none/../list.csv');
      expectRefusal(ended, /none\/\.\.\/list\.csv: there is no folder/);
      expect(folder.read('list.csv')).toBe(LIST);
    },
  );

  it('is in a folder that is not there or takes no files, or is a folder', async () => {
    const folder = openList(LIST);
    mkdirSync(folder.at('folder.csv'));
    const enrich = (...flags: readonly string[]) => enrichHere(folder, api.url, ...flags);
    const calls = api.stats().calls;
    expectRefusal(
      await enrich('--out', 'none/out.csv'),
      /none\/out\.csv.*no folder none; make it first/,
    );
    expectRefusal(await enrich('--out', 'folder.csv'), /folder\.csv.*folder/);
    expectRefusal(await enrich('--out', '/proc/out.csv'), /\/proc\/out\.csv/);
    expect(folder.names()).toEqual(['folder.csv', 'list.csv']);
    expect(api.stats().calls).toBe(calls);
  });

  it.each([
    ['--out', 3_000],
    ['--failures', 3],
  ])('is on a full device: %s, %d rows', async (flag, count) => {
    const folder = openList(count);
    folder.write('list.enriched.csv', 'earlier');
    folder.write('list.failures.csv', 'earlier');
    const ended = await enrichHere(folder, api.url, flag, '/dev/full');
    expectRefusal(ended, /\/dev\/full: the disk is full/);
    expectUntouched(folder, ['list.csv', 'list.enriched.csv', 'list.failures.csv']);
  });

  it('is what a store has, exported to a full device', async () => {
    const folder = openList(3);
    await enrichHere(folder, api.url);
    const ended = await runShell(folder, '"$@" store export > /dev/full');
    expectRefusal(ended, /Cannot write to standard output: the disk is full/);
  });

  it('is found on a full disk when the last bytes are written, with both files still as they were', async () => {
    const disk = openSmallDisk(64 * 1024);
    if (!disk) return console.log('Left out: a full disk, because no small disk can be mounted.');
    const folder = openList(100);
    folder.write('f.csv', 'earlier');
    disk.write('o.csv.gz', 'earlier');
    disk.write('filling', Buffer.alloc(60 * 1024));
    const flags = ['--out', disk.at('o.csv.gz'), '--failures', 'f.csv'];
    const ended = await enrichHere(folder, api.url, ...flags);
    expectRefusal(ended, /the disk is full/);
    expect(folder.read('f.csv')).toBe('earlier');
    expect(disk.read('o.csv.gz')).toBe('earlier');
  });
});

/** Runs a line of shell in which `"$@"` is the command, for what only a shell sets up. */
async function runShell(folder: Folder, line: string): Promise<Ended> {
  const shell = spawnSync('sh', ['-c', line, 'sh', process.execPath, builtCommand()], {
    cwd: folder.path,
    env: { ...process.env, BRANDFILL_BASE_URL: 'http://127.0.0.1:9' },
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { code: shell.status, signal: shell.signal, stdout: shell.stdout, stderr: shell.stderr };
}
