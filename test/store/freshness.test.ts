import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutcomeStatus } from '../../src/calls/outcome.ts';
import { type Freshness, isFresh } from '../../src/store/freshness.ts';
import { createRandom } from '../support/random.ts';

const DAY_MS = 86_400_000;
const STARTED_AT_MS = Date.UTC(2026, 10, 20);
/** The run has been going on for two days. */
const NOW_MS = STARTED_AT_MS + 2 * DAY_MS;
const EXACT: Freshness = { foundMs: 30 * DAY_MS, notFoundMs: 7 * DAY_MS, jitter: 0 };
const NONE: Freshness = { foundMs: 0, notFoundMs: 0, jitter: 0.2 };

const MOMENT = 1 / DAY_MS;

type Case = [status: OutcomeStatus, days: number, freshness: Freshness, isFresh: boolean];
const ANSWERED = ['found', 'not_found', 'rejected'] as const;

it.each<Case>([
  ['found', 30 - MOMENT, EXACT, true],
  ['found', 30, EXACT, false],
  ['not_found', 7 - MOMENT, EXACT, true],
  ['not_found', 7, EXACT, false],
  ['rejected', 7 - MOMENT, EXACT, true],
  ['rejected', 7, EXACT, false],
  ['failed', MOMENT, EXACT, false],
  ['found', MOMENT, NONE, false],
  // Of this run.
  ...[...ANSWERED, 'failed' as const].flatMap((status) =>
    [0, -MOMENT, -1].map((days): Case => [status, days, NONE, true]),
  ),
  // Dated in the future, which is not of this run.
  ['failed', -3, EXACT, false],
  ...ANSWERED.flatMap((status) =>
    [-3, -30, -4_000].flatMap((days): Case[] => [
      [status, days, EXACT, true],
      [status, days, NONE, false],
    ]),
  ),
])('an outcome that is %s, %d days before the run began, with %j, is fresh: %s', (...given) => {
  const [status, days, freshness, expected] = given;
  const outcome = { status, fetchedAtMs: STARTED_AT_MS - days * DAY_MS };
  const at = { freshness, startedAtMs: STARTED_AT_MS, nowMs: NOW_MS };
  expect(isFresh('acme.com', outcome, at)).toBe(expected);
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
          const isFreshAtAge = (ageMs: number): boolean => {
            const nowMs = fetchedAtMs + ageMs;
            const at = { freshness, startedAtMs: nowMs, nowMs };
            return isFresh(domain, { status: 'found', fetchedAtMs }, at);
          };
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

/**
 * How many of a list that was enriched in night 0 are due in each night after it, when all are
 * asked.
 */
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
