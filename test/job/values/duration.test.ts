import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../../src/job/values/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['60s', 60_000],
    ['1.5s', 1_500],
    ['16.1s', 16_100],
    ['0.4ms', 0],
    ['10m', 600_000],
    ['10min', 600_000],
    ['12h', 43_200_000],
    ['30d', 2_592_000_000],
    ['2w', 1_209_600_000],
    ['0', 0],
    ['0s', 0],
    ['0.0', 0],
    [' 5 s ', 5_000],
  ])('reads %j', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    ' ',
    '60',
    '1.5',
    's',
    '-1s',
    '+1s',
    '1 year',
    '1S',
    '1e3s',
    '1s2ms',
    '1,5s',
    '.5s',
    '5.s',
    '1constructor',
    'Infinitys',
    '１s',
  ])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message: `expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '${text}'`,
      }),
    );
  });
});

describe('a duration that is read', () => {
  it('is a whole number of milliseconds, the nearest one', () => {
    fc.assert(
      fc.property(
        fc.nat(1_000_000),
        fc.nat(99_999),
        fc.constantFrom(['ms', 1n], ['s', 1_000n], ['min', 60_000n], ['h', 3_600_000n]),
        (whole, fraction, [unit, unitMs]) => {
          const digits = String(fraction).padStart(5, '0');
          const ms = parseDuration(`${whole}.${digits}${unit}`);
          expect(Number.isInteger(ms)).toBe(true);
          const exact = BigInt(`${whole}${digits}`) * unitMs; // in hundred-thousandths
          expect(Math.abs(Number(BigInt(ms) * 100_000n - exact))).toBeLessThanOrEqual(50_000);
        },
      ),
    );
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0 ms'],
    [0.4, '0 ms'],
    [850.3, '850 ms'],
    [1_000, '1 s'],
    [1_250, '1.3 s'],
    [9_940, '9.9 s'],
    [9_999, '10 s'],
    [12_400, '12 s'],
    [59_600, '1 min'],
    [250_000, '4 min 10 s'],
    [3_600_000, '1 h'],
    [11_100_000, '3 h 5 min'],
    [11_105_000, '3 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [2_592_000_000, '30 d'],
    [86_460_000, '1 d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('never shows a thousand milliseconds or sixty seconds', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (ms) => {
        expect(formatDuration(ms)).toMatch(/^\d+(\.\d)? (ms|s|min|h|d)( \d+ (s|min|h))?$/);
        expect(formatDuration(ms)).not.toMatch(/\b(1000 ms|60 s|60 min|24 h)/);
      }),
      { examples: [[999.6], [59_999], [3_599_999]] },
    );
  });
});
