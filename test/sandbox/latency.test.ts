import { describe, expect, it } from 'vitest';
import { hashText } from '../../src/sandbox/brand-answer.ts';
import { createLatency } from '../../src/sandbox/brand-endpoint.ts';
import { createDomains } from './sandboxes.ts';

const hashes = createDomains(20_000).map((domain) => hashText(domain, 1));

describe('latency', () => {
  it('is none by default and fixed for a number', () => {
    expect(createLatency(undefined)).toBeUndefined();
    expect(createLatency(0)).toBeUndefined();
    expect(createLatency(80)?.(1, 1)).toBe(80);
  });

  it('is log-normal within a range: the median is the geometric mean, and one in a hundred is at each end', () => {
    const latency = createLatency({ fromMs: 20, toMs: 7000 });
    const drawn = hashes.map((hash) => latency?.(hash, 1) ?? 0).sort((a, b) => a - b);
    const at = (share: number) => drawn[Math.floor(share * drawn.length)] ?? 0;
    expect(at(0)).toBe(20);
    expect(at(0.5)).toBeGreaterThan(350);
    expect(at(0.5)).toBeLessThan(400);
    expect(at(0.005)).toBe(20);
    expect(at(0.02)).toBeGreaterThan(20);
    expect(at(0.98)).toBeLessThan(7000);
    expect(at(0.995)).toBe(7000);
  });

  it('is drawn anew for each call of a domain, the same way each time', () => {
    const latency = createLatency({ fromMs: 20, toMs: 7000 });
    const drawn = [1, 2, 3].map((ordinal) => latency?.(42, ordinal));
    expect(new Set(drawn).size).toBe(3);
    expect([1, 2, 3].map((ordinal) => latency?.(42, ordinal))).toEqual(drawn);
  });
});
