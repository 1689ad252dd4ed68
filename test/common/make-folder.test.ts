import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/common/files.ts';
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
