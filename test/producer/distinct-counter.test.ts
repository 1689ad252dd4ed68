import { describe, expect, it } from 'vitest';
import { createDistinctCounter } from '../../src/producer/distinct-counter.ts';

describe('createDistinctCounter', () => {
  it('counts each text once, also while it grows', () => {
    const counter = createDistinctCounter();
    const texts = Array.from({ length: 100_000 }, (_, at) => `company-${at}.com`);
    expect(texts.filter((text) => !counter.add(text))).toEqual([]);
    expect(texts.filter((text) => counter.add(text))).toEqual([]);
    expect(counter.count).toBe(100_000);
  });

  it('tells apart what differs in one character only, or in length', () => {
    const counter = createDistinctCounter();
    const texts = ['', 'a', 'aa', 'ab', 'ba', '\0', '\0\0', 'é', 'e'];
    expect(texts.map((text) => counter.add(text))).toEqual(texts.map(() => true));
  });
});
