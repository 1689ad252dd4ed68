import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';

import { describe, expect, it } from 'vitest';
import { LONGEST_STATED_MS } from '../../src/common/calls.ts';
import type { Clock } from '../../src/pace/clock.ts';
import { createPaceState } from '../../src/pace/pacer.ts';
import {
  type CallReport,
  CallsInFlight,
  createRateLimiter,
  createWaitMeter,
  type RateLimiter,
} from '../../src/pace/rate-limiter.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';

const never = new AbortController().signal;

/** Lets callers in and notes who got through when. */
function enterAll(
  limiter: RateLimiter,
  clock: FakeClock,
  signals: readonly AbortSignal[],
): { entered: [caller: number, atMs: number][]; gaveUp: unknown[] } {
  const entered: [number, number][] = [];
  const gaveUp: unknown[] = [];
  for (const [caller, signal] of signals.entries()) {
    limiter.acquire(signal).then(
      () => entered.push([caller, clock.nowMs()]),
      (error: unknown) => gaveUp.push(error),
    );
  }
  return { entered, gaveUp };
}

function callers(count: number): AbortSignal[] {
  return Array.from({ length: count }, () => never);
}

describe('a limiter', () => {
  it('lets ever more through when it was told neither rate nor limit, and calls are accepted', async () => {
    const clock = createFakeClock({ isImpatient: true });
    const limiter = createRateLimiter({ clock });
    let calls = 0;
    const call = async (): Promise<void> => {
      while (calls < 20_000) {
        await limiter.acquire(never);
        calls += 1;
        const sentAtMs = clock.nowMs();
        await clock.sleep(2, new AbortController().signal);
        limiter.release({ kind: 'accepted', sentAtMs });
      }
    };
    await Promise.all(Array.from({ length: 32 }, call));
    // 32 calls in 2 ms each need 1,250 ms.
    expect(clock.nowMs()).toBeLessThan(1_550);
  });

  it('lets one in at once, or not at all', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock, rate: { count: 1, perMs: 1_000 } });
    expect([limiter.tryAcquire(), limiter.tryAcquire()]).toEqual([true, false]);
    await clock.advance(2_000);
    expect([limiter.tryAcquire(), limiter.tryAcquire()]).toEqual([true, false]);
  });

  it('waits for an answer while calls in flight are capped', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    await limiter.acquire(never);
    limiter.release({ kind: 'accepted', sentAtMs: 0, limits: { concurrent: 1 } });
    const { entered } = enterAll(limiter, clock, callers(2));
    await clock.advance(30_000);
    expect(entered).toHaveLength(1);
    limiter.release({ kind: 'accepted', sentAtMs: clock.nowMs() });
    await clock.advance(1);
    expect(entered).toHaveLength(2);
  });

  it('counts a call that is made late from then on', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    await limiter.acquire(never);
    limiter.release({ kind: 'accepted', sentAtMs: 0, limits: { concurrent: 1 } });
    const { entered } = enterAll(limiter, clock, callers(2));
    await clock.advance(6 * 60_000);
    const [[, acquiredAtMs] = [0, 0]] = entered;
    limiter.restart(acquiredAtMs);
    limiter.release({ kind: 'abandoned', sentAtMs: clock.nowMs() });
    expect([entered.length, limiter.tryAcquire()]).toEqual([2, false]);
  });

  it('lets nobody in whose signal fires right after a report has woken him', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    await limiter.acquire(never);
    limiter.release({ kind: 'accepted', sentAtMs: 0, limits: { concurrent: 1 } });
    const stop = new AbortController();
    const { entered, gaveUp } = enterAll(limiter, clock, [never, stop.signal, never]);
    await clock.advance(30_500);
    limiter.release({ kind: 'accepted', sentAtMs: clock.nowMs() });
    const reason = new Error('stopped');
    stop.abort(reason);
    await clock.advance(1);
    expect(entered.map(([caller]) => caller)).toEqual([0, 2]);
    expect(gaveUp).toEqual([reason]);
  });

  it('leaves no sleep and no listener behind when callers are through, woken early or not', async () => {
    const clock = createFakeClock();
    let sleeping = 0;
    const sleep: Clock['sleep'] = async (ms, signal) => {
      sleeping += 1;
      await clock.sleep(ms, signal).finally(() => {
        sleeping -= 1;
      });
    };
    const limiter = createRateLimiter({ clock: { ...clock, sleep } });
    await limiter.acquire(never);
    limiter.release({ kind: 'accepted', sentAtMs: 0, limits: { concurrent: 1 } });
    const { signal } = new AbortController();
    const { entered } = enterAll(limiter, clock, [signal, signal, signal]);
    await clock.advance(2_500);
    expect([entered.length, sleeping]).toEqual([1, 1]);
    for (let through = 2; through <= 3; through += 1) {
      limiter.release({ kind: 'accepted', sentAtMs: clock.nowMs() });
      await clock.advance(0);
      expect([entered.length, sleeping]).toEqual([through, 3 - through]);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not wait for ever for a report that was lost', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    await limiter.acquire(never);
    limiter.release({ kind: 'accepted', sentAtMs: 0, limits: { concurrent: 1 } });
    const { entered } = enterAll(limiter, clock, callers(2));
    await clock.advance(6 * 60_000);
    expect(entered).toHaveLength(2);
  });

  it('lets callers through in the order in which they came', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock, rate: { count: 10, perMs: 1_000 } });
    const { entered } = enterAll(limiter, clock, callers(20));
    await clock.advance(10_000);
    expect(entered.map(([caller]) => caller)).toEqual(callers(20).map((_, index) => index));
    expect(entered.at(-1)?.[1]).toBeLessThanOrEqual(1_900);
  });

  it('does not let one who comes later overtake the line', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock, rate: { count: 1, perMs: 100 } });
    const { entered } = enterAll(limiter, clock, callers(3));
    await clock.advance(100);
    const late = enterAll(limiter, clock, callers(1));
    await clock.advance(100);
    expect([entered.length, late.entered.length]).toEqual([3, 0]);
    await clock.advance(100);
    expect(late.entered).toEqual([[0, 300]]);
  });

  it('does not let one overtake who comes when the first in line is due but not awake yet', async () => {
    let nowMs = 0;
    let wake = (): void => {};
    const clock: Clock = {
      nowMs: () => nowMs,
      sleep: () =>
        new Promise((resolve) => {
          wake = resolve;
        }),
    };
    const limiter = createRateLimiter({ clock, rate: { count: 1, perMs: 100 } });
    await limiter.acquire(never);
    const entered: string[] = [];
    void limiter.acquire(never).then(() => entered.push('first'));
    await nextTurn();
    nowMs = 100;
    void limiter.acquire(never).then(() => entered.push('second'));
    await nextTurn();
    expect(entered).toEqual(['first']);
    nowMs = 200;
    wake();
    await nextTurn();
    expect(entered).toEqual(['first', 'second']);
  });

  it('never gives two callers the same place, whenever they come', async () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 250 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), pauses, async (count, list) => {
        const clock = createFakeClock();
        const limiter = createRateLimiter({ clock, rate: { count, perMs: 1_000 } });
        const startsMs: number[] = [];
        for (const pauseMs of list) {
          void limiter.acquire(never).then(() => startsMs.push(clock.nowMs()));
          await clock.advance(pauseMs);
        }
        await clock.advance(100_000);
        expect(startsMs).toHaveLength(list.length);
        for (const [index, startMs] of startsMs.entries()) {
          const laterMs = startsMs[index + count] ?? Infinity;
          expect(laterMs - startMs).toBeGreaterThan(1_000 - 1e-6);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('holds everybody back until the time told', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 5_000 });
    expect(limiter.waitMs()).toBe(5_000);
    const { entered } = enterAll(limiter, clock, callers(3));
    await clock.advance(4_999);
    expect(entered).toEqual([]);
    await clock.advance(1);
    expect(entered.map(([, atMs]) => atMs)).toEqual([5_000]);
    await clock.advance(5_000);
    expect(entered).toHaveLength(3);
    expect(limiter.waitMs()).toBe(0);
  });

  it('asks again when the gate moved while a caller slept', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 1_000 });
    const { entered } = enterAll(limiter, clock, callers(2));
    await clock.advance(900);
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 1_000 });
    await clock.advance(999);
    expect(entered).toEqual([]);
    await clock.advance(1);
    expect(entered).toEqual([[0, 1_900]]);
  });

  it('backs off by itself when no time was told, and starts small after an answer', async () => {
    const clock = createFakeClock();
    const rate = { count: 1_000, perMs: 1_000 };
    const limiter = createRateLimiter({ clock, rate, random: () => 1 });
    const throttle = async (): Promise<number> => {
      await clock.advance(limiter.waitMs() + 1);
      limiter.release({ kind: 'throttled', sentAtMs: clock.nowMs() });
      return limiter.waitMs();
    };
    expect([await throttle(), await throttle(), await throttle()]).toEqual([500, 1_000, 2_000]);
    limiter.release({ kind: 'accepted', sentAtMs: clock.nowMs() });
    expect(await throttle()).toBe(500);
  });

  it('lets nobody through who gave up before, and takes no place for it', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock, rate: { count: 1, perMs: 1_000 } });
    const reason = new Error('enough');
    await expect(limiter.acquire(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(limiter.waitMs()).toBe(0);
  });

  it('does not hold up the others when one in line gives up', async () => {
    for (const leaver of [0, 1, 2, 3]) {
      const clock = createFakeClock();
      const limiter = createRateLimiter({ clock, rate: { count: 1, perMs: 100 } });
      await limiter.acquire(never);
      const giveUp = new AbortController();
      const reason = new Error('enough');
      const signals = [0, 1, 2, 3].map((caller) => (caller === leaver ? giveUp.signal : never));
      const { entered, gaveUp } = enterAll(limiter, clock, signals);
      await clock.advance(50);
      giveUp.abort(reason);
      await clock.advance(250);
      expect(gaveUp).toEqual([reason]);
      expect(entered.map(([caller]) => caller)).toEqual([0, 1, 2, 3].filter((at) => at !== leaver));
      expect(entered.map(([, atMs]) => atMs)).toEqual([100, 200, 300]);
    }
  });

  it('sends the whole line home at once when all give up', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 3_600_000 });
    const giveUp = new AbortController();
    const { gaveUp } = enterAll(
      limiter,
      clock,
      callers(500).map(() => giveUp.signal),
    );
    await clock.advance(10);
    giveUp.abort();
    await clock.advance(0);
    expect(gaveUp).toHaveLength(500);
  });

  it('wakes up only when there is something to do', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 60_000 });
    enterAll(limiter, clock, callers(50));
    await clock.advance(59_999);
    expect(clock.sleepsMs).toEqual([60_000]);
  });
});

