import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLimits } from '../../../src/brand/limit-headers/find-limits.ts';
import type { FieldValue } from '../../../src/brand/limit-headers/time.ts';
import { anyCharacter } from '../../support/any-character.ts';

const TIME = { nowMs: Date.parse('2026-11-20T20:00:00Z'), date: undefined };
const NAMES = [
  'retry-after',
  'retry-after-ms',
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-limit',
  'x-ratelimit-limit-minute',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-rate-limit-reset-requests',
];
const KIB_64 = 64 * 1024;
const NOTICEABLE_MS = 20;

/** The numbers of a value, however deep. */
function numbersIn(value: unknown): readonly number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

function expectSane(headers: Readonly<Record<string, FieldValue>>): void {
  for (const number of numbersIn(findLimits(headers, TIME))) {
    expect(Number.isFinite(number)).toBe(true);
    expect(number).toBeGreaterThanOrEqual(0);
  }
}

/** Every header, with the same value. */
function everywhere(value: FieldValue): Record<string, FieldValue> {
  return Object.fromEntries(NAMES.map((name) => [name, value]));
}

/** The best of some tries, because the machine may be busy; the first that is good enough. */
function timeOf(headers: Readonly<Record<string, FieldValue>>): number {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 20 && bestMs >= NOTICEABLE_MS; tries += 1) {
    const startMs = performance.now();
    findLimits(headers, TIME);
    bestMs = Math.min(bestMs, performance.now() - startMs);
  }
  return bestMs;
}

describe('headers of a server that means harm', () => {
  it('never yield what is negative, endless or no number, and never throw', () => {
    const values = fc.oneof(
      fc.string(),
      fc.string({ unit: anyCharacter }),
      fc.stringMatching(/^[\d.,;="a-z -]{0,40}$/),
      fc.stringMatching(/^"p";(q|r|t|w)=-?\d{1,15}(;(q|r|t|w)=-?\d{1,14}(\.\d)?){0,3}$/),
      fc.constantFrom('NaN', 'Infinity', '-1', '1e400', '9'.repeat(500), '0', '-0', '0.0'),
    );
    const fields = fc.oneof(values, fc.array(values));
    fc.assert(fc.property(fc.dictionary(fc.constantFrom(...NAMES), fields), expectSane), {
      numRuns: 300,
    });
  });

  it.each([
    ['digits', '9'.repeat(KIB_64)],
    ['commas', ','.repeat(KIB_64)],
    ['blanks', ' '.repeat(KIB_64)],
    ['items', '"p";q=1;w=1;r=0;t=1,'.repeat(KIB_64 / 20)],
    ['integers', '1,'.repeat(KIB_64 / 2)],
    ['parameters', `"p"${';a=1'.repeat(KIB_64 / 4)}`],
    ['an open string', `"${'a'.repeat(KIB_64)}`],
    ['an open list', '('.repeat(KIB_64)],
    ['durations', '1m'.repeat(KIB_64 / 2)],
    ['half a date', `Fri, ${'20 '.repeat(KIB_64 / 3)}`],
    ['thousands of lines', Array.from({ length: 5_000 }, () => '"p";r=0;t=5')],
    ['long lines', Array.from({ length: 50 }, () => '1'.repeat(KIB_64))],
  ])('take no noticeable time: %s', (_, value) => {
    const headers = everywhere(value);
    expectSane(headers);
    expect(timeOf(headers)).toBeLessThan(NOTICEABLE_MS);
  });

  it('take no noticeable time: thousands of names', () => {
    const headers: Record<string, string> = {};
    for (let n = 0; n < 5_000; n += 1) headers[`x-ratelimit-reset-${n}`] = '5';
    expectSane(headers);
    expect(timeOf(headers)).toBeLessThan(NOTICEABLE_MS);
  });

  it('are still understood where they begin', () => {
    expect(findLimits({ ratelimit: '"p";r=0;t=5, '.repeat(5_000) }, TIME)).toEqual({
      limits: { remaining: 0, resetMs: 5_000 },
    });
  });
});
