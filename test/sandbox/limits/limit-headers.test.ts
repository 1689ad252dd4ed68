import { describe, expect, it } from 'vitest';
import { createLimitHeaders } from '../../../src/sandbox/limiter.ts';

const rate = { count: 50, perMs: 60_000 };
const allowed = { allowed: true, remaining: 49, retryAfterMs: 0, resetMs: 29_500 };
const refused = { allowed: false, remaining: 0, retryAfterMs: 1200, resetMs: 29_500 };

describe('limit headers', () => {
  it('are absent with none', () => {
    expect(createLimitHeaders('none', 'token-bucket', rate)(refused, 0)).toEqual({});
  });

  it('tell the wait in whole seconds, rounded up, on a refusal only', () => {
    const write = createLimitHeaders('retry-after', 'token-bucket', rate);
    expect(write(allowed, 0)).toEqual({});
    expect(write(refused, 0)).toEqual({ 'Retry-After': '2' });
    expect(write({ ...refused, retryAfterMs: 20 }, 0)).toEqual({ 'Retry-After': '1' });
  });

  it('follow the IETF draft', () => {
    const write = createLimitHeaders('ratelimit', 'fixed-window', rate);
    expect(write(allowed, 0)).toEqual({
      'RateLimit-Policy': '"default";q=50;w=60',
      RateLimit: '"default";r=49;t=30',
    });
    expect(write(refused, 0)['RateLimit']).toBe('"default";r=0;t=2');
  });

  it('name the unit and no time when the limit is on concurrent calls', () => {
    const write = createLimitHeaders('ratelimit', 'concurrent', { count: 4, perMs: 1000 });
    const full = { allowed: false, remaining: 0, retryAfterMs: undefined, resetMs: undefined };
    expect(write(full, 0)).toEqual({
      'RateLimit-Policy': '"default";q=4;qu="concurrent-requests"',
      RateLimit: '"default";r=0',
    });
  });

  it('tell the reset in Unix seconds in the x-ratelimit style', () => {
    const write = createLimitHeaders('x-ratelimit', 'fixed-window', rate);
    expect(write(allowed, 1_700_000_000_000)).toEqual({
      'X-RateLimit-Limit': '50',
      'X-RateLimit-Remaining': '49',
      'X-RateLimit-Reset': '1700000030',
    });
  });
});
