import { describe, expect, it } from 'vitest';
import { createDomainSample } from '../../../src/collector/fields/rank-paths.ts';

const domains = Array.from({ length: 20_000 }, (_, at) => `company-${at}.com`);

function sampleOf(list: readonly string[], most: number): ReadonlyMap<string, number> {
  const sample = createDomainSample(most);
  for (const domain of list) sample.add(domain);
  return sample.rowsByDomain;
}

describe('createDomainSample', () => {
  it('has all domains of a short list, with their rows', () => {
    expect([...sampleOf(['a.com', 'b.com', 'a.com'], 10)]).toEqual([
      ['a.com', 2],
      ['b.com', 1],
    ]);
  });

  it('grows no further, and shrinks to no less than a third of it', () => {
    const { size } = sampleOf(domains, 1_000);
    expect(size).toBeLessThanOrEqual(1_000);
    expect(size).toBeGreaterThan(333);
    expect(sampleOf(Array(5_000).fill('a.com'), 1).get('a.com')).toBe(5_000);
  });

  it('is the same in another order, and all rows of a domain count', () => {
    const one = sampleOf([...domains, ...domains], 1_000);
    expect(sampleOf([...domains, ...domains].toReversed(), 1_000)).toEqual(one);
    expect(new Set(one.values())).toEqual(new Set([2]));
  });
});
