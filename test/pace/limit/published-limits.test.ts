import { describe, expect, it } from 'vitest';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  type PaceState,
  report,
} from '../../../src/pace/pacer.ts';
import { oneProcess } from '../../simulation/clients.ts';
import { fixedWindow, type Limit, slidingWindow, tokenBucket } from '../../simulation/servers.ts';
import { type Result, simulate } from '../../simulation/simulate.ts';

const QUOTA = { count: 50, perMs: 1_000 };

function play(limit: Limit, calls: number): Result {
  const scenario = { calls, seed: 7, serviceMs: 80, limit };
  return simulate(scenario, oneProcess(32, createPaceState({}, 0)));
}

/** Answers to calls that were accepted, one each 20 ms, that say how many are left. */
function accept(state: PaceState, calls: number, remaining: number): void {
  for (let call = 0; call < calls; call += 1) {
    const nowMs = state.latestMs + 20;
    const limits = { quota: QUOTA, remaining, resetMs: 1_000 };
    const event = { sentAtMs: nowMs - 10, latencyMs: 10, inFlight: 1, random: 0.5, limits };
    report(state, { kind: 'accepted', ...event }, nowMs);
  }
}

function ratePerSecond(state: PaceState): number {
  return describePace(state, state.latestMs).ratePerSecond;
}

describe('a quota that is published', () => {
  it('is used up to a call or so', () => {
    const state = createPaceState({}, 0);
    accept(state, 1, 20);
    expect(ratePerSecond(state)).toBeCloseTo(48.7);
  });

  it('is kept to with more calls left once the last one was taken, and not with as few again for long', () => {
    const state = createPaceState({}, 0);
    accept(state, 1, 0);
    accept(state, 20, 20);
    expect(ratePerSecond(state)).toBeCloseTo(48.7);
    accept(state, 1, 0);
    accept(state, 1, 20);
    expect(ratePerSecond(state)).toBeCloseTo(48.2);
    accept(state, 1_000, 20);
    expect(ratePerSecond(state)).toBeCloseTo(48.5, 1);
    accept(state, 100_000, 20);
    expect(ratePerSecond(state)).toBeGreaterThan(49.5);
  });

  it('is used more closely the longer calls were left each time', () => {
    const state = createPaceState({}, 0);
    accept(state, 1_001, 3);
    expect(ratePerSecond(state)).toBeCloseTo(49.2);
    accept(state, 20_000, 3);
    expect(ratePerSecond(state)).toBeCloseTo(49.7);
  });

  it.each([
    [50, 0.9],
    [10, 0.92],
    [5, 0.9],
    [2, 0.9],
    [1, 0.84],
  ])('of a window of %i calls is used well, whether it slides or not', (count, least) => {
    for (const window of [slidingWindow, fixedWindow]) {
      const { warmEfficiency, throttled } = play(
        window(count, 1_000, { says: 'ratelimit' }),
        1_500,
      );
      expect(warmEfficiency).toBeGreaterThan(least);
      expect(throttled).toBeLessThan(0.005);
    }
  });

  it.each([
    ['every answer', Number.POSITIVE_INFINITY],
    ['the first answer alone', 10],
  ])(
    'is waited for when none is left, if it was not we who took all: told by %s',
    (_, toldUntilMs) => {
      const state = createPaceState({}, 0);
      const tell = (nowMs: number, remaining: number): void => {
        const quota = nowMs <= toldUntilMs ? { quota: { count: 5, perMs: 1_000 } } : {};
        const limits = { ...quota, remaining, resetMs: 1_000 };
        const event = { sentAtMs: nowMs - 10, latencyMs: 10, inFlight: 1, random: 0.5, limits };
        book(state, nowMs - 10);
        report(state, { kind: 'accepted', ...event }, nowMs);
      };
      tell(10, 4);
      tell(225, 0);
      expect(nextStart(state, { nowMs: 225, inFlight: 0 })).toEqual({ atMs: 1_225 });
      // Five calls at 4.7/s, by whoever they were made, are enough to explain that there is none.
      for (const [at, remaining] of [4, 3, 2, 1, 0].entries()) tell(1_240 + at * 213, remaining);
      const next = nextStart(state, { nowMs: 2_092, inFlight: 0 });
      expect(next === 'wait_for_answer' ? Number.NaN : next.atMs).toBeLessThan(2_330);
    },
  );
});

describe('a quota that is published, and far too high at first', () => {
  it('is an upper bound for ever, when it is no longer taken for the limit', () => {
    const real = fixedWindow(20, 1_000);
    const state = createPaceState({}, 0);
    let fastest = 0;
    const limit: Limit = {
      arrive: (nowMs) => {
        fastest = Math.max(fastest, ratePerSecond(state));
        const { isAccepted } = nowMs < 20_000 ? real.arrive(nowMs) : { isAccepted: true };
        return { isAccepted, limits: { quota: QUOTA, remaining: 20, resetMs: 1_000 } };
      },
    };
    simulate({ calls: 5_000, seed: 7, serviceMs: 80, limit }, oneProcess(32, state));
    expect(describePace(state, state.latestMs).limitIs).not.toBe('published');
    expect(fastest).toBeGreaterThan(45);
    expect(fastest).toBeLessThanOrEqual(50);
  });
});

describe('an API that tells how many calls are left, and of no window', () => {
  it.each([
    ['a window', fixedWindow(10, 1_000, { says: 'x_ratelimit' })],
    ['a bucket', tokenBucket(0.05, 50, { says: 'x_ratelimit' })],
  ])('is seen to be at its limit when none is left: %s', (_, limit) => {
    const { warmEfficiency, throttled } = play(limit, 3_000);
    expect(warmEfficiency).toBeGreaterThan(0.75);
    expect(throttled).toBeLessThan(0.006);
  });

  it.each([2, 5, 10])('is used well once its window of %i calls is found out', (count) => {
    for (const window of [slidingWindow, fixedWindow]) {
      const { warmEfficiency, throttled } = play(
        window(count, 1_000, { says: 'x_ratelimit' }),
        1_500,
      );
      expect(warmEfficiency).toBeGreaterThan(0.92);
      expect(throttled).toBeLessThan(0.005);
    }
  });
});
