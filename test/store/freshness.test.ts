import { describe, expect, it } from 'vitest';
import type { OutcomeStatus } from '../../src/brand/outcome.ts';
import { isFresh } from '../../src/store/freshness.ts';

const DAY_MS = 86_400_000;
const STARTED_AT_MS = Date.UTC(2026, 10, 20);
const freshness = { foundMs: 30 * DAY_MS, notFoundMs: 7 * DAY_MS };

function isFreshAfter(status: OutcomeStatus, ageMs: number, limits = freshness): boolean {
  return isFresh({ status, fetchedAtMs: STARTED_AT_MS - ageMs }, limits, STARTED_AT_MS);
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
      for (const ageMs of [0, -1, -DAY_MS]) {
        expect(isFreshAfter(status, ageMs, { foundMs: 0, notFoundMs: 0 })).toBe(true);
      }
    },
  );

  it('of an earlier run is never fresh when none shall be', () => {
    expect(isFreshAfter('found', 1, { foundMs: 0, notFoundMs: 0 })).toBe(false);
  });
});
