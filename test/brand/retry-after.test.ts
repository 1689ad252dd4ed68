import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../src/brand/retry-after.ts';

const NOW = 'Fri, 20 Nov 2026 20:00:00 GMT';
const YEAR_MS = 365 * 86_400_000;

function parse(value: string | string[] | undefined, date?: string): number | undefined {
  return parseRetryAfter(value, { date, nowMs: Date.parse(NOW) });
}

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['5', 5_000],
    [' 120 ', 120_000],
    ['007', 7_000],
    ['1.5', 1_500],
    ['3600', 3_600_000],
  ])('takes %j for seconds', (value, waitMs) => {
    expect(parse(value)).toBe(waitMs);
  });

  it.each([
    ['as servers send it', 'Fri, 20 Nov 2026 20:01:00 GMT'],
    ['as RFC 850 had it', 'Friday, 20-Nov-26 20:01:00 GMT'],
    ['as asctime has it', 'Fri Nov 20 20:01:00 2026'],
  ])('takes a date, %s, for the time from now and a second', (_, value) => {
    expect(parse(value)).toBe(61_000);
  });

  it('takes a date relative to the clock of the server', () => {
    const value = 'Fri, 20 Nov 2020 20:01:00 GMT';
    expect(parse(value, 'Fri, 20 Nov 2020 20:00:00 GMT')).toBe(61_000);
    expect(parse(value)).toBeUndefined();
    expect(parse('Fri, 20 Nov 2026 20:01:00 GMT', 'no date')).toBe(61_000);
  });

  it.each([
    undefined,
    '',
    ' ',
    '-5',
    '+5',
    '1e3',
    '5s',
    '0x10',
    'soon',
    'retry 3600',
    'later 2030',
    '120 seconds',
    'in 5 minutes',
    'Infinity',
    'NaN',
    NOW,
    'Fri, 20 Nov 2026 19:59:59 GMT',
    'Fri, 99 Nov 2026 20:01:00 GMT',
    '2026-11-20T20:01:00Z',
  ])('takes %j for nothing', (value) => {
    expect(parse(value)).toBeUndefined();
  });

  it('takes the longest of several', () => {
    expect(parse(['1', '30', '2'])).toBe(30_000);
    expect(parse('1, 30')).toBe(30_000);
    expect(parse(['soon', '3'])).toBe(3_000);
    expect(parse(['3', 'Fri, 20 Nov 2026 20:01:00 GMT'])).toBe(61_000);
  });

  it('is never more than a year', () => {
    expect(parse('99999999999999999999')).toBe(YEAR_MS);
    expect(parse('9'.repeat(400))).toBe(YEAR_MS);
    expect(parse('Fri, 20 Nov 9999 20:01:00 GMT')).toBe(YEAR_MS);
  });

  it('is a wait or nothing, whatever a server says', () => {
    const values = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[\w ,:.+-]{0,30}$/),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(fc.array(values), values, (value, date) => {
        const waitMs = parse(value, date) ?? 0;
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(YEAR_MS);
      }),
    );
  });
});
