import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/common/files.ts';
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
