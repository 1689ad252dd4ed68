import { describe, expect, it } from 'vitest';
import { readNumber } from '../../../src/web/app-page/read-number.ts';

describe('a number that somebody types', () => {
  it.each([
    ['0,01', 'de', 0.01],
    ['0.01', 'de', 0.01],
    ['0.001', 'de', 0.001],
    ['1.000', 'de', 1_000],
    ['1.234.567,5', 'de', 1_234_567.5],
    ['1,000', 'en', 1_000],
    ['1.000', 'en', 1],
    ['0,5', 'en', 0.5],
    ["12'000", 'de-CH', 12_000],
    ['12 000', 'fr', 12_000],
    [' 500 ', 'en', 500],
    ['.5', 'en', 0.5],
  ])('%s is read in the way of %s', (text, locale, value) => {
    expect(readNumber(text, locale)).toBe(value);
  });

  it.each(['', 'x', '-1', '1e3', '1,2,3', '0x10', 'Infinity', '.'])('%s is none', (text) => {
    expect(readNumber(text, 'en')).toBeUndefined();
  });
});
