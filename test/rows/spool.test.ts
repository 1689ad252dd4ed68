import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openSpool } from '../../src/rows/spool.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it.each([
  ['of a run', false, 'choose another folder with --store.'],
  ['where there is no store', true, 'name another folder in TMPDIR.'],
])('says how to choose another folder %s', async (_, isTemporary, advice) => {
  const file = join(useTempFolder(), 'file');
  writeFileSync(file, '');
  if (isTemporary) {
    vi.stubEnv('TMPDIR', file);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(tmpdir()).toBe(file);
  }
  await expect(openSpool(file)).rejects.toThrow(
    `Cannot write to ${file}: there is a file of that name; ${advice}`,
  );
});
