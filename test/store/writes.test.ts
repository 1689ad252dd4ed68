import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { withOpenedStore } from '../../src/commands/opened-store.ts';
import { STORE_OPTIONS } from '../../src/options/command-options.ts';
import type { LmdbFile } from '../../src/store/lmdb-file.ts';
import { openStore } from '../../src/store/store.ts';
import { noteApiName, openTables } from '../../src/store/tables.ts';
import { reportWrites } from '../../src/store/writes.ts';
import { createGate } from '../support/gate.ts';
import { useTempFolder } from '../support/temp-folder.ts';

const told = (folder: string, why: string): unknown =>
  expect.objectContaining({
    name: 'BrandfillError',
    code: 'UNUSABLE_STORE',
    message: expect.stringMatching(
      `^Cannot write to the store ${folder}: .*${why}.*\\. What was stored is kept; run the same command again\\.$`,
    ),
  });

/** What no process can take, as when another one holds on to it for too long. */
function blockLock(folder: string): void {
  mkdirSync(join(folder, 'store.lock'));
}

it('tells that the name of an API cannot be noted when a store is opened', async () => {
  const folder = useTempFolder();
  const tooLong = 'x'.repeat(3_000); // for a key of LMDB
  await expect(openStore(folder, tooLong, { apiName: 'api' })).rejects.toThrow(told(folder, ''));
});

it('tells that a store cannot be written by whoever looks after it', async () => {
  const folder = useTempFolder();
  const task = { options: { store: folder }, declared: STORE_OPTIONS, mayMake: true };
  const writing = withOpenedStore(task, async ({ tables }) => {
    blockLock(folder);
    await noteApiName(tables, 'endpoint', 'api');
  });
  await expect(writing).rejects.toThrow(told(folder, 'store.lock cannot be read'));
});

it('tells that a store cannot be closed', async () => {
  const folder = useTempFolder();
  const tables = await openTables(folder);
  blockLock(folder);
  await expect(tables.close()).rejects.toThrow(told(folder, 'store.lock cannot be read'));
  rmdirSync(join(folder, 'store.lock'));
  await tables.root.close();
});

it.each([
  ['committed', 'flushed'],
  ['flushed', 'committed'],
] as const)('is flushed once lmdb has %s and %s', async (first, second) => {
  const folder = useTempFolder();
  const tables = await openTables(folder);
  onTestFinished(() => tables.close());
  const gates = { committed: createGate(), flushed: createGate() };
  const root = { committed: gates.committed.opened, flushed: gates.flushed.opened };
  const writes = reportWrites(folder, { ...tables, root } as unknown as LmdbFile);
  let isFlushed = false;
  const flushing = writes.flush().then(() => {
    isFlushed = true;
  });
  for (const name of [first, second]) {
    await setImmediate();
    expect(isFlushed).toBe(false);
    gates[name].open();
  }
  await flushing;
});
