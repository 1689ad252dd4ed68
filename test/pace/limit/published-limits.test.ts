import { describe, expect, it } from 'vitest';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  type PaceEvent,
  type PaceState,
  report,
} from '../../../src/pace/pacer.ts';
import { oneProcess } from '../../simulation/clients.ts';
import { leasedWorkers } from '../../simulation/leased-workers.ts';
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
  it.each<NonNullable<PaceEvent['limits']>>([
    { concurrent: 0 },
    { concurrent: Number.NaN },
    { quota: { count: 0, perMs: 1_000 } },
    { quota: { count: 50, perMs: 0 } },
    { remaining: 1, resetMs: 1_000 },
  ])('is none where it says %j', (limits) => {
    const after = (said: PaceEvent['limits']): PaceState => {
      const state = createPaceState({}, 0);
      const event = { sentAtMs: 0, latencyMs: 10, inFlight: 1, random: 0.5 };
      report(state, { kind: 'throttled', ...event, limits: said }, 10);
      return state;
    };
    expect(after(limits)).toEqual(after(undefined));
  });

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
    ['a window', () => fixedWindow(10, 1_000, { says: 'x_ratelimit' })],
    ['a bucket', () => tokenBucket(0.05, 50, { says: 'x_ratelimit' })],
  ])('is seen to be at its limit when none is left: %s', (_, createLimit) => {
    const { warmEfficiency, throttled } = play(createLimit(), 3_000);
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

const DAY_MS = 86_400_000;
const RATE = { count: 20, perMs: 1_000 };

/** Answers every call, and says each time that it was the last one for so long. */
function unenforced(resetMs: number): Limit {
  return { arrive: () => ({ isAccepted: true, limits: { remaining: 0, resetMs } }) };
}

/** Windows of so many calls, of whose length its answers say nothing. */
function honest(count: number, perMs: number): Limit {
  const window = fixedWindow(count, perMs, { says: 'ratelimit' });
  return {
    arrive: (nowMs) => {
      const { limits: { quota: _, ...limits } = {}, ...verdict } = window.arrive(nowMs);
      return { ...verdict, limits };
    },
  };
}

const CLIENTS = {
  'one process': () => oneProcess(32),
  'one process at 20/s': () => oneProcess(32, createPaceState({ rate: RATE }, 0)),
  'four workers': () => leasedWorkers({ workers: 4, callers: 8 }),
};

const SAID = { sentAtMs: 0, latencyMs: 10, inFlight: 1, random: 0.5 };

/** The end of a call that was sent ten milliseconds before. */
function end(state: PaceState, kind: PaceEvent['kind'], nowMs: number, told = {}): void {
  book(state, nowMs - 10);
  report(state, { ...SAID, kind, sentAtMs: nowMs - 10, ...told }, nowMs);
}

const NOTHING_LEFT = { limits: { remaining: 0, resetMs: DAY_MS } };

function openAtMs(state: PaceState, nowMs: number): number {
  const next = nextStart(state, { nowMs, inFlight: 0 });
  return next === 'wait_for_answer' ? Number.NaN : next.atMs;
}

/** One that has seen three calls accepted although nothing was left. */
function disproved(): PaceState {
  const state = createPaceState({}, 0);
  for (let nowMs = 0; nowMs < 8_000; nowMs += 2_000) end(state, 'accepted', nowMs, NOTHING_LEFT);
  return state;
}

describe('a limit that is used up, as good answers say', () => {
  it.each(Object.entries(CLIENTS))(
    'is no longer waited for once calls are accepted nevertheless: %s',
    (_, clients) => {
      for (const resetMs of [60_000, DAY_MS]) {
        const scenario = { limit: unenforced(resetMs), calls: 200, seed: 3, serviceMs: 100 };
        const { isComplete, elapsedMs } = simulate(scenario, clients());
        expect(isComplete).toBe(true);
        expect(elapsedMs).toBeLessThan(30_000);
      }
    },
  );

  it.each(Object.entries(CLIENTS))(
    'is doubted too where each reset is near, and the first call after it uses it up again: %s',
    (_, clients) => {
      const scenario = { limit: unenforced(10_000), calls: 200, seed: 3, serviceMs: 100 };
      expect(simulate(scenario, clients()).elapsedMs).toBeLessThan(60_000);
    },
  );

  it.each([
    ['not one for each reset', 100, 60_000, 1_000, 1],
    ['one more where each reset is of one call', 1, 10_000, 100, 2],
  ])('costs one refused call to be believed, %s', (_, count, perMs, calls, refused) => {
    const { throttledAtMs, elapsedMs } = simulate(
      { limit: honest(count, perMs), calls, seed: 3, serviceMs: 100 },
      oneProcess(1),
    );
    expect(throttledAtMs).toHaveLength(refused);
    expect(elapsedMs).toBeLessThan(1.1 * (calls / count) * perMs);
  });

  it('is tried although a call was refused before, if that said that some are left', () => {
    const state = createPaceState({ rate: RATE }, 0);
    end(state, 'throttled', 10, { limits: { remaining: 5, resetMs: DAY_MS } });
    end(state, 'accepted', 1_000, { limits: { remaining: 0, resetMs: 300_000 } });
    expect(openAtMs(state, 1_010)).toBe(2_000);
  });

  it.each<[string, number, boolean, PaceEvent['kind']?]>([
    ['while it is under way', 1_100, true],
    ['once it is lost', 16_010, false],
    ['once it has failed', 1_100, false, 'failed'],
    ['once it was given up', 1_100, false, 'abandoned'],
    ['once it was refused', 400_000, false, 'throttled'],
  ])('is tried with one call at a time: %s', (_, nowMs, isWaited, came) => {
    const state = createPaceState({ rate: RATE }, 0);
    end(state, 'accepted', 10, { limits: { remaining: 0, resetMs: 300_000 } });
    expect(openAtMs(state, 20)).toBe(1_010);
    book(state, 1_010);
    if (came) report(state, { ...SAID, kind: came, sentAtMs: 1_010 }, 1_050);
    const isWaiting = nextStart(state, { nowMs, inFlight: 1 }) === 'wait_for_answer';
    expect(isWaiting).toBe(isWaited);
  });

  it('is tried when it was said first, whatever calls that were under way say since', () => {
    const state = createPaceState({}, 0);
    end(state, 'accepted', 100, NOTHING_LEFT);
    report(state, { ...SAID, kind: 'accepted', sentAtMs: 95, ...NOTHING_LEFT }, 600);
    expect(openAtMs(state, 700)).toBe(1_100);
  });

  it('is tried again, though it was true before, where the reset is further away than we wait', () => {
    const state = createPaceState({ rate: RATE }, 0);
    end(state, 'accepted', 10, { limits: { remaining: 0, resetMs: 300_000 } });
    end(state, 'throttled', 1_020);
    end(state, 'accepted', 300_030, NOTHING_LEFT);
    expect(openAtMs(state, 300_040)).toBe(301_030);
  });

  it.each<[string, number, number]>([
    ['calls were left between', 5, 10_000],
    ['none was left between', 0, 1_000],
  ])('is doubted where each reset is near, and not where %s', (_, remaining, waitMs) => {
    const state = createPaceState({ rate: RATE }, 0);
    let nowMs = 10;
    for (let reset = 0; reset < 3; reset += 1) {
      end(state, 'accepted', nowMs, { limits: { remaining: 0, resetMs: 10_000 } });
      if (reset === 1) end(state, 'accepted', nowMs + 10_015, { limits: { remaining } });
      nowMs += 10_020;
    }
    expect(openAtMs(state, nowMs - 10_000)).toBe(nowMs - 10_020 + waitMs);
  });

  it('is not disproved by a call that is accepted just before the reset', () => {
    const state = createPaceState({}, 0);
    for (const fromMs of [0, 30_000, 60_000, 90_000]) {
      end(state, 'accepted', fromMs, { limits: { remaining: 0, resetMs: 20_000 } });
      end(state, 'accepted', fromMs + 19_000);
    }
    expect(describePace(state, 120_000).ignoresUsedUp).toBeUndefined();
  });

  it('is waited for as said when the trial is refused', () => {
    for (const state of [createPaceState({}, 0), createPaceState({ rate: RATE }, 0)]) {
      end(state, 'accepted', 10, { limits: { remaining: 0, resetMs: 300_000 } });
      end(state, 'throttled', 1_020);
      expect(openAtMs(state, 1_100)).toBe(300_010);
      expect(describePace(state, 1_100).why).toBe('told_to_wait');
      end(state, 'accepted', 300_030, { limits: { remaining: 0, resetMs: 300_000 } });
      expect(openAtMs(state, 300_040)).toBe(600_030);
    }
  });

  it('is waited for as long as the refusal says, where that is longer', () => {
    const state = createPaceState({}, 0);
    end(state, 'accepted', 10, { limits: { remaining: 0, resetMs: 300_000 } });
    end(state, 'throttled', 1_020, { retryAfterMs: 3_600_000 });
    expect(openAtMs(state, 1_100)).toBe(3_601_020);
  });

  it('is not believed for a day when the refusal says to wait a second', () => {
    const state = createPaceState({}, 0);
    end(state, 'accepted', 10, NOTHING_LEFT);
    end(state, 'throttled', 1_020, { retryAfterMs: 1_000 });
    expect(openAtMs(state, 1_100)).toBeLessThan(3_000);
  });

  it('is ignored after three accepted calls, or one at a rate that the user gave', () => {
    expect(describePace(disproved(), 8_000)).toMatchObject({ ignoresUsedUp: true, waitMs: 0 });
    const fixed = createPaceState({ rate: RATE }, 0);
    for (const nowMs of [10, 1_020]) {
      expect(describePace(fixed, nowMs).ignoresUsedUp).toBeUndefined();
      end(fixed, 'accepted', nowMs, NOTHING_LEFT);
    }
    expect(describePace(fixed, 1_020)).toMatchObject({ ignoresUsedUp: true });
  });

  it('is believed again when a call is refused with nothing left', () => {
    const state = disproved();
    end(state, 'throttled', 9_000, { ...NOTHING_LEFT, retryAfterMs: DAY_MS });
    expect(describePace(state, 9_000).ignoresUsedUp).toBeUndefined();
    expect(describePace(state, 9_000).waitMs).toBeGreaterThan(600_000);
  });

  it('is not disproved by calls that were under way when an answer said so', () => {
    const state = createPaceState({}, 0);
    for (let call = 0; call < 10; call += 1) {
      report(state, { ...SAID, kind: 'accepted', ...NOTHING_LEFT }, 20_000 + call);
    }
    expect(describePace(state, 20_100).ignoresUsedUp).toBeUndefined();
  });
});
