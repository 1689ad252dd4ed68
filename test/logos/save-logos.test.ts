import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryPath } from '../../src/common/files.ts';
import { describeSelf } from '../../src/common/owner.ts';
import { type Fetched, findPictureKind } from '../../src/logos/fetch-picture.ts';
import { createHostTurns } from '../../src/logos/host-turns.ts';
import {
  type Circumstances,
  decide,
  type LogoCounts,
  markOf,
  openPictureFolder,
  pictureFileOf,
  saveLogos,
  triedMarkOf,
} from '../../src/logos/save-logos.ts';
import type { LogoNote } from '../../src/store/notes.ts';
import { openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { GIF, PLAIN_SVG, PNG } from './svgs.ts';

const PICTURE: Fetched = { kind: 'png', bytes: PNG };

/** Nights on one store and one folder. */
async function useNights(fetch: (path: string) => Fetched): Promise<{
  readonly night: (
    domains: readonly string[],
    signal?: AbortSignal,
  ) => Promise<LogoCounts & { readonly asked: readonly string[] }>;
  readonly hasNote: (domain: string) => boolean;
}> {
  const store = await openStore(useTempFolder(), 'endpoint');
  onTestFinished(() => store.close());
  const folder = await openPictureFolder(useTempFolder());
  let nowMs = 1_000;
  return {
    hasNote: (domain) => store.logos.find(domain) !== undefined,
    night: async (domains, signal = new AbortController().signal) => {
      nowMs += 86_400_000;
      const asked: string[] = [];
      const counts = await saveLogos({
        domains: async function* () {
          for (let at = 0; at < domains.length; at += 7) yield domains.slice(at, at + 7);
        },
        answerOf: (domain) =>
          domain === 'unknown.com' ? undefined : `{"logo":"https://cdn.example/${domain}"}`,
        valueOf: (answer) => answer['logo'],
        notes: store.logos,
        folder,
        fetcher: {
          fetch: async ({ pathname }) => {
            asked.push(pathname.slice(1));
            return fetch(pathname.slice(1));
          },
          close: async () => {},
        },
        turns: createHostTurns({
          concurrency: 1,
          perHost: 1,
          signal,
          now: () => nowMs,
          sleep: async () => {},
        }),
        allowed: [],
        signal,
        now: () => nowMs,
        startedAtMs: nowMs,
        refresh: false,
        missingCountsMs: 7 * 86_400_000,
        maxBytes: 1_000,
        onDone: () => {},
      });
      return { ...counts, asked };
    },
  };
}

const domains = Array.from({ length: 40 }, (_, at) => `c${at}.com`);

it('hundreds of logos are saved, each once', async () => {
  const { night } = await useNights(() => PICTURE);
  const many = Array.from({ length: 300 }, (_, at) => `c${at}.com`);
  const first = await night([...many, 'unknown.com']);
  expect(first).toMatchObject({ saved: 300, kept: 0, missing: 0 });
  expect(first.asked).toHaveLength(300);
  expect(await night(many)).toMatchObject({ saved: 0, kept: 300, missing: 0, asked: [] });
});

it('pictures that always hang keep no other from being fetched, night by night', async () => {
  // The first twelve of the list hang, and five of those in a row are taken for a host that is out.
  const hangs = new Set(domains.slice(0, 12));
  const { night } = await useNights((path) => (hangs.has(path) ? { reason: 'timeout' } : PICTURE));
  expect(await night(domains)).toMatchObject({
    saved: 0,
    missing: 40,
    reasons: { timeout: 5, host_out: 35 },
  });
  await night(domains);
  const third = await night(domains);
  expect(third).toMatchObject({ saved: 28, missing: 12 });
  // Those that hung before come last.
  expect(third.asked.slice(0, 2)).toEqual(['c10.com', 'c11.com']);
  expect(third.asked.slice(2, 30)).toEqual(domains.slice(12));
  expect(await night(domains)).toMatchObject({ saved: 0, kept: 28, missing: 12 });
});

it('what was not asked because of a stop is asked in the next run', async () => {
  const stop = new AbortController();
  const { night, hasNote } = await useNights((path) => {
    if (path === 'c4.com') stop.abort();
    return PICTURE;
  });
  expect(await night(domains, stop.signal)).toMatchObject({
    saved: 5,
    missing: 35,
    reasons: { not_asked: 35 },
  });
  expect(domains.filter(hasNote)).toHaveLength(5); // one each would take minutes for a long list
  expect(await night(domains)).toMatchObject({ saved: 35, kept: 5, missing: 0 });
});

it('a folder that can no longer be written ends it', async () => {
  const { night } = await useNights(() => {
    throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  });
  await expect(night(domains)).rejects.toThrow('the disk is full');
});

const DAY_MS = 86_400_000;
const NOW_MS = 100 * DAY_MS;
const URL_NOW = new URL('https://cdn.example/a.png');
const OTHER_URL = new URL('https://cdn.example/b.png');
const NIGHT: Circumstances = {
  startedAtMs: NOW_MS,
  now: () => NOW_MS + 10,
  refresh: false,
  missingCountsMs: 7 * DAY_MS,
  maxBytes: 1_000,
};

const savedOf = (url: URL) => ({ file: 'a.png', sizeBytes: 1, mark: markOf(url) });
const missingFor = (reason: string, url = URL_NOW) => ({ reason, mark: triedMarkOf(url, 1_000) });

function decideOn(
  note: Partial<LogoNote> | undefined,
  more: Partial<Circumstances> & { isThere?: boolean } = {},
) {
  const { isThere = note?.saved !== undefined, ...circumstances } = more;
  const known = { url: URL_NOW, note: note && { atMs: NOW_MS - DAY_MS, ...note }, isThere };
  return decide(known, { ...NIGHT, ...circumstances });
}

describe('a logo', () => {
  it('is fetched that is new, has another URL, or whose file is gone', () => {
    expect(decideOn(undefined)).toBe('fetch');
    expect(decideOn({ saved: savedOf(OTHER_URL) })).toBe('fetch');
    expect(decideOn({ saved: savedOf(URL_NOW) }, { isThere: false })).toBe('fetch');
    expect(decideOn({ saved: savedOf(URL_NOW) })).toBe('keep');
  });

  it('is fetched again in a refresh, once', () => {
    const note = { saved: savedOf(URL_NOW) };
    expect(decideOn(note, { refresh: true })).toBe('fetch');
    expect(decideOn({ ...note, atMs: NOW_MS + 1 }, { refresh: true })).toBe('keep');
    expect(decideOn({ missing: missingFor('timeout') }, { refresh: true })).toBe('fetch');
  });

  it('that was noted in the future is not of this run, and its note as old as it is ahead', () => {
    const missing = missingFor('http_404');
    const note = { saved: savedOf(URL_NOW), atMs: NOW_MS + DAY_MS };
    expect(decideOn(note, { refresh: true })).toBe('fetch');
    expect(decideOn({ missing, atMs: NOW_MS + DAY_MS })).toBe('leave');
    expect(decideOn({ missing, atMs: NOW_MS + 8 * DAY_MS })).toBe('fetch');
  });

  it.each(['http_404', 'http_403', 'not_a_picture', 'unsafe_svg', 'too_large'])(
    'that could not be had (%s) is left alone for a while',
    (reason) => {
      const missing = missingFor(reason);
      expect(decideOn({ missing })).toBe('leave');
      expect(decideOn({ missing, saved: savedOf(OTHER_URL) })).toBe('leave');
      expect(decideOn({ missing, atMs: NOW_MS - 8 * DAY_MS })).toBe('fetch');
      expect(decideOn({ missing: missingFor(reason, OTHER_URL) })).toBe('fetch');
      expect(decideOn({ missing }, { maxBytes: 2_000 })).toBe('fetch');
    },
  );

  it.each(['timeout', 'connection_refused', 'dns_failure', 'http_429', 'http_500', 'http_503'])(
    'that could not be had (%s) is tried last, and once in a run',
    (reason) => {
      expect(decideOn({ missing: missingFor(reason) })).toBe('fetch_again');
      expect(decideOn({ missing: missingFor(reason), atMs: NOW_MS })).toBe('leave');
    },
  );

  it.each(['not_asked', 'host_out', 'private_address'])('(%s) is tried at once', (reason) => {
    expect(decideOn({ missing: missingFor(reason) })).toBe('fetch');
  });
});

describe('pictureFileOf', () => {
  it('is the domain, fit for every file system', () => {
    expect(pictureFileOf('acme.com', 'png')).toBe('acme.com.png');
    expect(pictureFileOf('xn--mller-kva.de', 'svg')).toBe('xn--mller-kva.de.svg');
    expect(pictureFileOf('con.com', 'jpg')).toBe('_con.com.jpg');
    expect(pictureFileOf('com1.net', 'jpg')).toBe('_com1.net.jpg');
    expect(pictureFileOf('cons.com', 'jpg')).toBe('cons.com.jpg');
    const long = (end: string): string => `${`${'a'.repeat(60)}.`.repeat(4)}${end}`;
    const names = [pictureFileOf(long('com'), 'webp'), pictureFileOf(long('net'), 'webp')];
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name.length).toBeLessThan(240);
  });
});

