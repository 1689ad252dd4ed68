import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { findStored } from '../../src/commands/store.ts';
import { openLmdb } from '../../src/store/lmdb-file.ts';
import { openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { outcomeOf } from './outcomes.ts';

const NO_TABLES = (): object => ({});

describe('a store', () => {
  it.each(['my.store', '.brandfill', 'acme.com', 'with space', 'größe'])(
    'may lie in a folder called %s',
    async (name) => {
      const folder = join(useTempFolder(), name);
      const { root, close } = await openLmdb(folder, NO_TABLES);
      await root.put('key', 'value');
      await close();
      expect(readdirSync(folder).sort()).toEqual(['data.mdb', 'lock.mdb']);
      const { root: again } = await openLmdb(folder, NO_TABLES);
      expect(again.get('key')).toBe('value');
      await again.close();
    },
  );

  it('begins anew in an empty file, as another process may just have made it', async () => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'data.mdb'), '');
    const { root } = await openLmdb(folder, NO_TABLES);
    await root.put('key', 'value');
    expect(root.get('key')).toBe('value');
    await root.close();
  });
});

describe('a folder that cannot be a store', () => {
  it('is refused when it is a file', async () => {
    const file = join(useTempFolder(), 'list.csv');
    writeFileSync(file, 'domain\n');
    await expect(openLmdb(file, NO_TABLES)).rejects.toThrow(
      expect.objectContaining({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${file}: there is a file of that name; choose another folder with --store.`,
      }),
    );
    await expect(openLmdb(join(file, 'store'), NO_TABLES)).rejects.toThrow(
      'a part of the path is not a folder; choose another folder with --store',
    );
    expect(readFileSync(file, 'utf8')).toBe('domain\n');
  });

  it('is refused when it cannot be written to', async ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may write anywhere');
    await expect(openLmdb('/brandfill-store', NO_TABLES)).rejects.toThrow(
      'Cannot open the store /brandfill-store: permission denied',
    );
  });

  it('is refused when its file is something else, and left as it is', async () => {
    const folder = useTempFolder();
    const bytes = Buffer.alloc(100_000, 'no database ');
    writeFileSync(join(folder, 'data.mdb'), bytes);
    await expect(openLmdb(folder, NO_TABLES)).rejects.toThrow(
      expect.objectContaining({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${folder}: its file data.mdb is damaged or was not written by Brandfill; choose another folder with --store.`,
      }),
    );
    expect(readFileSync(join(folder, 'data.mdb')).equals(bytes)).toBe(true);
  });

  it.each([1, 24, 27])('is refused when its file is cut after %i bytes', async (sizeBytes) => {
    const folder = useTempFolder();
    writeFileSync(join(folder, 'data.mdb'), Buffer.alloc(sizeBytes));
    await expect(openLmdb(folder, NO_TABLES)).rejects.toThrow('its file data.mdb is damaged');
  });

  it.each([
    [
      2,
      'it is of version 2, this Brandfill reads version 1; update Brandfill or choose another folder with --store',
    ],
    [
      0,
      'it is of version 0, this Brandfill reads version 1; export it with the Brandfill that wrote it (brandfill store export) and import that here, or choose another folder with --store',
    ],
    [
      'one',
      'it is of version "one", this Brandfill reads version 1; update Brandfill or choose another folder with --store',
    ],
  ])('is refused when version %j made it, and left as it is', async (version, why) => {
    const folder = useTempFolder();
    const store = await openStore(folder, 'endpoint');
    await store.put(outcomeOf('acme.com'), [['name']]);
    await store.close();
    await setVersion(folder, version);
    const before = readFileSync(join(folder, 'data.mdb'));
    const refusal = { code: 'UNUSABLE_STORE', message: `Cannot open the store ${folder}: ${why}.` };
    await expect(openStore(folder, 'endpoint')).rejects.toThrow(expect.objectContaining(refusal));
    expect(readFileSync(join(folder, 'data.mdb')).equals(before)).toBe(true);
    await setVersion(folder, 1);
    const again = await openStore(folder, 'endpoint');
    expect(again.find('acme.com')).toEqual(outcomeOf('acme.com'));
    await again.close();
  });

  it('is refused when it is the database of another program, and nothing is put into it', async () => {
    const folder = useTempFolder();
    const root = open({ path: folder, noSubdir: false, maxDbs: 8 });
    await root.openDB<string, string>('theirs', { encoding: 'string' }).put('key', 'value');
    await root.close();
    await expect(openLmdb(folder, NO_TABLES)).rejects.toThrow(
      `Cannot open the store ${folder}: its file data.mdb was written by something else than Brandfill; choose another folder with --store.`,
    );
    const again = open({ path: folder, noSubdir: false, maxDbs: 8 });
    const meta = again.openDB<number, string>('meta', { encoding: 'json' });
    expect(meta.get('version')).toBeUndefined();
    await again.close();
  });
});

async function setVersion(folder: string, version: unknown): Promise<void> {
  const root = open({ path: folder, noSubdir: false, maxDbs: 8 });
  await root.openDB<unknown, string>('meta', { encoding: 'json' }).put('version', version);
  await root.close();
}

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
