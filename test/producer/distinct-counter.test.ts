import { describe, expect, it } from 'vitest';
import { createDistinctCounter } from '../../src/producer/distinct-counter.ts';

describe('createDistinctCounter', () => {
  it('counts each text once, also while it grows', () => {
    const counter = createDistinctCounter();
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < 100_000; at += 1) {
        expect(counter.add(`company-${at}.com`)).toBe(round === 0);
      }
    }
    expect(counter.count).toBe(100_000);
  });

  it('tells apart what differs in one character only, or in length', () => {
    const counter = createDistinctCounter();
    const texts = ['', 'a', 'aa', 'ab', 'ba', '\0', '\0\0', 'é', 'e'];
    expect(texts.map((text) => counter.add(text))).toEqual(texts.map(() => true));
  });
});