describe('a folder of pictures', () => {
  it('has one for each domain, the latest', async () => {
    const path = join(useTempFolder(), 'a', 'b');
    const folder = await openPictureFolder(path);
    expect(await folder.save('a.com', { kind: 'png', bytes: PNG })).toBe('a.com.png');
    expect(await folder.has('a.com.png', PNG.length)).toBe(true);
    expect(await folder.has('a.com.png', PNG.length + 1)).toBe(false);
    expect(await folder.has('b.com.png', PNG.length)).toBe(false);
    writeFileSync(join(path, 'a.com.txt'), 'mine');
    const bytes = Buffer.from(PLAIN_SVG);
    expect(await folder.save('a.com', { kind: 'svg', bytes })).toBe('a.com.svg');
    expect(readdirSync(path).sort()).toEqual(['a.com.svg', 'a.com.txt']);
    expect(readFileSync(join(path, 'a.com.svg'), 'utf8')).toBe(PLAIN_SVG);
  });

  it('may be that of two runs of a process at the same time', async () => {
    const path = useTempFolder();
    const folders = [await openPictureFolder(path), await openPictureFolder(path)];
    const domainOf = (run: number): string => `${run}.com`;
    await Promise.all(
      folders.map((folder, run) =>
        folder.save(domainOf(run), { kind: 'png', bytes: Buffer.from(domainOf(run)) }),
      ),
    );
    expect(readdirSync(path).sort()).toEqual(['0.com.png', '1.com.png']);
    for (const [run] of folders.entries()) {
      expect(readFileSync(join(path, `${domainOf(run)}.png`), 'utf8')).toBe(domainOf(run));
    }
  });

  it('replaces a link instead of writing where it leads', async () => {
    const path = useTempFolder();
    const elsewhere = join(useTempFolder(), 'mine');
    writeFileSync(elsewhere, 'mine');
    symlinkSync(elsewhere, join(path, 'a.com.png'));
    const folder = await openPictureFolder(path);
    await folder.save('a.com', { kind: 'png', bytes: PNG });
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
    expect(readFileSync(join(path, 'a.com.png'))).toEqual(PNG);
  });

  it('loses what killed runs left, and nothing of those that go on', async () => {
    const path = useTempFolder();
    const stem = join(path, '.brandfill-');
    const self = describeSelf();
    const gone = { ...self, pid: spawnSync('true').pid };
    const left = [gone, self, { ...gone, place: 'elsewhere' }].map((owner) =>
      temporaryPath(stem, owner),
    );
    for (const file of left) writeFileSync(file, '');
    await openPictureFolder(path);
    expect(readdirSync(path).sort()).toEqual(
      left
        .slice(1)
        .map((file) => basename(file))
        .sort(),
    );
  });

  it('says why it cannot be written', async () => {
    const path = useTempFolder();
    writeFileSync(join(path, 'file'), '');
    const refusal = (message: string) => ({ code: 'UNWRITABLE_OUTPUT', message });
    await expect(openPictureFolder(join(path, 'file'))).rejects.toMatchObject(
      refusal(`Cannot write logos to ${path}/file: it is a file, not a folder.`),
    );
    await expect(openPictureFolder(join(path, 'file', 'a'))).rejects.toMatchObject(
      refusal(`Cannot write logos to ${path}/file/a: a part of the path is not a folder.`),
    );
    const folder = await openPictureFolder(path);
    mkdirSync(join(path, 'a.com.png'));
    await expect(folder.save('a.com', { kind: 'png', bytes: PNG })).rejects.toMatchObject({
      code: 'UNWRITABLE_OUTPUT',
    });
    expect(readdirSync(path).sort()).toEqual(['a.com.png', 'file']);
  });
});

