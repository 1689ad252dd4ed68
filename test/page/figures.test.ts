import { expect, it } from 'vitest';
import { costOf, share } from '../../src/page/client/format.ts';

it.each([
  [0, 0, '–'],
  [0, 7, '0 %'],
  [1, 2_000, '< 0.1 %'],
  [1, 1_000, '0.1 %'],
  [1, 30, '3.3 %'],
  [1, 10, '10 %'],
  [34, 50, '68 %'],
  [7, 7, '100 %'],
])('%d of %d are %s', (part, whole, words) => {
  expect(share(part, whole)).toBe(words);
});

it.each([
  [{}, undefined],
  [{ bill: { units: 1_200, unit: 'credits' } }, '1,200 credits'],
  [{ cost: 0.5 }, '0.50'],
  [{ bill: { units: 20, unit: 'credits' }, cost: 4 }, '20 credits, 4.00'],
])('what %j costs is %s', (view, words) => {
  expect(costOf({ bill: undefined, cost: undefined, ...view })).toBe(words);
});
