import type { Server } from './cells.ts';
import type { Summary } from './summary.ts';

export interface Target {
  /** Of what the server allows, once warm. */
  readonly efficiency: number;
  /** Share of calls answered 429, in the whole run. */
  readonly throttled: number;
}

const TARGET: Target = { efficiency: 0.93, throttled: 0.015 };

/** What is reached where a cell falls short, a little rounded, by one worker and by several. */
const SHORT: Readonly<Record<string, Partial<Target>>> = {
  // Calls arrive up to 10 ms early, one every 20 ms is allowed, and none saved up.
  'token bucket 50/s, burst 1': { efficiency: 0.5, throttled: 0.02 },
  'token bucket 1/s, burst 1, 300 calls': { efficiency: 0.75, throttled: 0.12 },
  'at most 10 concurrent': { efficiency: 0.7 },
  // What the first second holds back, a second for each refusal.
  'token bucket 50/s, burst 5, Retry-After': { efficiency: 0.8 },
  'token bucket 200/s, burst 10': { efficiency: 0.92 },
  'sliding window 50 per 1 s, X-RateLimit': { efficiency: 0.86 },
  // A limit is tested ever more seldom: that one has grown is slow to be seen.
  'grows: 50/s, then 200/s': { efficiency: 0.55 },
  // What is learned is learned in round trips, and 5,000 calls at 20/s are 36 of those.
  'token bucket, 7 s': { efficiency: 0.65 },
};

/** What is wanted of each cell. */
export function targetOf({ name }: Pick<Server, 'name'>): Target {
  return { ...TARGET, ...SHORT[name] };
}

/** Where a cell falls short of what is wanted of all, in words. */
export function missedTargets({ warmEfficiency, throttled, areAllComplete }: Summary): string[] {
  return [
    warmEfficiency < TARGET.efficiency ? `not met: ${TARGET.efficiency * 100} % of the limit` : '',
    throttled >= TARGET.throttled ? `not met: < ${TARGET.throttled * 100} % 429` : '',
    areAllComplete ? '' : 'not finished',
  ].filter((text) => text !== '');
}
