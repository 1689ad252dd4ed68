import { execFileSync } from 'node:child_process';
import {
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { own } from '../../src/store/owner.ts';
import { countStore, deleteDomains } from '../../src/store/upkeep.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { homeOf, makeHomeIn, makeOlder } from './homes.ts';
import { openStore, outcomeOf } from './outcomes.ts';

describe('a store', () => {
  it.each(['my.store', 'acme.com', 'with space', 'größe'])(
    'may lie in a folder called %s',
    async (name) => {
      const folder = join(useTempFolder(), name);
      const store = await openStore(folder, 'one');
      await store.put(outcomeOf('a.com'));
      await store.close();
      expect(readdirSync(folder)).toEqual(['brandfill-store']);
      const inside = ['BRANDFILL.TAG', 'closed', 'data.mdb', 'lock.mdb'];
      expect(readdirSync(homeOf(folder)).sort()).toEqual(inside);
      const again = await openStore(folder, 'one');
      expect(again.find('a.com')).toEqual(outcomeOf('a.com'));
      await again.close();
    },
  );

  it('that nothing was put into is not left behind', async () => {
    const folder = useTempFolder();
    const store = await openStore(folder, 'one', { apiName: 'https://one.example' });
    await store.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is opened for others though whoever began to is aborted, and closed with the last', async () => {
    const folder = useTempFolder();
    const owner = await own(makeHomeIn(folder));
    const aborting = new AbortController();
    const waitMs = 60_000;
    const first = openStore(folder, 'one', { waitMs, signal: aborting.signal });
    const [second, third] = [1, 2].map(() => openStore(folder, 'one', { waitMs, isBeside: true }));
    aborting.abort(new Error('over'));
    await expect(first).rejects.toThrow('over');
    await owner.release();
    await (await second)?.close();
    const store = await third;
    await store?.put(outcomeOf('a.com'));
    await expect(own(homeOf(folder), { waitMs: 0 })).rejects.toThrow('it is in use by process');
    await store?.close();
    await (await own(homeOf(folder), { waitMs: 0 })).release();
  });

  it('begins anew in an empty file, as a killed process may just have made it', async () => {
    const folder = useTempFolder();
    writeFileSync(join(makeHomeIn(folder), 'data.mdb'), '');
    const store = await openStore(folder, 'one');
    await store.put(outcomeOf('a.com'));
    expect(store.find('a.com')).toBeDefined();
    await store.close();
  });
});

it('a store of 0.1.0, whose outcomes have no checksum, is read, and is one of this version then', async () => {
  const folder = useTempFolder();
  const store = await openStore(folder, 'one');
  const unknown = { status: 'not_found', reason: 'http_404' } as const;
  const outcomes = [outcomeOf('a.com'), outcomeOf('b.com', unknown)];
  for (const outcome of outcomes) await store.put(outcome);
  await store.close();
  makeOlder(folder);
  const root = open({ path: folder });
  const answers = root.openDB<Buffer, string>('answers', { encoding: 'binary' });
  for (const { key, value } of answers.getRange()) {
    const earlier = [Buffer.of(1), value.subarray(1, 22), value.subarray(26)];
    await answers.put(key, Buffer.concat(earlier));
  }
  const meta = root.openDB<unknown, string>('meta', { encoding: 'json' });
  await meta.put('version', 1);
  await root.close();
  const again = await openStore(folder, 'one');
  expect(outcomes.map(({ domain }) => again.find(domain))).toEqual(outcomes);
  await again.close();
  const { meta: upgraded, ...database } = await openDatabase(folder);
  expect(upgraded.get('version')).toBe(2);
  await database.close();
});

describe('a folder that cannot be a store', () => {
  it('is refused when it is a file', async () => {
    const file = join(useTempFolder(), 'list.csv');
    writeFileSync(file, 'domain\n');
    await expect(openDatabase(file)).rejects.toMatchObject({
      code: 'UNUSABLE_STORE',
      message: `Cannot open the store ${file}: there is a file of that name; choose another folder with option 'store'.`,
    });
    await expect(openDatabase(join(file, 'store'))).rejects.toThrow(
      "a part of the path is not a folder; choose another folder with option 'store'",
    );
    expect(readFileSync(file, 'utf8')).toBe('domain\n');
  });

  it('is refused when it cannot be written to', async ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may write anywhere');
    await expect(openDatabase('/brandfill-store')).rejects.toThrow(
      'Cannot open the store /brandfill-store: permission denied',
    );
  });

  it.each<[what: string, content: Buffer]>([
    ['is something else', Buffer.alloc(100_000, 'no database ')],
    ...[1, 24, 27].map((size): [string, Buffer] => [
      `is cut after ${size} bytes`,
      Buffer.alloc(size),
    ]),
  ])('is refused when its file %s, and left as it is', async (_, content) => {
    const folder = useTempFolder();
    const file = join(makeHomeIn(folder), 'data.mdb');
    writeFileSync(file, content);
    await expect(openDatabase(folder)).rejects.toMatchObject({
      code: 'UNUSABLE_STORE',
      message: `Cannot open the store ${folder}: its file data.mdb is damaged or was not written by Brandfill; put a copy of the folder in its place, or choose another folder with option 'store'.`,
    });
    expect(readFileSync(file).equals(content)).toBe(true);
  });

  it.each([3, 0, 'one'])(
    'is refused when version %j made it, and left as it is',
    async (version) => {
      const { folder, file } = await fillStore();
      await setVersion(folder, version);
      const before = readFileSync(file);
      await expect(openStore(folder, 'one')).rejects.toMatchObject({
        code: 'UNUSABLE_STORE',
        message: `Cannot open the store ${folder}: it is of version ${JSON.stringify(version)}, this Brandfill reads version 2; use the Brandfill that wrote it (its brandfill store export can be imported here), or choose another folder with option 'store'.`,
      });
      expect(readFileSync(file).equals(before)).toBe(true);
    },
  );

  it('is refused when it is the database of another program, and nothing is put into it', async () => {
    const folder = useTempFolder();
    const root = open({ path: folder, noSubdir: false, maxDbs: 8 });
    await root.openDB<string, string>('theirs', { encoding: 'string' }).put('key', 'value');
    await root.close();
    await expect(openDatabase(folder)).rejects.toThrow(
      `Cannot open the store ${folder}: its file data.mdb was written by something else than Brandfill; choose another folder with option 'store'.`,
    );
    const again = open({ path: folder, noSubdir: false, maxDbs: 8 });
    const meta = again.openDB<number, string>('meta', { encoding: 'json' });
    expect(meta.get('version')).toBeUndefined();
    await again.close();
  });
});

