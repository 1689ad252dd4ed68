import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutageState } from '../../../src/guard/outage.ts';
import { createPaceState, describePace } from '../../../src/pace/pacer.ts';
import { type Reading, readSharedPace, watchSharedPace } from '../../../src/pace/shared/state.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RATE = { count: 50, perMs: 1_000 };
const CLOCK = { nowMs: () => Date.now(), sleep: async () => {} };

/** A state that others write, on a machine whose clock is a minute ahead. */
function openState() {
  const kept: { state: string | undefined; isAway: boolean } = { state: undefined, isAway: false };
  const nowMs = (): number => Date.now() + 60_000;
  return {
    kept,
    writeFixed: () => {
      const pace = createPaceState({ rate: RATE }, nowMs());
      kept.state = JSON.stringify({ v: 3, pace, outage: createOutageState(), workers: {} });
    },
    read: async (): Promise<Reading> => {
      if (kept.isAway) throw new Error('away');
      return { nowMs: nowMs(), version: 1, state: kept.state };
    },
  };
}

describe('a watch of the pace that others keep', () => {
  it('knows nothing before somebody made a call, and then what they know', async () => {
    const { read, writeFixed } = openState();
    const watch = watchSharedPace({ stored: { read }, rate: undefined, clock: CLOCK });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(watch.describe()).toBeUndefined();
    expect(watch.waitMs()).toBe(0);
    writeFixed();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(watch.describe()).toMatchObject({ limitIs: 'fixed', ratePerSecond: 50 });
    expect(watch.describeOutage()).toBeUndefined();
    watch.close();
  });

  it('keeps what it knows while nobody can be asked, and asks no more when it is closed', async () => {
    const state = openState();
    state.writeFixed();
    const read = vi.fn(state.read);
    const watch = watchSharedPace({ stored: { read }, rate: undefined, clock: CLOCK });
    await vi.advanceTimersByTimeAsync(0);
    state.kept.isAway = true;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(watch.describe()).toMatchObject({ ratePerSecond: 50 });
    watch.close();
    const { length } = read.mock.calls;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(read.mock.calls).toHaveLength(length);
  });
});

describe('the first state of workers', () => {
  const startRate = { count: 600, perMs: 60_000 };
  const limitOf = (json: string | undefined, rate?: typeof RATE): number | undefined => {
    const { pace } = readSharedPace(json, { nowMs: 0, rate, startRate });
    const { limitIs, ratePerSecond, learnedLimitPerSecond } = describePace(pace, 0);
    return limitIs === 'fixed' ? ratePerSecond : learnedLimitPerSecond;
  };

  it('is at the documented rate, unless another is given or was learned', () => {
    expect(limitOf(undefined)).toBeCloseTo(10, 6);
    expect(limitOf('not JSON')).toBeCloseTo(10, 6);
    expect(limitOf(undefined, RATE)).toBe(50);
    const learned = readSharedPace(undefined, { nowMs: 0, rate: undefined, startRate: RATE });
    expect(limitOf(JSON.stringify(learned))).toBeCloseTo(50, 6);
  });
});
