import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeSystemError, systemErrorCode } from '../../src/common/errors.ts';
import {
  costOf,
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatUnits,
} from '../../src/common/format.ts';
import { findNearest } from '../../src/common/text.ts';

it.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [12_345, '12,345'],
  [999_999, '999,999'],
  [1_000_000, '1,000,000'],
  [-1_234, '-1,234'],
])('writes %d as %s', (amount, written) => {
  expect(formatCount(amount)).toBe(written);
  expect(formatCount(amount)).toBe(amount.toLocaleString('en-US'));
});

it.each([
  [1_234.5, '1,235/s'],
  [50.2, '50/s'],
  [5, '5/s'],
  [2.53, '2.5/s'],
  [0.1, '6/min'],
  [1 / 60, '1/min'],
  [30 / 3_600, '30/h'],
  [12 / 86_400, '12/d'],
])('writes %d calls per second as %s', (perSecond, written) => {
  expect(formatRate(perSecond)).toBe(written);
});

it.each([0, 0.01, 0.1, 1234.5, 0.000125, 1e6, 7.1234567])(
  'writes the price and bill of %d',
  (amount) => {
    const most = { maximumFractionDigits: 6 };
    const price = amount.toLocaleString('en-US', { minimumFractionDigits: 2, ...most });
    expect(formatPrice(amount)).toBe(price);
    const bill = { units: amount, unit: 'credits' };
    expect(formatUnits(bill)).toBe(`${amount.toLocaleString('en-US', most)} credits`);
  },
);

it.each([
  [0.4, '0 ms'],
  [850.3, '850 ms'],
  [9_940, '9.9 s'],
  [9_999, '10 s'],
  [250_000, '4 min 10 s'],
  [11_100_000, '3 h 5 min'],
  [2_592_000_000, '30 d'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

it('no duration has a thousand milliseconds or sixty seconds', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (ms) => {
      expect(formatDuration(ms)).toMatch(/^\d+(\.\d)? (ms|s|min|h|d)( \d+ (s|min|h))?$/);
      expect(formatDuration(ms)).not.toMatch(/\b(1000 ms|60 s|60 min|24 h)/);
    }),
    { examples: [[999.6], [59_999], [3_599_999]] },
  );
});

it.each([
  [3, 0.1, 0.3, '0.30'],
  [1_000, 0.0125, 12.5, '12.50'],
  [123_456_789, 0.000_001, 123.456_789, '123.456789'],
  [9_007_199_254_740_991, 1_000_000, 9.007_199_254_740_991e21, expect.any(String)],
])('%d calls at %d cost %d, with no digits that are not in it', (calls, price, cost, text) => {
  expect(costOf(calls, price)).toBe(cost);
  expect(formatPrice(cost)).toEqual(text);
});

it.each([
  ['freshh', 'fresh'],
  ['base-url', 'baseUrl'],
  ['BASE_URL', 'baseUrl'],
  ['concurency', 'concurrency'],
  ['domain', 'domainColumn'],
  ['output', 'out'],
  ['quota', undefined],
  ['x', undefined],
])('%s is probably %s', (word, meant) => {
  const known = ['baseUrl', 'fresh', 'freshNotFound', 'concurrency', 'out', 'domainColumn'];
  expect(findNearest(word, known)).toBe(meant);
});

it('an error of Node.js is known also where it is of another context, as in tests with Jest', () => {
  const error: unknown = runInNewContext(
    "Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })",
  );
  expect(error).not.toBeInstanceOf(Error);
  expect(systemErrorCode(error)).toBe('ENOENT');
  expect(describeSystemError(error)).toBe('there is no such file or folder');
  expect(describeSystemError(runInNewContext("new Error('gone')"))).toBe('gone');
});