describe('the time that an API names', () => {
  const HOUR_MS = 3_600_000;

  it.each<[string, CallReport, number, number | undefined]>([
    ['by 429', { kind: 'throttled', sentAtMs: 0, retryAfterMs: 30_000 }, 30_000, 30_000],
    [
      'by 429, however far away',
      { kind: 'throttled', sentAtMs: 0, retryAfterMs: 24 * HOUR_MS },
      HOUR_MS,
      24 * HOUR_MS,
    ],
    [
      'by a limit with nothing left',
      { kind: 'accepted', sentAtMs: 0, limits: { remaining: 0, resetMs: 24 * HOUR_MS } },
      1_000, // one call tries whether that is so
      24 * HOUR_MS,
    ],
    [
      'by 429, and not by a counter that is not used up',
      {
        kind: 'throttled',
        sentAtMs: 0,
        retryAfterMs: 30_000,
        limits: { remaining: 5, resetMs: HOUR_MS },
      },
      30_000,
      30_000,
    ],
    [
      'but that counts for a year only',
      { kind: 'throttled', sentAtMs: 0, retryAfterMs: LONGEST_STATED_MS },
      HOUR_MS,
      undefined,
    ],
  ])('is reported as it was named, and no other: %s', (_, report, waitMs, statedMs) => {
    for (const rate of [undefined, { count: 1_000, perMs: 1_000 }]) {
      const limiter = createRateLimiter({ clock: createFakeClock(), rate });
      limiter.release(report);
      const { why, ...told } = limiter.describe();
      expect(why).toBe('told_to_wait');
      expect([told.waitMs, told.statedMs]).toEqual([waitMs, statedMs]);
    }
  });

  it('is over with the wait, and is none of our own backoff', async () => {
    const clock = createFakeClock();
    const limiter = createRateLimiter({ clock });
    limiter.release({ kind: 'throttled', sentAtMs: 0, retryAfterMs: 2 * HOUR_MS });
    await clock.advance(HOUR_MS);
    expect(limiter.describe()).not.toHaveProperty('statedMs');
    limiter.release({ kind: 'throttled', sentAtMs: clock.nowMs() });
    expect(limiter.describe()).not.toHaveProperty('statedMs');
  });
});

