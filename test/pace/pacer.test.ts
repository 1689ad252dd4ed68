import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bookStart,
  createPaceState,
  nextStartMs,
  onAccepted,
  onThrottle,
  type PaceState,
} from '../../src/pace/pacer.ts';
import type { Rate } from '../../src/pace/rate.ts';
import { useSeededRandom } from '../support/seeded-random.ts';

/** Doubles do not add up to the last bit. */
const EPSILON_MS = 1e-6;

/** Starts one call after the other, each as late after its time as `latenessMs` says. */
function simulate(state: PaceState, latenessMs: readonly number[], fromMs = 0): number[] {
  let nowMs = fromMs;
  return latenessMs.map((lateMs) => {
    nowMs = Math.max(nowMs, nextStartMs(state)) + lateMs;
    bookStart(state, nowMs);
    return nowMs;
  });
}

function throttle(
  state: PaceState,
  at: { nowMs: number; sentAtMs?: number; retryAfterMs?: number; random?: number },
): void {
  const { nowMs, sentAtMs = nowMs, retryAfterMs, random = 1 } = at;
  onThrottle(state, { nowMs, sentAtMs, retryAfterMs, random });
}

describe('a fixed rate', () => {
  const rates = fc.record({
    count: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(0.1, 0.5, 1.5, 2.5, 7.3)),
    perMs: fc.constantFrom(1_000, 60_000, 3_600_000, 777),
  });
  const lateness = fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.double({ min: 0, max: 50, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 100_000, noNaN: true }) },
  );

  it('is never exceeded in any window, however late timers fire', () => {
    fc.assert(
      fc.property(
        rates,
        fc.array(lateness, { maxLength: 200 }),
        fc.nat(1e9),
        (rate, late, fromMs) => {
          const starts = simulate(createPaceState(rate), late, fromMs);
          const most = Math.ceil(rate.count);
          for (const [index, startMs] of starts.entries()) {
            const laterMs = starts[index + most];
            if (laterMs !== undefined) {
              expect(laterMs - startMs).toBeGreaterThanOrEqual(rate.perMs - 1e-3);
            }
          }
        },
      ),
    );
  });

  it('is reached when timers are on time', () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 200 }), (rate, calls) => {
        const starts = simulate(
          createPaceState(rate),
          Array.from({ length: calls }, () => 0),
        );
        const intervalMs = rate.perMs / rate.count;
        expect(starts.at(-1)).toBeLessThanOrEqual((calls - 1) * intervalMs + EPSILON_MS);
      }),
    );
  });

  it('is reached also when timers are late by less than an interval', () => {
    const random = useSeededRandom();
    const rate: Rate = { count: 100, perMs: 1_000 };
    const late = Array.from({ length: 1_000 }, () => random() * 4);
    const starts = simulate(createPaceState(rate), late);
    expect(starts.at(-1)).toBeLessThan(10_000 + 50);
  });

  it('is spread over its time and not spent at once', () => {
    const starts = simulate(createPaceState({ count: 60, perMs: 60_000 }), [0, 0, 0, 0, 0, 0]);
    expect(starts.slice(1).map((startMs, index) => startMs - (starts[index] ?? 0))).toEqual([
      0, 1_000, 1_000, 1_000, 1_000,
    ]);
  });

  it('is not made up for after a pause', () => {
    const state = createPaceState({ count: 10, perMs: 1_000 });
    simulate(state, [0, 0]);
    const starts = simulate(state, [0, 0, 0, 0], 60_000);
    expect(starts).toEqual([60_000, 60_000, 60_100, 60_200]);
  });

  it('lets one call through at a time when it is slow', () => {
    const starts = simulate(createPaceState({ count: 1, perMs: 60_000 }), [0, 0, 0]);
    expect(starts).toEqual([0, 60_000, 120_000]);
  });
});

describe('without a rate', () => {
  it('calls start at any time until the gate closes', () => {
    const state = createPaceState();
    expect(simulate(state, [0, 0, 0])).toEqual([0, 0, 0]);
    throttle(state, { nowMs: 5, retryAfterMs: 100 });
    expect(nextStartMs(state)).toBe(105);
  });
});

describe('the gate', () => {
  it('never opens before the time told, whatever comes in between', () => {
    const events = fc.array(
      fc.record({
        afterMs: fc.nat(5_000),
        kind: fc.constantFrom('told', 'untold', 'accepted', 'start'),
        retryAfterMs: fc.nat(30_000),
        agoMs: fc.nat(10_000),
        random: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { maxLength: 100 },
    );
    const rates = fc.option(fc.constant({ count: 5, perMs: 1_000 }), { nil: undefined });
    fc.assert(
      fc.property(rates, events, (rate, list) => {
        const state = createPaceState(rate);
        let nowMs = 0;
        let toldMs = 0;
        for (const { afterMs, kind, retryAfterMs, agoMs, random } of list) {
          nowMs += afterMs;
          const sentAtMs = nowMs - agoMs;
          if (kind === 'told') {
            onThrottle(state, { nowMs, sentAtMs, retryAfterMs, random });
            toldMs = Math.max(toldMs, nowMs + retryAfterMs);
          } else if (kind === 'untold') {
            onThrottle(state, { nowMs, sentAtMs, retryAfterMs: undefined, random });
          } else if (kind === 'accepted') onAccepted(state);
          else if (nowMs >= nextStartMs(state)) bookStart(state, nowMs);
          expect(nextStartMs(state)).toBeGreaterThanOrEqual(toldMs > nowMs ? toldMs : -Infinity);
        }
      }),
    );
  });

  it('closes for the longest of several waits', () => {
    const state = createPaceState();
    throttle(state, { nowMs: 0, retryAfterMs: 10_000 });
    throttle(state, { nowMs: 1, retryAfterMs: 1_000 });
    throttle(state, { nowMs: 2 });
    expect(nextStartMs(state)).toBe(10_000);
  });

  it('doubles an untold wait from half a second to a minute', () => {
    const state = createPaceState();
    const waits = Array.from({ length: 10 }, () => {
      const nowMs = Math.max(0, nextStartMs(state)) + 1;
      throttle(state, { nowMs });
      return nextStartMs(state) - nowMs;
    });
    expect(waits).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
  });

  it('spreads untold waits between half and all of it', () => {
    const waitOf = (random: number): number => {
      const state = createPaceState();
      throttle(state, { nowMs: 0, random });
      return nextStartMs(state);
    };
    expect([0, 0.5, 1].map(waitOf)).toEqual([250, 375, 500]);
  });

  it('takes a wait of nothing for a wait untold', () => {
    const state = createPaceState();
    throttle(state, { nowMs: 0, retryAfterMs: 0 });
    expect(nextStartMs(state)).toBe(500);
  });

  it('hears of one throttle once, from however many calls that were under way', () => {
    const state = createPaceState();
    for (let call = 0; call < 30; call += 1) throttle(state, { nowMs: 100 + call, sentAtMs: call });
    expect(nextStartMs(state)).toBe(600);
    throttle(state, { nowMs: 700, sentAtMs: 650 });
    expect(nextStartMs(state)).toBe(1_700);
  });

  it('starts small again after an accepted call', () => {
    const state = createPaceState();
    throttle(state, { nowMs: 1 });
    throttle(state, { nowMs: 1_000 });
    throttle(state, { nowMs: 5_000 });
    onAccepted(state);
    throttle(state, { nowMs: 10_000 });
    expect(nextStartMs(state)).toBe(10_500);
  });
});
