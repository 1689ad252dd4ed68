import { expect, it } from 'vitest';
import { formatRate } from '../../../src/common/format.ts';

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
