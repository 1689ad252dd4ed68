import { describe, expect, it } from 'vitest';
import { fmix32, fnv1a } from '../../src/common/hashes.ts';

describe('fnv1a', () => {
  // From the list of its authors.
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('hashes %j as its authors do', (text, hash) => {
    expect(fnv1a(text)).toBe(hash);
  });

  it('hashes a text otherwise with another seed', () => {
    expect(fnv1a('foobar', 1)).not.toBe(fnv1a('foobar'));
  });
});

describe('fmix32', () => {
  it.each([
    [0, 0],
    [1, 0x514e28b7],
    [0xffffffff, 0x81f16f39],
  ])('spreads %i as MurmurHash3 does', (hash, spread) => {
    expect(fmix32(hash)).toBe(spread);
  });

  it('takes a hash with a sign for the same hash without one', () => {
    expect(fmix32(-1)).toBe(fmix32(0xffffffff));
  });
});