async function setVersion(folder: string, version: unknown): Promise<void> {
  const root = open({ path: homeOf(folder), noSubdir: false, maxDbs: 8 });
  await root.openDB<unknown, string>('meta', { encoding: 'json' }).put('version', version);
  await root.close();
}

const domainOf = (number: number): string => `d${number}.com`;

/** A store of 500 outcomes that nobody has open. */
async function fillStore(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = useTempFolder();
  const store = await openStore(folder, 'one');
  const domains = Array.from({ length: 500 }, (_, number) => domainOf(number));
  await Promise.all(domains.map((domain) => store.put(outcomeOf(domain))));
  await store.close();
  return { folder, file: join(homeOf(folder), 'data.mdb') };
}

it('is refused when only a part of its list of free pages is cut off', async () => {
  const folder = useTempFolder();
  const store = await openStore(folder, 'one');
  const domains = Array.from({ length: 12_000 }, (_, at) => `d${at}.com`);
  const json = JSON.stringify({ text: 'x'.repeat(400) });
  await Promise.all(domains.map((domain) => store.put({ ...outcomeOf(domain), json })));
  await store.close();
  const database = await openDatabase(folder);
  await deleteDomains(database, domains.slice(1_000)); // in one transaction
  await database.close();
  const file = join(homeOf(folder), 'data.mdb');
  truncateSync(file, statSync(file).size - 4_096);
  await expect(openStore(folder, 'one')).rejects.toThrow('its file data.mdb is damaged');
});

