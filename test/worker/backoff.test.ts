import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/worker/lookup.ts';

describe('backoff', () => {
  it('doubles what it may be, from half a second to half a minute', () => {
    const longest = Array.from({ length: 9 }, (_, retriesMade) =>
      backoffMs({ retriesMade, retryAfterMs: undefined, random: 1 }),
    );
    expect(longest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('may be anything from nothing up', () => {
    expect(backoffMs({ retriesMade: 3, retryAfterMs: undefined, random: 0 })).toBe(0);
    expect(backoffMs({ retriesMade: 3, retryAfterMs: undefined, random: 0.25 })).toBe(1_000);
  });

  it('never undercuts what the server said and never exceeds both', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true });
    const told = fc.option(fc.nat(10_000_000), { nil: undefined });
    fc.assert(
      fc.property(fc.nat(5_000), told, random, (retriesMade, retryAfterMs, random) => {
        const waitMs = backoffMs({ retriesMade, retryAfterMs, random });
        expect(waitMs).toBeGreaterThanOrEqual(retryAfterMs ?? 0);
        expect(waitMs).toBeLessThanOrEqual(Math.max(30_000, retryAfterMs ?? 0));
      }),
    );
  });
});
