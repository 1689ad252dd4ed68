import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type FieldValue,
  findWaitMs,
  type TimeField,
} from '../../../src/brand/limit-headers/time.ts';

const NOW = 'Fri, 20 Nov 2026 20:00:00 GMT';
const NOW_MS = Date.parse(NOW);
const YEAR_MS = 365 * 86_400_000;

function find(value: FieldValue, field?: TimeField, date?: string): number | undefined {
  return findWaitMs(value, { date, nowMs: NOW_MS }, field);
}

describe('a field that names a time', () => {
  it.each([
    ['0', 0],
    ['5', 5_000],
    [' 120 ', 120_000],
    ['007', 7_000],
    ['0.25', 250],
    ['1.5', 1_500],
    ['4000', 4_000_000],
    ['86400', 86_400_000],
    ['"120"', 120_000],
    ['999999999', YEAR_MS],
  ])('takes %j for seconds from now', (value, waitMs) => {
    expect(find(value)).toBe(waitMs);
  });

  it.each([
    ['350', 350],
    ['12.5', 12.5],
    ['1764000000', 1_764_000_000],
    [String(NOW_MS + 2_000), 2_000],
    ['2s', 2_000],
    ['Fri, 20 Nov 2026 20:01:00 GMT', 61_000],
  ])('takes %j for %i ms where a number is in milliseconds', (value, waitMs) => {
    expect(find(value, { unit: 'ms' })).toBe(waitMs);
  });

  it.each([
    ['seconds, and one for what was rounded away', NOW_MS / 1e3 + 30, 31_000],
    ['seconds with a fraction', NOW_MS / 1e3 + 1.25, 1_250],
    ['milliseconds', NOW_MS + 1_234, 1_234],
    ['microseconds', (NOW_MS + 1_234) * 1e3, 1_234],
    ['nanoseconds', (NOW_MS + 1_234) * 1e6, 1_234],
  ])('takes a number from 1e9 on for a point in time, in %s', (_, number, waitMs) => {
    expect(find(String(number))).toBeCloseTo(waitMs, 3);
    expect(find(`"${number}"`)).toBeCloseTo(waitMs, 3);
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
    ['120 seconds', 120_000],
    ['1 minute 30 secs', 90_000],
    ['2 hrs', 7_200_000],
    ['1 day', 86_400_000],
    ['PT30S', 30_000],
    ['P1DT2H3M4.5S', 93_784_500],
    ['00:00:30', 30_000],
    ['1.02:03:04.5000000', 93_784_500],
  ])('takes %j for a duration', (value, waitMs) => {
    expect(find(value)).toBeCloseTo(waitMs, 6);
  });

  it.each([
    'Fri, 20 Nov 2026 20:01:00 GMT',
    'Friday, 20-Nov-26 20:01:00 GMT',
    'Fri Nov 20 20:01:00 2026',
    'Fri, 20 Nov 2026 20:01:00 UTC',
    'Fri, 20 Nov 2026 20:01:00 -0000',
    'Fri, 20 Nov 2026 21:01:00 +0100',
    '"Fri, 20 Nov 2026 20:01:00 GMT"',
    '2026-11-20T20:01:00Z',
    '2026-11-20T20:01:00.0000000Z',
    '2026-11-20T21:01:00+01:00',
    '2026-11-20T21:01:00+01',
    '2026-11-20 20:01:00',
    '2026-11-20 20:01:00 UTC',
    '2026-11-20 20:01:00 +0000',
    'Fri Nov 20 2026 20:01:00 GMT+0000 (Coordinated Universal Time)',
    'Fri Nov 20 2026 21:01:00 GMT+0100 (Central European Standard Time)',
    'Fri Nov 20 2026 21:01:00 GMT+0100 (heure normale d’Europe centrale)',
  ])('takes %j for a date, and adds a second for what was rounded away', (value) => {
    expect(find(value)).toBe(61_000);
  });

  it('takes a date with a fraction of a second to the moment, and a day for its beginning', () => {
    expect(find('2026-11-20T20:00:04.250Z')).toBe(4_250);
    expect(find('2026-11-21')).toBe(4 * 3_600_000 + 1_000);
  });

  it('takes a date whose day has one digit', () => {
    expect(
      findWaitMs('Thu, 5 Nov 2026 00:00:01 GMT', { date: undefined, nowMs: Date.UTC(2026, 10, 5) }),
    ).toBe(2_000);
  });

  it.each([
    ['seconds', '1606000005'],
    ['a date of HTTP', new Date(1_606_000_005_000).toUTCString()],
    ['a date of ISO 8601', new Date(1_606_000_005_000).toISOString()],
  ])('reads a point in time by the clock of the server: %s', (_, value) => {
    expect(find(value, {}, new Date(1_606_000_000_000).toUTCString())).toBe(6_000);
    expect(find(value)).toBeUndefined();
    expect(find('Fri, 20 Nov 2026 20:01:00 GMT', {}, 'no date')).toBe(61_000);
  });

  it.each([
    undefined,
    '',
    ' ',
    '""',
    '-5',
    '"-5"',
    '-1.5s',
    '+5',
    '1e3',
    '1e9',
    '0x10',
    'soon',
    'retry 3600',
    'later 2030',
    'in 5 minutes',
    '1y',
    'P',
    'PT',
    'Infinity',
    'NaN',
    '{"minute":5}',
    NOW,
    'Fri, 20 Nov 2026 19:59:59 GMT',
    'Fri, 99 Nov 2026 20:01:00 GMT',
    '2026-99-99T20:01:00Z',
    '2026-11-20T19:59:59Z',
    '1000000000',
    String(NOW_MS / 1e3),
    String(NOW_MS - 1),
  ])('takes %j for nothing', (value) => {
    expect(find(value)).toBeUndefined();
  });

  it.each<[FieldValue, number]>([
    [['1', '30', '2'], 30_000],
    ['1, 30', 30_000],
    ['120, 120', 120_000],
    ['"120", "60"', 120_000],
    [['soon', '3'], 3_000],
    ['5, 30, soon, 6m0s', 360_000],
    [['3', 'Fri, 20 Nov 2026 20:01:00 GMT'], 61_000],
    ['Fri, 20 Nov 2026 20:01:00 GMT, Fri, 20 Nov 2026 20:02:00 GMT', 121_000],
    ['Friday, 20-Nov-26 20:01:00 GMT, 5', 61_000],
  ])('counts the latest of %j', (value, waitMs) => {
    expect(find(value)).toBe(waitMs);
  });

  it.each([
    '99999999999999999999',
    '9'.repeat(400),
    'Fri, 20 Nov 9999 20:01:00 GMT',
    '9999-12-31T23:59:59Z',
    'P9999D',
  ])('counts %j for a year', (value) => {
    expect(find(value)).toBe(YEAR_MS);
  });

  it('names a wait of at most a year or nothing, whatever a server says', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[\d.]{1,30}$/),
      fc.stringMatching(/^[\w ,:.+"-]{0,30}$/),
      fc.stringMatching(/^(\d{1,9}(ms|s|m|h|d)){1,4}$/),
      fc.stringMatching(/^P(\d{1,9}D)?T?(\d{1,3}(H|M|S)){0,3}$/),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.date({ noInvalidDate: true }).map(String),
    );
    fc.assert(
      fc.property(fc.array(texts), texts, fc.constantFrom('s', 'ms'), (value, date, unit) => {
        const waitMs = find(value, { unit }, date) ?? 0;
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(YEAR_MS);
      }),
    );
  });
});