it.each<[string, (bytes: Buffer) => Buffer]>([
  ['it is cut to most of its size', (bytes) => bytes.subarray(0, bytes.length * 0.9)],
  ['it is cut to half of its size', (bytes) => bytes.subarray(0, bytes.length * 0.5)],
  ['it is cut to little of its size', (bytes) => bytes.subarray(0, bytes.length * 0.1)],
  ['a key is out of order, which would hide others', (bytes) => withOddKeys(bytes)],
  // LMDB would write into the file itself.
  ['a page says that it is of a later transaction', (bytes) => withLaterPages(bytes)],
])('is refused when %s, and left as it is', async (_, damage) => {
  const { folder, file } = await fillStore();
  const bytes = damage(readFileSync(file));
  writeFileSync(file, bytes);
  await expect(openStore(folder, 'one')).rejects.toThrow('its file data.mdb is damaged');
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

function withOddKeys(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf('one:d250.com'); at !== -1; at = bytes.indexOf('one:d250.com', at))
    bytes[at + 4] = 'z'.charCodeAt(0);
  return bytes;
}

function withLaterPages(bytes: Buffer): Buffer {
  for (let page = 2; 4_096 * page < bytes.length; page += 1) bytes[4_096 * page + 11] = 64;
  return bytes;
}

it.each([
  ['data.mdb', 'a pipe', 'is no file'],
  ['lock.mdb', 'a pipe', 'is no file'],
  ['data.mdb', 'a link', 'is a link'],
  ['lock.mdb', 'a link', 'is a link'],
])('is refused when its %s is %s, which is left as it is', async (name, what, why) => {
  const { folder } = await fillStore();
  const path = join(homeOf(folder), name);
  const precious = join(useTempFolder(), 'precious');
  writeFileSync(precious, 'mine');
  rmSync(path);
  if (what === 'a pipe') execFileSync('mkfifo', [path]);
  else symlinkSync(precious, path);
  await expect(openStore(folder, 'one')).rejects.toThrow(`its ${name} ${why}; remove it`);
  expect(readFileSync(precious, 'utf8')).toBe('mine');
});

it('is tried when only its last change of any kind tells that its bytes are others', async () => {
  const { folder, file } = await fillStore();
  const { atime, mtime, size } = statSync(file);
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xff, 4_096 * 2));
  utimesSync(file, atime, mtime);
  expect(statSync(file)).toMatchObject({ size, mtime });
  await expect(openStore(folder, 'one')).rejects.toThrow('its file data.mdb is damaged');
});

it('a store that is damaged somewhere is refused, or has what it had; what is not whole counts as not there', {
  timeout: 120_000,
}, async () => {
  const { folder, file } = await fillStore();
  const sound = readFileSync(file);
  const ended = { refused: 0, lost: 0, whole: 0 };
  for (let round = 0; round < 24; round += 1) {
    const bytes = Buffer.from(sound);
    const at = Math.floor(hash(round) * bytes.length);
    const length = [1, 16, 512, 8_192][round % 4] ?? 1;
    for (let each = at; each < Math.min(at + length, bytes.length); each += 1)
      bytes[each] = 256 * hash(each + round);
    writeFileSync(file, bytes);
    const store = await openStore(folder, 'one').catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'UNUSABLE_STORE' });
      ended.refused += 1;
    });
    if (!store) continue;
    for (let number = 0; number < 500; number += 1) {
      const found = store.find(domainOf(number));
      expect(found ?? outcomeOf(domainOf(number))).toEqual(outcomeOf(domainOf(number)));
      ended[found ? 'whole' : 'lost'] += 1;
    }
    // Damage of what is only read to write is found then.
    await store.put(outcomeOf('new.com')).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'UNUSABLE_STORE' });
    });
    expect(store.find('new.com')).toBeDefined();
    await store.close();
  }
  expect(ended.whole).toBeGreaterThan(3_000);
  expect(ended.refused).toBeGreaterThan(3);
});

it('a key that damage has made into something else than a text counts as not there', async () => {
  const { folder } = await fillStore();
  const root = open({ path: homeOf(folder), noSubdir: false, maxDbs: 16 });
  const key = ['one:a', Symbol.for('b')];
  await root.openDB({ name: 'answers', encoding: 'binary' }).put(key, Buffer.from([2]));
  await root.close();
  const store = await openStore(folder, 'one');
  expect(store.foundDomains()).toContain(domainOf(1));
  await store.close();
  const database = await openDatabase(folder);
  expect(countStore(database).apis).toMatchObject([{ statuses: { found: 500 } }]);
  await database.close();
});

/** From 0 to below 1, the same for each run. */
function hash(number: number): number {
  const mixed = Math.imul(number ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  return (Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0) / 2 ** 32;
}
