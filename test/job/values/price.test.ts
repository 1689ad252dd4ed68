import { describe, expect, it } from 'vitest';
import { costOf, formatPrice, parsePrice } from '../../../src/job/values/quantities.ts';
import { read, refusalOf } from '../read-settings.ts';

describe('a price', () => {
  it.each([
    ['0.01', 0.01],
    [0.01, 0.01],
    [' 12 ', 12],
    ['0', 0],
    [0.000_001, 0.000_001],
    ['1000000', 1_000_000],
  ])('is a decimal number: %j', (given, price) => {
    expect(parsePrice(given)).toBe(price);
    expect(read({ price: given }).price).toBe(price);
  });

  it.each([
    '0,01',
    '$0.01',
    '0.01 EUR',
    '.5',
    '1.',
    '-1',
    '1e-2',
    '0.0000001',
    '1000001',
    'free',
    '',
    true,
  ])('is refused, saying what was expected: %j', (given) => {
    expect(refusalOf({ price: given })).toMatch(/a number with a point.*such as 0\.01, received/);
  });
});

describe('what calls cost', () => {
  it.each([
    [3, 0.1, 0.3],
    [7, 0.1, 0.7],
    [1_000, 0.0125, 12.5],
    [3, 1.1, 3.3],
    [0, 0.1, 0],
    [123_456_789, 0.000_001, 123.456_789],
    [9_007_199_254_740_991, 1_000_000, 9.007_199_254_740_991e21],
  ])('has no digits that are not in it: %d at %d', (calls, price, cost) => {
    expect(costOf(calls, price)).toBe(cost);
  });

  it.each([
    [0.3, '0.30'],
    [12.5, '12.50'],
    [0, '0.00'],
    [0.000_125, '0.000125'],
    [1_234_567.891, '1,234,567.891'],
  ])('is written with two decimals or more: %d', (amount, text) => {
    expect(formatPrice(amount)).toBe(text);
  });
});
