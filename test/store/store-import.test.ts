import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { importStore } from '../../src/store-upkeep/store-import.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const OPEN_FILES = '/proc/self/fd';

function isOpen(path: string): boolean {
  return readdirSync(OPEN_FILES).some((name) => {
    try {
      return readlinkSync(join(OPEN_FILES, name)) === path;
    } catch {
      return false; // it was closed just now
    }
  });
}

it('closes its file when the store cannot be opened', async ({ skip }) => {
  if (!existsSync(OPEN_FILES)) skip('this system does not tell which files are open');
  const folder = useTempFolder();
  const [input, store] = [join(folder, 'in.jsonl'), join(folder, 'store')];
  const line =
    '{"api":"a","domain":"acme.com","status":"not_found","fetched_at":"2026-11-21T00:00:00Z"}\n';
  writeFileSync(input, line.repeat(2_000));
  writeFileSync(store, 'a file');
  await expect(importStore({ input, store })).rejects.toThrow(/^Cannot open the store/);
  expect(isOpen(input)).toBe(false);
});
