import { expect, it } from 'vitest';
import { formatCount } from '../../../src/common/format.ts';

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
