import { expect, it, onTestFinished } from 'vitest';
import type { Fetched } from '../../src/logos/fetch-picture.ts';
import { createHostTurns } from '../../src/logos/host-turns.ts';
import { type LogoCounts, openPictureFolder, saveLogos } from '../../src/logos/save-logos.ts';
import { openStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { PNG } from './svgs.ts';

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
  const many = Array.from({ length: 600 }, (_, at) => `c${at}.com`);
  const first = await night([...many, 'unknown.com']);
  expect(first).toMatchObject({ saved: 600, kept: 0, missing: 0 });
  expect(first.asked).toHaveLength(600);
  expect(await night(many)).toMatchObject({ saved: 0, kept: 600, missing: 0, asked: [] });
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
