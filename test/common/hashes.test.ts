import { expect, it } from 'vitest';
import { hashText } from '../../src/common/hashes.ts';

function hashesOf(texts: readonly string[], seed = 0): Uint32Array {
  const hashes = new Uint32Array(texts.length * 2);
  for (const [at, text] of texts.entries()) hashText(text, seed, hashes, at * 2);
  return hashes;
}

it('a text has one hash, and another with another seed', () => {
  const [one, other] = [hashesOf(['acme.com', 'acme.com']), hashesOf(['acme.com'], 1)];
  expect(one.slice(0, 2)).toEqual(one.slice(2));
  expect(other).not.toEqual(one.slice(0, 2));
});

it('texts that are nearly the same are spread over all of the range, in each of the two words', () => {
  const texts = Array.from({ length: 64_000 }, (_, at) => `maker-${at}.com`);
  const hashes = hashesOf(texts);
  for (const word of [0, 1]) {
    const buckets = new Uint32Array(64);
    for (let at = word; at < hashes.length; at += 2) {
      const bucket = (hashes[at] ?? 0) >>> 26;
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    // A thousand each on average, with a deviation of 32.
    expect(Math.min(...buckets)).toBeGreaterThan(850);
    expect(Math.max(...buckets)).toBeLessThan(1_150);
  }
});
