import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isUsable } from '../../src/store/store-files.ts';
import { useTempFolder } from '../support/temp-folder.ts';

/** A module in the place of LMDB, whose tables have one entry. */
function moduleIn(folder: string, getRange: string): string {
  const path = join(folder, 'lmdb.cjs');
  const table = `{ getRange: ${getRange}, putSync() {}, getStats: () => ({ entryCount: 1 }) }`;
  writeFileSync(join(folder, 'data.mdb'), 'x');
  writeFileSync(
    path,
    `exports.open = () => ({ getStats: () => ({ pageSize: 1, lastPageNumber: 0 }), getKeys: () => ['table'], openDB: () => (${table}), transactionSync: (work) => work() });`,
  );
  return path;
}

const ENTRY = "{ key: Buffer.from('a'), value: Buffer.from('b') }";

describe('the trial of a file', () => {
  it('ends where the end of the entries is reached, however long all of them take', async () => {
    const folder = useTempFolder();
    const slow = `({ start }) => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); return start.length ? [] : [${ENTRY}]; }`;
    expect(await isUsable(folder, { lmdb: moduleIn(folder, slow), longestMs: 2_000 })).toBe(true);
  });

  it.each([
    ['turns in a circle within LMDB', '() => { for (;;); }'],
    ['gives entries without end', `() => [${ENTRY}]`],
  ])('is ended where it %s: the file is not usable', async (_, getRange) => {
    const folder = useTempFolder();
    expect(await isUsable(folder, { lmdb: moduleIn(folder, getRange), longestMs: 300 })).toBe(
      false,
    );
  });

  it('ends with who waits for it', async () => {
    const folder = useTempFolder();
    const lmdb = moduleIn(folder, '() => { for (;;); }');
    const stopping = AbortSignal.timeout(300);
    await expect(isUsable(folder, { lmdb, signal: stopping })).rejects.toThrow(/timeout/);
  });
});
