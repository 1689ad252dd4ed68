import { describe, expect, it } from 'vitest';
import { type Circumstances, decide, markOf, triedMarkOf } from '../../src/logos/save-logos.ts';
import type { LogoNote } from '../../src/store/logo-notes.ts';

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
