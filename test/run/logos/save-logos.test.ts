import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Fetched } from '../../../src/run/logos/fetch-picture.ts';
import { openPictureFolder, pictureFileOf } from '../../../src/run/logos/picture-folder.ts';
import { saveLogos } from '../../../src/run/logos/save-logos.ts';
import { openStore } from '../../store/outcomes.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { PLAIN_SVG, PNG } from './pictures.ts';

const PICTURE: Fetched = { kind: 'png', bytes: PNG };

interface Night {
  /** Since the last one. @default 1 */
  readonly days?: number;
  readonly refresh?: boolean;
  /** Of the URLs. @default 1 */
  readonly version?: number;
  readonly signal?: AbortSignal;
}

/** Nights on one store and one folder. */
async function useNights(fetch: (path: string) => Fetched) {
  const store = await openStore(useTempFolder(), 'endpoint');
  onTestFinished(() => store.close());
  const path = useTempFolder();
  const folder = await openPictureFolder(path);
  let nowMs = 1_000;
  return {
    /** The folder. */
    path,
    hasNote: (domain: string) => store.logos.find(domain) !== undefined,
    night: async (
      domains: readonly string[],
      { days = 1, refresh = false, version = 1, ...given }: Night = {},
    ) => {
      const { signal = new AbortController().signal } = given;
      nowMs += days * 86_400_000;
      const asked: string[] = [];
      const counts = await saveLogos({
        domains: async function* () {
          for (let at = 0; at < domains.length; at += 7) yield domains.slice(at, at + 7);
        },
        answerOf: (domain) =>
          domain === 'unknown.com'
            ? undefined
            : `{"logo":"https://cdn.example/${domain}?v=${version}"}`,
        valueOf: (answer) => answer['logo'],
        notes: store.logos,
        folder,
        fetcher: {
          fetch: async ({ pathname }) => {
            asked.push(pathname.slice(1));
            return fetch(pathname.slice(1));
          },
        },
        perHost: 1,
        signal,
        now: () => nowMs,
        startedAtMs: nowMs,
        refresh,
        missingCountsMs: 7 * 86_400_000,
        onDone: () => {},
      });
      return { ...counts, asked };
    },
  };
}

const domains = Array.from({ length: 40 }, (_, at) => `c${at}.com`);

it('a host that fails five times in a row is left to the next run', async () => {
  let isOut = true;
  const { night } = await useNights(() => (isOut ? { reason: 'timeout' } : PICTURE));
  expect(await night(domains)).toMatchObject({ reasons: { timeout: 5, host_out: 35 } });
  isOut = false;
  expect(await night(domains)).toMatchObject({ saved: 40, missing: 0 });
});

it('what was not asked because of a stop is asked in the next run', async () => {
  const stop = new AbortController();
  const { night, hasNote } = await useNights((path) => {
    if (path === 'c4.com') stop.abort();
    return PICTURE;
  });
  const first = await night(domains, { signal: stop.signal });
  expect(first).toMatchObject({ saved: 5, missing: 35, reasons: { not_asked: 35 } });
  expect(domains.filter(hasNote)).toHaveLength(5); // one each would take minutes for a long list
  expect(await night(domains)).toMatchObject({ saved: 35, kept: 5, missing: 0 });
});

it('a picture that cannot be written is a reason of its row, and no more', async () => {
  const { night, path } = await useNights(() => PICTURE);
  mkdirSync(join(path, 'c1.com.png'));
  const first = await night(domains);
  expect(first).toMatchObject({ saved: 39, missing: 1, reasons: { not_written: 1 } });
  rmdirSync(join(path, 'c1.com.png'));
  expect(await night(domains)).toMatchObject({ saved: 1, kept: 39, asked: ['c1.com'] });
});

describe('a logo', () => {
  it.each<[string, Night & { readonly lost?: boolean }, string]>([
    ['whose URL is the same', {}, 'kept'],
    ['whose URL is another one', { version: 2 }, 'asked'],
    ['whose file is gone', { lost: true }, 'asked'],
    ['in a refresh', { refresh: true }, 'asked'],
  ])('%s: %s is %s', async (_, change, expected) => {
    const { night, path } = await useNights(() => PICTURE);
    await night(['c0.com']);
    if (change.lost) rmSync(join(path, 'c0.com.png'));
    const { kept, asked } = await night(['c0.com'], change);
    expect(kept === 1 ? 'kept' : asked.length === 1 ? 'asked' : '').toBe(expected);
  });

  it.each([
    ['http_404', 1, 'left'],
    ['not_a_picture', 1, 'left'],
    ['http_404', 8, 'asked'],
    ['timeout', 1, 'asked'],
    ['http_500', 1, 'asked'],
    ['private_address', 1, 'asked'],
    ['svg_left_out', 1, 'asked'],
  ])('that could not be had (%s), %i days later, is %s', async (reason, days, expected) => {
    const { night } = await useNights(() => ({ reason }));
    await night(['c0.com']);
    const { asked, reasons } = await night(['c0.com'], { days });
    expect(reasons).toEqual({ [reason]: 1 });
    expect(asked.length === 1 ? 'asked' : 'left').toBe(expected);
  });
});

it('pictureFileOf is the domain, fit for every file system', () => {
  expect(pictureFileOf('acme.com', 'png')).toBe('acme.com.png');
  expect(pictureFileOf('xn--mller-kva.de', 'svg')).toBe('xn--mller-kva.de.svg');
  const long = (end: string): string => `${`${'a'.repeat(60)}.`.repeat(4)}${end}`;
  const names = [pictureFileOf(long('com'), 'webp'), pictureFileOf(long('net'), 'webp')];
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name.length).toBeLessThan(240);
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
});
