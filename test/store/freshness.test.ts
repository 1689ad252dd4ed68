import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutcomeStatus } from '../../src/calls/outcome.ts';
import { type Freshness, isFresh } from '../../src/store/freshness.ts';
import { createRandom } from '../support/random.ts';

const DAY_MS = 86_400_000;
const STARTED_AT_MS = Date.UTC(2026, 10, 20);
/** The run has been going on for two days. */
const NOW_MS = STARTED_AT_MS + 2 * DAY_MS;
const EXACT: Freshness = {
  foundMs: 30 * DAY_MS,
  notFoundMs: 7 * DAY_MS,
  jitter: 0,
};
const NONE: Freshness = { foundMs: 0, notFoundMs: 0, jitter: 0.2 };

function isFreshAfter(status: OutcomeStatus, ageMs: number, freshness = EXACT): boolean {
  const outcome = { status, fetchedAtMs: STARTED_AT_MS - ageMs };
  return isFresh('acme.com', outcome, { freshness, startedAtMs: STARTED_AT_MS, nowMs: NOW_MS });
}

describe('an outcome', () => {
  it.each<[OutcomeStatus, number]>([
    ['found', 30 * DAY_MS],
    ['not_found', 7 * DAY_MS],
    ['rejected', 7 * DAY_MS],
  ])('that is %s is fresh until it has its age', (status, ageMs) => {
    expect(isFreshAfter(status, ageMs - 1)).toBe(true);
    expect(isFreshAfter(status, ageMs)).toBe(false);
  });

  it('that failed is never fresh in a later run', () => {
    expect(isFreshAfter('failed', 1)).toBe(false);
  });

  it.each<OutcomeStatus>(['found', 'not_found', 'rejected', 'failed'])(
    'of this run is always fresh (%s)',
    (status) => {
      for (const ageMs of [0, -1, -DAY_MS]) expect(isFreshAfter(status, ageMs, NONE)).toBe(true);
    },
  );

  it('of an earlier run is never fresh when none shall be', () => {
    expect(isFreshAfter('found', 1, NONE)).toBe(false);
  });

  it.each<OutcomeStatus>(['found', 'not_found', 'rejected'])(
    'that is %s and dated in the future is fresh, unless none shall be',
    (status) => {
      for (const aheadDays of [3, 30, 4_000]) {
        expect(isFreshAfter(status, -aheadDays * DAY_MS)).toBe(true);
        expect(isFreshAfter(status, -aheadDays * DAY_MS, NONE)).toBe(false);
      }
    },
  );

  it('that failed in the future is not of this run', () => {
    expect(isFreshAfter('failed', -3 * DAY_MS)).toBe(false);
  });
});

describe('with jitter an outcome', () => {
  it('falls due once, between what is left of its duration and the whole of it', () => {
    fc.assert(
      fc.property(
        fc.domain(),
        fc.integer({ min: 0, max: 4_102_444_800_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 400 * DAY_MS }),
        (domain, fetchedAtMs, jitter, foundMs) => {
          const freshness = { ...EXACT, foundMs, jitter };
          const isFreshAtAge = (ageMs: number): boolean =>
            isFresh(
              domain,
              { status: 'found', fetchedAtMs },
              { freshness, startedAtMs: fetchedAtMs + ageMs, nowMs: fetchedAtMs + ageMs },
            );
          expect(isFreshAtAge(foundMs)).toBe(false);
          expect(isFreshAtAge(Math.max(0, Math.ceil(foundMs * (1 - jitter)) - 1))).toBe(true);
          const ages = Array.from({ length: 50 }, (_, step) => (foundMs * step) / 49);
          const answers = ages.map(isFreshAtAge);
          expect(answers.toSorted((a, b) => Number(b) - Number(a))).toEqual(answers);
        },
      ),
    );
  });

  it.each(['found', 'not_found', 'rejected'] as const)(
    'that is %s falls due over the nights at the end of its duration, not in one',
    (status) => {
      const freshness = { ...EXACT, foundMs: 30 * DAY_MS, notFoundMs: 30 * DAY_MS, jitter: 0.2 };
      const due = dueNights(freshness, { status, nights: 30 });
      expect(due.slice(0, 24)).toEqual(Array.from({ length: 24 }, () => 0));
      for (const count of due.slice(25, 30)) expect(count).toBeGreaterThan(LIST / 8);
      expect(due.reduce((sum, count) => sum + count, 0)).toBe(LIST);
    },
  );

  it('of one night is asked by about as many each night in the end, and without jitter never', () => {
    const nights = 600;
    const mean = LIST / 27;
    const late = dueNights({ ...EXACT, jitter: 0.2 }, { status: 'found', nights }).slice(-30);
    expect(Math.max(...late)).toBeLessThan(mean * 1.6);
    expect(Math.min(...late)).toBeGreaterThan(mean * 0.5);
    const peaks = dueNights(EXACT, { status: 'found', nights: 90 }).slice(-30);
    expect(Math.max(...peaks)).toBe(LIST);
  });
});

const LIST = 3_000;

/** How many of a list that was enriched in night 0 are due in each night after it, when all are asked. */
function dueNights(
  freshness: Freshness,
  { status, nights }: { readonly status: OutcomeStatus; readonly nights: number },
): number[] {
  const random = createRandom(1);
  const name = (): string => Math.floor(random() * 1e9).toString(36);
  const fetched = new Map(Array.from({ length: LIST }, () => [`${name()}.com`, STARTED_AT_MS]));
  return Array.from({ length: nights }, (_, at) => {
    const startedAtMs = STARTED_AT_MS + (at + 1) * DAY_MS;
    let due = 0;
    for (const [domain, fetchedAtMs] of fetched) {
      const night = { freshness, startedAtMs, nowMs: startedAtMs };
      if (isFresh(domain, { status, fetchedAtMs }, night)) continue;
      due += 1;
      fetched.set(domain, startedAtMs);
    }
    return due;
  });
}
