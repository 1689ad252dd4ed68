import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLeftovers, makeFolder, temporaryPath } from '../../src/common/files.ts';
import { describeSelf, type Owner } from '../../src/common/owner.ts';
import { useTempFolder } from '../support/temp-folder.ts';

describe('makeFolder', () => {
  it('makes those it lies in, too, and leaves what is there', () => {
    const folder = useTempFolder();
    for (const path of ['a/b/c', 'a/b/c', 'a/b/d/']) makeFolder(join(folder, path));
    for (const path of ['a/b/c', 'a/b/d']) {
      expect(statSync(join(folder, path)).isDirectory(), path).toBe(true);
    }
  });

  it('takes a link to a folder for one', () => {
    const folder = useTempFolder();
    mkdirSync(join(folder, 'there'));
    symlinkSync(join(folder, 'there'), join(folder, 'link'));
    makeFolder(join(folder, 'link'));
    makeFolder(join(folder, 'link', 'new'));
    expect(existsSync(join(folder, 'there', 'new'))).toBe(true);
  });

  it('says when a file is in the way', () => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST');
    expect(() => makeFolder(join(folder, 'file', 'a', 'b'))).toThrow('ENOTDIR');
  });

  // In a process of its own: it would never come back.
  it.skipIf(!existsSync('/proc/self'))('ends where no folder can be made', () => {
    const module = new URL('../../src/common/files.ts', import.meta.url);
    const code = `import(${JSON.stringify(module.href)}).then((m) => m.makeFolder('/proc/x/y'))`;
    const args = ['--import', 'tsx', '-e', code];
    const { error, stderr } = spawnSync(process.execPath, args, {
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    expect(error).toBeUndefined();
    expect(String(stderr)).toContain("ENOENT: no such file or directory, mkdir '/proc/x'");
  });
});

const HOUR_MS = 60 * 60_000;

/** Makes a temporary file that was last written to so long ago. */
function leave(stem: string, owner: Partial<Owner> = {}, agoMs = 0): string {
  const path = temporaryPath(stem, { ...describeSelf(), ...owner });
  writeFileSync(path, '');
  const at = new Date(Date.now() - agoMs);
  utimesSync(path, at, at);
  return path;
}

/** The number of a process that has ended. */
function endedPid(): number {
  return spawnSync('true').pid;
}

describe('a temporary file', () => {
  it('has a name of its own, also where another container has the same host and process number', () => {
    const self = describeSelf();
    const elsewhere = { ...self, place: `${hostname()} another boot` };
    const stem = join(useTempFolder(), 'out.csv.');
    const namesOf = (owner: Owner): string => temporaryPath(stem, owner).replace(/-\d+\.part$/, '');
    expect(temporaryPath(stem)).not.toBe(temporaryPath(stem));
    expect(namesOf(elsewhere)).not.toBe(namesOf(self));
    expect(basename(temporaryPath(stem, self)).length).toBeLessThan('out.csv.'.length + 60);
  });

  it('is left when its process is gone, or another one has its number', async () => {
    const stem = join(useTempFolder(), 'out.csv.');
    const ended = leave(stem, { pid: endedPid() });
    const renumbered = leave(stem, { startedAt: '1' });
    leave(stem);
    leave(stem, { pid: process.ppid, startedAt: '' });
    const { startedAt } = describeSelf();
    const expected = startedAt === '' ? [ended] : [ended, renumbered];
    expect((await findLeftovers(stem)).sort()).toEqual(expected.sort());
  });

  it('of another container is left once nothing was written to it for an hour', async () => {
    const stem = join(useTempFolder(), 'out.csv.');
    const elsewhere = { place: `${hostname()} another boot`, pid: endedPid() };
    const old = leave(stem, elsewhere, 1.01 * HOUR_MS);
    leave(stem, elsewhere, 0.9 * HOUR_MS);
    leave(stem, {}, 10 * HOUR_MS);
    expect(await findLeftovers(stem)).toEqual([old]);
  });

  it('of another place, or a file that is none, is not looked at', async () => {
    const folder = useTempFolder();
    const gone = { pid: endedPid() };
    leave(join(folder, 'other.csv.'), gone);
    leave(join(folder, 'out.csv.gz.'), gone);
    for (const name of ['out.csv', 'out.csv.part', 'out.csv.web-1-1.part', 'out.csv.lock']) {
      writeFileSync(join(folder, name), '');
    }
    expect(await findLeftovers(join(folder, 'out.csv.'))).toEqual([]);
  });
});
