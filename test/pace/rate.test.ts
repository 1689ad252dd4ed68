import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  book,
  createPaceState,
  nextStart,
  type PaceEvent,
  type PaceState,
  report,
} from '../../src/pace/pacer.ts';
import type { Rate } from '../../src/pace/rate.ts';
import { useSeededRandom } from '../support/seeded-random.ts';

/** Doubles do not add up to the last bit. */
const EPSILON = 1e-12;

function nextStartMs(state: PaceState, nowMs: number): number {
  const next = nextStart(state, { nowMs, inFlight: 0 });
  if (next === 'wait_for_answer') throw new Error('Expected a time, received wait_for_answer.');
  return next.atMs;
}

/** Starts one call after the other, each as late after its time as `latenessMs` says. */
function simulate(state: PaceState, latenessMs: readonly number[], fromMs = 0): number[] {
  let nowMs = fromMs;
  return latenessMs.map((lateMs) => {
    nowMs = nextStartMs(state, nowMs) + lateMs;
    book(state, nowMs);
    return nowMs;
  });
}

function throttle(
  state: PaceState,
  at: { nowMs: number; sentAtMs?: number; retryAfterMs?: number | undefined; random?: number },
): void {
  const { nowMs, sentAtMs = nowMs, retryAfterMs, random = 1 } = at;
  report(
    state,
    { kind: 'throttled', sentAtMs, latencyMs: nowMs - sentAtMs, inFlight: 1, retryAfterMs, random },
    nowMs,
  );
}

const FAST: Rate = { count: 1_000, perMs: 1 };

describe('a fixed rate', () => {
  const rates = fc.record({
    count: fc.oneof(
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0.1, 0.5, 1.5, 2.5, 7.3, 256, 257, 1_000, 50_001),
    ),
    perMs: fc.constantFrom(1_000, 60_000, 3_600_000, 86_400_000, 777),
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
          const starts = simulate(createPaceState({ rate }, fromMs), late, fromMs);
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

  it('is not exceeded when it is too large to be counted call by call', () => {
    const random = useSeededRandom();
    for (const count of [257, 300, 511, 1_000]) {
      const rate = { count, perMs: 1_000 };
      const late = Array.from({ length: 4 * count }, () => (random() < 0.02 ? 200 * random() : 0));
      const starts = simulate(createPaceState({ rate }, 0), late);
      for (const [index, startMs] of starts.entries()) {
        const laterMs = starts[index + count] ?? Number.POSITIVE_INFINITY;
        expect(laterMs - startMs).toBeGreaterThan(1_000 - 1e-3);
      }
    }
  });

  it('is reached when timers are on time, but for what cannot be counted evenly', () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 200 }), (rate, calls) => {
        fc.pre(rate.count !== 257 && rate.count !== 50_001);
        const starts = simulate(
          createPaceState({ rate }, 0),
          Array.from({ length: calls }, () => 0),
        );
        const intervalMs = rate.perMs / rate.count;
        expect(starts.at(-1)).toBeLessThanOrEqual((calls - 1) * intervalMs * (1 + EPSILON));
      }),
    );
  });

  it('is reached also when timers are late by less than an interval', () => {
    const random = useSeededRandom();
    const rate: Rate = { count: 100, perMs: 1_000 };
    const late = Array.from({ length: 1_000 }, () => random() * 4);
    const starts = simulate(createPaceState({ rate }, 0), late);
    expect(starts.at(-1)).toBeLessThan(10_000 + 50);
  });

  it('is spread over its time and not spent at once', () => {
    const state = createPaceState({ rate: { count: 60, perMs: 60_000 } }, 0);
    expect(simulate(state, [0, 0, 0, 0])).toEqual([0, 1_000, 2_000, 3_000]);
  });

  it('is not made up for after a pause', () => {
    const state = createPaceState({ rate: { count: 10, perMs: 1_000 } }, 0);
    simulate(state, [0, 0]);
    expect(simulate(state, [0, 0, 0, 0], 60_000)).toEqual([60_000, 60_000, 60_100, 60_200]);
  });

  it('lets one call through at a time when it is slow', () => {
    const state = createPaceState({ rate: { count: 1, perMs: 60_000 } }, 0);
    expect(simulate(state, [0, 0, 0])).toEqual([0, 60_000, 120_000]);
  });
});

describe('throttles at a fixed rate', () => {
  it('close the gate for the longest of several waits', () => {
    const state = createPaceState({ rate: FAST }, 0);
    throttle(state, { nowMs: 0, retryAfterMs: 10_000 });
    throttle(state, { nowMs: 1, retryAfterMs: 1_000 });
    throttle(state, { nowMs: 2 });
    expect(nextStartMs(state, 2)).toBe(10_000);
  });

  it.each([undefined, 0, -1, Number.NaN])(
    'double a wait that is not told from half a second to a minute, by chance half of it: %s',
    (retryAfterMs) => {
      const longest = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
      for (const random of [0, 1]) {
        const state = createPaceState({ rate: FAST }, 0);
        let nowMs = 0;
        const waits = longest.map(() => {
          nowMs = nextStartMs(state, nowMs) + 1;
          throttle(state, { nowMs, retryAfterMs, random });
          return nextStartMs(state, nowMs) - nowMs;
        });
        expect(waits).toEqual(longest.map((waitMs) => (waitMs * (1 + random)) / 2));
      }
    },
  );

  it('are heard of once, from however many calls that were under way', () => {
    const state = createPaceState({ rate: FAST }, 0);
    for (let call = 0; call < 30; call += 1) throttle(state, { nowMs: 100 + call, sentAtMs: call });
    expect(nextStartMs(state, 130)).toBe(600);
  });
});

// Where the rate that was given may be that of a short window, an answer with nothing left is none.
it.each<[PaceEvent['kind'], number, number]>([
  ['accepted', 10_000, 10_000],
  ['accepted', 3_000, 0],
  ['failed', 10_000, 10_000],
  ['failed', 3_000, 0],
  ['throttled', 2_000, 2_000],
])(
  'a counter that is used up at a fixed rate, says a call that was %s, for %i ms: waits %i',
  (kind, resetMs, waitMs) => {
    const state = createPaceState({ rate: FAST }, 0);
    const call = { sentAtMs: 0, latencyMs: 10, inFlight: 1, random: 0.5 };
    report(state, { kind, ...call, limits: { remaining: 0, resetMs } }, 10);
    expect(nextStartMs(state, 10)).toBe(10 + waitMs);
  },
);
