import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { describeSystemError, systemErrorCode } from '../../src/common/errors.ts';
import { formatCount, formatPrice, formatRate, formatUnits } from '../../src/common/format.ts';

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

describe('an error of Node.js', () => {
  it('is known also where it is of another context, as in tests with Jest', () => {
    const error: unknown = runInNewContext(
      "Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })",
    );
    expect(error).not.toBeInstanceOf(Error);
    expect(systemErrorCode(error)).toBe('ENOENT');
    expect(describeSystemError(error)).toBe('there is no such file or folder');
    expect(describeSystemError(runInNewContext("new Error('gone')"))).toBe('gone');
  });
});
