import { expect, it } from 'vitest';
import { createCounts } from '../../src/collector/counts.ts';

it('createCounts counts each text by itself, however many there are', () => {
  const counts = createCounts();
  const texts = Array.from({ length: 50_000 }, (_, at) => `maker-${at}.com`);
  for (const text of texts) expect(counts.add(text)).toBe(1);
  for (const text of texts.slice(0, 20_000)) expect(counts.add(text)).toBe(2);
  expect(counts.size).toBe(texts.length);
  expect(texts.filter((text) => counts.of(text) === 2)).toHaveLength(20_000);
  expect(counts.of('other.com')).toBe(0);
});