it('the call that ends is the one that was sent then', () => {
  const calls = new CallsInFlight();
  for (const atMs of [0, 10, 20]) calls.start(atMs);
  expect(calls.end(11)).toBe(2);
  expect(calls.sentAtMs(30)).toEqual([0, 20]);
});

it('a call that was taken for lost ends no other one', () => {
  const calls = new CallsInFlight();
  calls.start(0);
  calls.start(290_000);
  expect(calls.count(301_000)).toBe(1);
  calls.end(0);
  expect(calls.sentAtMs(302_000)).toEqual([290_000]);
});

function createMetered() {
  const clock = createFakeClock();
  const inner = createRateLimiter({ clock, random: () => 0 });
  const { limiter, waitedMs } = createWaitMeter(inner, clock);
  const throttle = (retryAfterMs?: number): number =>
    limiter.release({ kind: 'throttled', sentAtMs: clock.nowMs(), retryAfterMs });
  return { clock, limiter, waitedMs, throttle };
}

describe('the meter of waits', () => {
  it('counts nothing while calls may start', async () => {
    const { clock, limiter, waitedMs } = createMetered();
    for (let call = 0; call < 5; call += 1) {
      await limiter.acquire(new AbortController().signal);
      limiter.release({ kind: 'accepted', sentAtMs: clock.nowMs() });
      await clock.advance(1_000);
    }
    expect(waitedMs()).toEqual({ told: 0, backingOff: 0 });
  });

  it('counts a wait that was told once, however many calls were told it', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    for (let call = 0; call < 30; call += 1) throttle(5_000);
    await clock.advance(2_000);
    expect(waitedMs()).toEqual({ told: 2_000, backingOff: 0 });
    for (let call = 0; call < 30; call += 1) throttle(3_000);
    await clock.advance(60_000);
    expect(waitedMs()).toEqual({ told: 5_000, backingOff: 0 });
  });

  it('counts a wait that was made longer from its beginning to its new end', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    throttle(1_000);
    await clock.advance(400);
    throttle(2_000);
    await clock.advance(60_000);
    expect(waitedMs().told).toBe(2_400);
  });

  it('tells backing off from being told', async () => {
    const { clock, waitedMs, throttle } = createMetered();
    const closedMs = throttle();
    expect(closedMs).toBeGreaterThan(0);
    await clock.advance(60_000);
    expect(waitedMs().backingOff).toBeCloseTo(closedMs);
    throttle(700);
    await clock.advance(60_000);
    expect(waitedMs().told).toBeCloseTo(700);
    expect(waitedMs().backingOff).toBeCloseTo(closedMs);
  });

  it('counts what is left of a wait that an earlier run was told', async () => {
    const clock = createFakeClock();
    const state = createPaceState({}, 0);
    state.gateUntilMs = 8_000;
    state.gateIsTold = true;
    const { waitedMs } = createWaitMeter(createRateLimiter({ clock, state }), clock);
    await clock.advance(60_000);
    expect(waitedMs()).toEqual({ told: 8_000, backingOff: 0 });
  });
});
