import type { Target } from './targets.ts';

/**
 * Where a cell falls short of its target, by server and workers: what it reaches instead, a little
 * rounded. `npm run simulate` says so too.
 */
export const SHORTFALLS: Readonly<Record<string, Readonly<Record<number, Partial<Target>>>>> = {
  // Calls reach the server up to 10 ms earlier or later than sent, one every 20 ms is allowed, and
  // none saved up: at more than two thirds of the rate, calls that come too early are refused.
  'token bucket 50/s, burst 1': {
    1: { efficiency: 0.63 },
    4: { efficiency: 0.555 },
    16: { efficiency: 0.55 },
  },
  // The same, and the first throttles are many among so few calls.
  'token bucket 1/s, burst 1, 300 calls': {
    1: { efficiency: 0.79, throttled: 0.055, warmThrottled: 0.012 },
    4: { efficiency: 0.79, throttled: 0.055, warmThrottled: 0.012 },
    16: { efficiency: 0.79, throttled: 0.055, warmThrottled: 0.012 },
  },
  'token bucket 5/s, burst 1, 300 calls': {
    1: { efficiency: 0.77, throttled: 0.026 },
    4: { efficiency: 0.75, throttled: 0.026 },
    16: { efficiency: 0.71, throttled: 0.026, warmThrottled: 0.009 },
  },
  // A pause after each throttle is as long as the lease that was given out before it.
  'token bucket 50/s, burst 5': { 4: { efficiency: 0.975 }, 16: { efficiency: 0.945 } },
  // 20 calls were given out already when it is throttled, for 100 ms: more than a bucket of 10 lets through.
  'token bucket 200/s, burst 10': { 16: { efficiency: 0.855 } },
  // Each test of the limit costs the second that is told, 50 calls, so it is tested seldom.
  'token bucket 50/s, burst 5, Retry-After': {
    1: { efficiency: 0.915 },
    4: { efficiency: 0.915 },
    16: { efficiency: 0.9 },
  },
  // Until the window's length is known, tests while it is closed end too late.
  'fixed window 100 per 10 s, no header': {
    4: { throttled: 0.0085 },
    16: { efficiency: 0.96, throttled: 0.0085 },
  },
  // One call in flight for ten of the workers, and six that wait for their turn: what a worker gives
  // back, the next one has only when it comes again. And it takes longer to find.
  'at most 10 concurrent': { 16: { efficiency: 0.89 } },
  // Four calls in flight for sixteen workers.
  'at most 4 at once, 20 ms-7 s': { 16: { efficiency: 0.93 } },
  'at most 4 at once, 20 ms-7 s, Retry-After': { 16: { efficiency: 0.93 } },
  // A second is told also where the next call would have been let through at once: 100 calls.
  'at most 10 concurrent, Retry-After': {
    1: { efficiency: 0.81 },
    4: { efficiency: 0.81 },
    16: { efficiency: 0.8 },
  },
  // A limit is tested ever more seldom: that one has grown is slow to be seen.
  'grows: 50/s, then 200/s': {
    1: { efficiency: 0.55 },
    4: { efficiency: 0.67 },
    16: { efficiency: 0.67 },
  },
  // What is learned is learned in round trips, and 5,000 calls at 20/s are 36 of those.
  'token bucket, 7 s': {
    1: { efficiency: 0.72 },
    4: { efficiency: 0.79 },
    16: { efficiency: 0.78 },
  },
};
