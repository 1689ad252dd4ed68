import { describe, expect, it } from 'vitest';
import { findLimits, waitIn } from '../../src/brand/limits.ts';
import {
  createLimiter,
  LIMIT_HEADERS,
  LIMIT_KINDS,
  type Limiter,
  type LimitHeaders,
  limitHeaders,
} from '../../src/sandbox/limiter.ts';

const rate = { count: 10, perMs: 1000 };

/** How many of `calls` calls at one moment are let through. */
function allowedAt(limiter: Limiter, nowMs: number, calls = 99): number {
  return Array.from({ length: calls }, () => limiter(nowMs)).filter(({ allowed }) => allowed)
    .length;
}

it('a token bucket lets a burst through, then refills steadily', () => {
  const limiter = createLimiter('token-bucket', rate, 5);
  const allowed = [0, 99, 100, 400, 60_000].map((nowMs) => allowedAt(limiter, nowMs));
  expect(allowed).toEqual([5, 0, 1, 3, 5]);
});

it('a fixed window starts afresh with the clock, so two counts pass around an edge', () => {
  const limiter = createLimiter('fixed-window', rate);
  const allowed = [5999, 6000, 6999].map((nowMs) => allowedAt(limiter, nowMs));
  expect(allowed).toEqual([10, 10, 0]);
});

it('a sliding window never lets more than the count through in any stretch', () => {
  const limiter = createLimiter('sliding-window', rate);
  const allowedMs: number[] = [];
  for (let nowMs = 0; nowMs < 10_000; nowMs += 7) if (limiter(nowMs).allowed) allowedMs.push(nowMs);
  const inStretch = (from: number) => allowedMs.filter((at) => at >= from && at < from + 1000);
  expect(Math.max(...allowedMs.map((from) => inStretch(from).length))).toBe(10);
  expect(allowedMs.length).toBeGreaterThanOrEqual(99);
});

describe.each(LIMIT_KINDS)('%s', (kind) => {
  it('lets a caller through who waits exactly as told', () => {
    const limiter = createLimiter(kind, { count: 7, perMs: 1000 });
    let nowMs = 1234;
    for (let call = 0; call < 500; call += 1) {
      const { allowed, retryAfterMs } = limiter(nowMs);
      expect(allowed).toBe(true);
      nowMs += retryAfterMs;
    }
  });
});

const PASS = { allowed: true, remaining: 49, retryAfterMs: 0, resetMs: 29_500 };
const REFUSAL = { allowed: false, remaining: 0, retryAfterMs: 1200, resetMs: 29_500 };
const POLICY = { 'RateLimit-Policy': '"default";q=50;w=60' };
const COUNTED = {
  'X-RateLimit-Limit': '50',
  'X-RateLimit-Remaining': '49',
  'X-RateLimit-Reset': '1700000030',
};
const NOW_MS = 1_700_000_000_000;

it.each<[LimitHeaders, typeof PASS, Record<string, string>]>([
  ['none', REFUSAL, {}],
  ['retry-after', PASS, {}],
  ['retry-after', REFUSAL, { 'Retry-After': '2' }],
  ['retry-after', { ...REFUSAL, retryAfterMs: 0 }, { 'Retry-After': '1' }],
  ['ratelimit', PASS, { ...POLICY, RateLimit: '"default";r=49;t=30' }],
  ['ratelimit', REFUSAL, { ...POLICY, RateLimit: '"default";r=0;t=2' }],
  ['x-ratelimit', PASS, COUNTED],
])('the headers %s say of %j: %j', (style, verdict, headers) => {
  expect(limitHeaders(style, { count: 50, perMs: 60_000 }, verdict, NOW_MS)).toEqual(headers);
});

it.each(LIMIT_HEADERS.filter((style) => style !== 'none'))(
  'the headers %s are read as the wait that they mean',
  (style) => {
    const told = limitHeaders(style, { count: 50, perMs: 60_000 }, REFUSAL, NOW_MS);
    const headers = Object.fromEntries(
      Object.entries(told).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect(waitIn(findLimits(headers, NOW_MS), true)).toBe(2_000);
  },
);
