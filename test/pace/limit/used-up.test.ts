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
import { fixedWindow, type Limit } from '../../simulation/servers.ts';
import { simulate } from '../../simulation/simulate.ts';

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

  it('costs one refused call to be believed, and not one for each reset', () => {
    const { isComplete, accepted, throttled, elapsedMs } = simulate(
      { limit: honest(100, 60_000), calls: 1_000, seed: 3, serviceMs: 100 },
      oneProcess(1),
    );
    expect(isComplete).toBe(true);
    expect((throttled * accepted) / (1 - throttled)).toBeCloseTo(1);
    expect(elapsedMs).toBeLessThan(660_000);
  });

  it('is tried with one call at a time', () => {
    const state = createPaceState({ rate: RATE }, 0);
    end(state, 'accepted', 10, NOTHING_LEFT);
    expect(openAtMs(state, 20)).toBe(1_010);
    book(state, 1_010);
    expect(nextStart(state, { nowMs: 1_100, inFlight: 1 })).toBe('wait_for_answer');
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
