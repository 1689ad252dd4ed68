import { describe, expect, it } from 'vitest';
import { createHashTable } from '../../src/producer/distinct-domains.ts';

describe('createHashTable', () => {
  it('counts each text once, also while it grows', () => {
    const table = createHashTable();
    const texts = Array.from({ length: 20_000 }, (_, at) => `company-${at}.com`);
    expect(texts.filter((text) => !table.add(text))).toEqual([]);
    expect(texts.filter((text) => table.add(text))).toEqual([]);
    expect(table.size).toBe(20_000);
  });

  it('tells apart what differs in one character only, or in length', () => {
    const table = createHashTable();
    const texts = ['', 'a', 'aa', 'ab', 'ba', '\0', '\0\0', 'é', 'e'];
    expect(texts.map((text) => table.add(text))).toEqual(texts.map(() => true));
  });
});
