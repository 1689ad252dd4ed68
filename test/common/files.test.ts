import { spawnSync } from 'node:child_process';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLeftovers, makeFolder, temporaryPath } from '../../src/common/files.ts';
import { useTempFolder } from '../support/temp-folder.ts';

describe('makeFolder', () => {
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

/** Makes a temporary file of this process, or one whose name has something else in a place of it. */
function leave(stem: string, mark: (own: string) => string = (own) => own, agoMs = 0): string {
  const path = `${stem}${mark(temporaryPath(stem).slice(stem.length))}`;
  writeFileSync(path, '');
  const at = new Date(Date.now() - agoMs);
  utimesSync(path, at, at);
  return path;
}

describe('a temporary file', () => {
  const ofPid = (pid: number) => (own: string) => own.replace(/-\d+-/, `-${pid}-`);
  const elsewhere = (own: string): string => own.replace(/^[0-9a-f]{12}/, '0123456789ab');

  it('has a name of its own', () => {
    const stem = join(useTempFolder(), 'out.csv.');
    expect(temporaryPath(stem)).not.toBe(temporaryPath(stem));
  });

  it('is left when its process is gone, or another one has its number', async () => {
    const stem = join(useTempFolder(), 'out.csv.');
    const ended = leave(stem, ofPid(spawnSync('true').pid));
    const renumbered = leave(stem, (own) => own.replace(/-\d+(-\d+\.part)$/, '-1$1'));
    leave(stem);
    expect((await findLeftovers(stem)).sort()).toEqual([ended, renumbered].sort());
  });

  it('of another container is left once nothing was written to it for an hour', async () => {
    const stem = join(useTempFolder(), 'out.csv.');
    const old = leave(stem, elsewhere, 1.01 * HOUR_MS);
    leave(stem, elsewhere, 0.9 * HOUR_MS);
    leave(stem, undefined, 10 * HOUR_MS);
    expect(await findLeftovers(stem)).toEqual([old]);
  });

  it('of another place, or a file that is none, is not looked at', async () => {
    const folder = useTempFolder();
    leave(join(folder, 'other.csv.'), elsewhere, 10 * HOUR_MS);
    leave(join(folder, 'out.csv.gz.'), elsewhere, 10 * HOUR_MS);
    for (const name of ['out.csv', 'out.csv.part', 'out.csv.web-1-1.part', 'out.csv.lock']) {
      writeFileSync(join(folder, name), '');
      utimesSync(join(folder, name), 0, 0);
    }
    expect(await findLeftovers(join(folder, 'out.csv.'))).toEqual([]);
  });
});
