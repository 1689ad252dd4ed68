import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findStored } from '../../src/commands/store.ts';
import { openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { outcomeOf } from './outcomes.ts';

/** The layout of a page of LMDB. */
const PAGE_BYTES = 4096;
const FLAGS_AT = 18;
const LEAF = 0x02;
const META = 0x08;

const domainOf = (number: number): string => `d${number}.com`;

/** A store of 500 outcomes that nobody has open. */
async function fillStore(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = useTempFolder();
  const store = await openStore(folder, 'one');
  await Promise.all(
    Array.from({ length: 500 }, (_, number) => store.put(outcomeOf(domainOf(number)), [['name']])),
  );
  await store.close();
  return { folder, file: join(folder, 'data.mdb') };
}

/** Turns the pages that hold a domain into pages of another kind. */
function damage(file: string, domain: string): void {
  const bytes = readFileSync(file);
  let damaged = 0;
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
    const page = bytes.subarray(at, at + PAGE_BYTES);
    if (!page.includes(`one:${domain}`) || page.readUInt16LE(FLAGS_AT) !== LEAF) continue;
    page.writeUInt16LE(META, FLAGS_AT);
    damaged += 1;
  }
  expect(damaged).toBeGreaterThan(0);
  writeFileSync(file, bytes);
}

it('is refused when half of it is cut off, which would end the process when it is read', async () => {
  const { folder, file } = await fillStore();
  truncateSync(file, Math.floor(statSync(file).size * 0.4));
  await expect(openStore(folder, 'one')).rejects.toMatchObject({
    code: 'UNUSABLE_STORE',
    message: `Cannot open the store ${folder}: its file data.mdb is cut off; choose another folder with --store.`,
  });
});

it('says that it is damaged when a run or a person comes to the damaged place', async () => {
  const { folder, file } = await fillStore();
  damage(file, domainOf(250));
  const refusal = {
    code: 'UNUSABLE_STORE',
    message: expect.stringMatching(
      /^Cannot read the store .*: its file data\.mdb is damaged \(MDB_\w+: .*\); put a copy of the folder in its place, or choose another folder with --store\.$/,
    ),
  };
  const store = await openStore(folder, 'one');
  expect(store.find(domainOf(1))).toBeDefined();
  for (const read of [store.find, store.findHead]) {
    expect(() => read(domainOf(250))).toThrow(expect.objectContaining(refusal));
  }
  await store.close();
  await expect(findStored({ store: folder, domain: domainOf(250) })).rejects.toMatchObject(refusal);
});
