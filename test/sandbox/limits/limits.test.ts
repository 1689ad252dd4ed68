import { describe, expect, it } from 'vitest';
import { createLimiter, type Limiter, type LimitKind } from '../../../src/sandbox/limiter.ts';

const limit = { count: 10, perMs: 1000 };

/** How many of `calls` calls at one moment are let through. */
function allowedAt(limiter: Limiter, nowMs: number, calls: number): number {
  return Array.from({ length: calls }, () => limiter.take(nowMs)).filter(
    (verdict) => verdict.allowed,
  ).length;
}

describe('token bucket', () => {
  it('lets a burst through, then refills steadily', () => {
    const limiter = createLimiter('token-bucket', limit, 5);
    expect(allowedAt(limiter, 0, 20)).toBe(5);
    expect(allowedAt(limiter, 99, 20)).toBe(0);
    expect(allowedAt(limiter, 100, 20)).toBe(1);
    expect(allowedAt(limiter, 400, 20)).toBe(3);
    expect(allowedAt(limiter, 60_000, 20)).toBe(5);
  });

  it('holds by default what one second refills, and at least one token', () => {
    expect(allowedAt(createLimiter('token-bucket', limit), 0, 99)).toBe(10);
    expect(allowedAt(createLimiter('token-bucket', { count: 120, perMs: 60_000 }), 0, 99)).toBe(2);
    expect(allowedAt(createLimiter('token-bucket', { count: 1, perMs: 60_000 }), 0, 99)).toBe(1);
  });
});

describe('fixed window', () => {
  it('starts afresh with each window of the clock, so two counts pass around an edge', () => {
    const limiter = createLimiter('fixed-window', limit);
    expect(allowedAt(limiter, 5999, 20)).toBe(10);
    expect(allowedAt(limiter, 6000, 20)).toBe(10);
    expect(allowedAt(limiter, 6999, 20)).toBe(0);
  });
});

describe('sliding window', () => {
  it('never lets more than the count through in any stretch', () => {
    const limiter = createLimiter('sliding-window', limit);
    const allowedMs: number[] = [];
    for (let nowMs = 0; nowMs < 10_000; nowMs += 7) {
      if (limiter.take(nowMs).allowed) allowedMs.push(nowMs);
    }
    const stretches = allowedMs.map(
      (from) => allowedMs.filter((at) => at >= from && at < from + 1000).length,
    );
    expect(Math.max(...stretches)).toBe(10);
    expect(allowedMs.length).toBeGreaterThanOrEqual(99);
  });
});

const timed: LimitKind[] = ['token-bucket', 'fixed-window', 'sliding-window'];

describe.each(timed)('%s', (kind) => {
  it('lets a caller through who waits exactly as told', () => {
    for (const count of [1, 3, 7, 50]) {
      const limiter = createLimiter(kind, { count, perMs: 1000 });
      let nowMs = 1234;
      for (let call = 0; call < 500; call += 1) {
        const verdict = limiter.take(nowMs);
        expect(verdict.allowed).toBe(true);
        nowMs += verdict.retryAfterMs ?? 0;
      }
    }
  });

  it('holds the rate over a long time', () => {
    const limiter = createLimiter(kind, { count: 30, perMs: 2000 });
    let allowed = 0;
    for (let nowMs = 0; nowMs < 200_000; nowMs += 5) if (limiter.take(nowMs).allowed) allowed += 1;
    expect(allowed).toBeGreaterThanOrEqual(2980);
    expect(allowed).toBeLessThanOrEqual(3030);
  });
});