/** Bytes that begin like this, and are as many as any picture has. */
function bytes(start: string): Buffer {
  return Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(64)]);
}

describe('findPictureKind', () => {
  it.each([
    ['png', PNG],
    ['gif', GIF],
    ['gif', bytes('GIF87a')],
    ['jpg', bytes('\xff\xd8\xff\xe0\0\x10JFIF\0')],
    ['jpg', bytes('\xff\xd8\xff\xe1..Exif\0\0')],
    ['webp', bytes('RIFF\x24\0\0\0WEBPVP8L')],
    ['avif', bytes('\0\0\0\x1cftypavif\0\0\0\0avifmif1')],
    ['avif', bytes('\0\0\0\x20ftypmif1\0\0\0\0mif1miafavif')],
    ['bmp', bytes('BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0')],
    ['ico', bytes('\0\0\x01\0\x01\0\x10\x10\0\0')],
  ])('knows %s by its content', (kind, content) => {
    expect(findPictureKind(content)).toBe(kind);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(100)],
    ['the beginning of a PNG', PNG.subarray(0, 12)],
    ['text', bytes('not found')],
    ['text that begins like BMP', Buffer.from('BMW makes cars, and motorcycles as well.')],
    ['a page', bytes('<!doctype html>')],
    ['PDF', bytes('%PDF-1.7')],
    ['a sound', bytes('RIFF\x24\0\0\0WAVEfmt ')],
    ['a film', bytes('\0\0\0\x18ftypmp42\0\0\0\0mp42isom')],
    ['HEIC', bytes('\0\0\0\x18ftypheic\0\0\0\0mif1heic')],
    ['a cursor', bytes('\0\0\x02\0\x01\0\x10\x10\0\0')],
    ['TIFF', bytes('II*\0')],
    ['gzip', bytes('\x1f\x8b\x08\0')],
    ['a program', bytes('MZ\x90\0')],
  ])('takes %s for no picture', (_, content) => {
    expect(findPictureKind(content)).toBeUndefined();
  });
});
