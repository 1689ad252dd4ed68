import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { importStore } from '../../src/commands/store-import.ts';
import { openFilesIn } from '../support/descriptors.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('closes its file when the store cannot be opened', async () => {
  const folder = useTempFolder();
  const [input, store] = [join(folder, 'in.jsonl'), join(folder, 'store')];
  const line =
    '{"api":"a","domain":"acme.com","status":"not_found","fetched_at":"2026-11-21T00:00:00Z"}\n';
  writeFileSync(input, line.repeat(2_000));
  writeFileSync(store, 'a file');
  await expect(importStore({ input, store })).rejects.toThrow(/^Cannot open the store/);
  await vi.waitUntil(() => openFilesIn(folder).length === 0); // Node.js closes it in the background
});
