import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findResetMs } from '../../../src/brand/limit-headers/reset.ts';

const NOW_MS = Date.parse('Fri, 20 Nov 2026 20:00:00 GMT');
const YEAR_MS = 365 * 86_400_000;

function find(text: string): number | undefined {
  return findResetMs(text, { nowMs: NOW_MS, date: undefined });
}

describe('a reset', () => {
  it.each([
    ['0', 0],
    ['5', 5_000],
    ['0.25', 250],
    ['86400', 86_400_000],
    ['999999999', YEAR_MS],
  ])('of %j is seconds from now', (text, resetMs) => {
    expect(find(text)).toBe(resetMs);
  });

  it.each([
    ['seconds, and one for what was rounded away', NOW_MS / 1_000 + 30, 31_000],
    ['milliseconds', NOW_MS + 1_234, 1_234],
    ['microseconds', (NOW_MS + 1_234) * 1_000, 1_234],
  ])('in %s since 1970 is a time', (_, number, resetMs) => {
    expect(find(String(number))).toBe(resetMs);
  });

  it.each([
    ['6m0s', 360_000],
    ['12ms', 12],
    ['1s', 1_000],
    ['1.5s', 1_500],
    ['1h2m3s', 3_723_000],
    ['1d', 86_400_000],
    ['1m30.5s', 90_500],
    ['500µs', 0.5],
    ['9999d', YEAR_MS],
  ])('of %j is a duration', (text, resetMs) => {
    expect(find(text)).toBeCloseTo(resetMs, 6);
  });

  it.each([
    'Fri, 20 Nov 2026 20:01:00 GMT',
    'Friday, 20-Nov-26 20:01:00 GMT',
    'Fri Nov 20 20:01:00 2026',
    '2026-11-20T20:01:00Z',
    '2026-11-20T20:01:00.0000000Z',
    '2026-11-20T21:01:00+01:00',
    '2026-11-20 20:01:00',
    '2026-11-20 20:01:00 UTC',
    '2026-11-20 20:01:00 +0000',
    'Fri Nov 20 2026 20:01:00 GMT+0000 (Coordinated Universal Time)',
  ])('of %j is a date', (text) => {
    expect(find(text)).toBe(61_000);
  });

  it('is the latest of several', () => {
    expect(find('5, 30, soon, 6m0s')).toBe(360_000);
  });

  it.each([
    '',
    '-5',
    '1e9',
    'NaN',
    'Infinity',
    '0x10',
    'soon',
    'reset 3600',
    '5 minutes',
    '1y',
    '{"minute":5}',
    String(NOW_MS / 1_000),
    String(NOW_MS - 1),
    '2026-99-99T20:01:00Z',
    '2026-11-20T19:59:59Z',
  ])('of %j says nothing', (text) => {
    expect(find(text)).toBeUndefined();
  });

  it('lies between now and in a year, whatever a server says', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[\d.]{1,30}$/),
      fc.stringMatching(/^(\d{1,9}(ms|s|m|h|d)){1,4}$/),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const resetMs = find(text) ?? 0;
        expect(resetMs).toBeGreaterThanOrEqual(0);
        expect(resetMs).toBeLessThanOrEqual(YEAR_MS);
      }),
    );
  });
});
