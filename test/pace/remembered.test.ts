import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  openIfTooLong,
  type PaceState,
  warmState,
} from '../../src/pace/pacer.ts';
import type { Rate } from '../../src/pace/rate.ts';
import { createRateLimiter } from '../../src/pace/rate-limiter.ts';
import { resumeFixedRate } from '../../src/pace/remembered.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const HOUR_MS = 3_600_000;

function learned(change: Partial<PaceState> = {}): unknown {
  const state = createPaceState({}, 5e12);
  state.phase = 'cruising';
  state.estimate.limitPerMs = 0.05;
  state.ratePerMs = 0.049;
  return JSON.parse(JSON.stringify({ ...state, ...change })) as unknown;
}

it.each([0, 24 * HOUR_MS])('begins just under a limit that was learned %i ms ago', (ageMs) => {
  const { ratePerSecond, learnedLimitPerSecond } = describePace(
    warmState(learned(), 1_000, ageMs),
    1_000,
  );
  expect(learnedLimitPerSecond).toBeCloseTo(50);
  expect(ratePerSecond).toBeCloseTo(49);
});

it('begins at half of an older limit, and climbs', () => {
  const state = warmState(learned(), 1_000, 25 * HOUR_MS);
  expect(describePace(state, 1_000).ratePerSecond).toBeCloseTo(25);
  expect(state.phase).toBe('starting');
});

it('begins as fast as the last run went that met no limit, and with no more calls in flight', () => {
  const { estimate, concurrency } = createPaceState({}, 0);
  const saved = learned({ estimate, ratePerMs: 0.2, concurrency: { ...concurrency, cap: 3 } });
  const state = warmState(saved, 1_000, HOUR_MS);
  expect(describePace(state, 1_000)).toMatchObject({ ratePerSecond: 200, concurrencyLimit: 3 });
  expect(nextStart(state, { nowMs: 1_000, inFlight: 3 })).toBe('wait_for_answer');
});

it('remembers how long it goes for an API that limits calls with 503', () => {
  expect(warmState(learned({ isBy503: true }), 1_000, 20 * HOUR_MS).isBy503).toBe(true);
  expect(warmState(learned(), 1_000, 20 * HOUR_MS).isBy503).toBe(false);
  expect(warmState(learned({ isBy503: true }), 1_000, 25 * HOUR_MS).isBy503).toBe(false);
});

it('takes a limit for old that was kept lately but was not seen since', () => {
  const state = warmState(learned(), 1_000, 60_000, 25 * HOUR_MS);
  expect(describePace(state, 1_000).ratePerSecond).toBeCloseTo(25);
});

it('does not forget a wait that the API told', () => {
  const saved = learned({ gateUntilMs: 5e12 + 300_000, gateIsTold: true });
  const state = warmState(saved, 1_000, 60_000);
  expect(nextStart(state, { nowMs: 1_000, inFlight: 0 })).toEqual({ atMs: 241_000 });
  expect(describePace(state, 1_000)).not.toHaveProperty('statedMs');
});

it('asks at once after a wait that is longer than the run may wait', () => {
  for (const [longestMs, atMs] of [
    [200_000, 1_000],
    [240_000, 241_000],
  ] as const) {
    const state = createPaceState({}, 1_000);
    Object.assign(state, { gateUntilMs: 241_000, gateIsTold: true });
    openIfTooLong(state, 1_000, longestMs);
    expect(nextStart(state, { nowMs: 1_000, inFlight: 0 })).toEqual({ atMs });
    expect(describePace(state, 0).why).toBe(longestMs < 240_000 ? 'backing_off' : 'told_to_wait');
  }
});

it('does not forget until when, if that is later than a wait is kept', () => {
  const saved = learned({
    gateUntilMs: 5e12 + 300_000,
    gateIsTold: true,
    statedUntilMs: 5e12 + 7_200_000,
  });
  expect(describePace(warmState(saved, 1_000, 60_000), 1_000).statedMs).toBe(7_140_000);
});

it('starts cold from anything malformed', () => {
  const cold = createPaceState({}, 1_000);
  const malformed = [undefined, null, 7, 'x', [], {}, { fixed: null, estimate: 1 }];
  for (const saved of malformed) expect(warmState(saved, 1_000, 0)).toEqual(cold);
  expect(warmState(learned({ ratePerMs: Number.NaN }), 1_000, 0)).toEqual(cold);
  expect(warmState(learned(), 1_000, Number.NaN)).toEqual(cold);
});

it('never throws, and always lets a call start', () => {
  fc.assert(
    fc.property(fc.anything(), fc.jsonValue(), fc.double(), (part, json, ageMs) => {
      for (const saved of [
        part,
        json,
        { ...(learned() as object), estimate: part, latency: json },
      ]) {
        const next = nextStart(warmState(saved, 0, ageMs), { nowMs: 0, inFlight: 0 });
        expect(next).not.toBe('wait_for_answer');
      }
    }),
  );
});

const never = new AbortController().signal;

function nextStartMs(state: PaceState, nowMs: number): number {
  const next = nextStart(state, { nowMs, inFlight: 0 });
  if (next === 'wait_for_answer') throw new Error('Expected a time, received wait_for_answer.');
  return next.atMs;
}

/** Starts one call after the other, each as late after its time as `latenessMs` says. */
function simulate(state: PaceState, latenessMs: readonly number[], fromMs: number): number[] {
  let nowMs = fromMs;
  return latenessMs.map((lateMs) => {
    nowMs = nextStartMs(state, nowMs) + lateMs;
    book(state, nowMs);
    return nowMs;
  });
}

/** Writes a state down, as a run does at its end. */
function keep(state: PaceState, nowMs: number): unknown {
  return JSON.parse(JSON.stringify({ ...state, latestMs: nowMs }));
}

const lateness = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 50, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 100_000, noNaN: true }) },
  ),
  { maxLength: 100 },
);

it('is exceeded in no window over two runs, whatever the pause between them', () => {
  const rates = fc.record({
    count: fc.oneof(
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0.5, 2.5, 256, 257, 300, 5_000),
    ),
    perMs: fc.constantFrom(1_000, 60_000, HOUR_MS, 24 * HOUR_MS),
  });
  const pauseShare = fc.double({ min: 0, max: 1.5, noNaN: true });
  const clockMs = fc.nat(1e7);
  fc.assert(
    fc.property(
      fc.record({ rate: rates, first: lateness, second: lateness, pauseShare, clockMs }),
      ({ rate, first, second, pauseShare, clockMs }) => {
        const state = createPaceState({ rate }, 0);
        const firstMs = simulate(state, first, 0);
        const savedMs = (firstMs.at(-1) ?? 0) + 10;
        const pauseMs = pauseShare * rate.perMs;
        const resumed = resumeFixedRate(keep(state, savedMs), {
          rate,
          nowMs: clockMs,
          savedAgeMs: pauseMs,
        });
        const secondMs = simulate(resumed, second, clockMs).map(
          (startMs) => startMs - clockMs + savedMs + pauseMs,
        );
        const startsMs = [...firstMs, ...secondMs];
        const most = Math.ceil(rate.count);
        for (const [index, startMs] of startsMs.entries()) {
          const laterMs = startsMs[index + most] ?? Number.POSITIVE_INFINITY;
          expect(laterMs - startMs).toBeGreaterThanOrEqual(rate.perMs - 1e-3);
        }
      },
    ),
  );
});

it('holds no call back once the pause was long enough', () => {
  const rate: Rate = { count: 300, perMs: 60_000 };
  const state = createPaceState({ rate }, 0);
  simulate(
    state,
    Array.from({ length: 300 }, () => 0),
    0,
  );
  const saved = keep(state, 60_000);
  expect(nextStartMs(resumeFixedRate(saved, { rate, nowMs: 5, savedAgeMs: 60_000 }), 5)).toBe(5);
});

it('goes on behind the latest start, whichever was written down last', () => {
  const rate: Rate = { count: 2, perMs: HOUR_MS };
  const state = createPaceState({ rate }, 0);
  simulate(state, [0, 0, 0], 0);
  const resumed = resumeFixedRate(keep(state, HOUR_MS), { rate, nowMs: 0, savedAgeMs: 0 });
  expect(nextStartMs(resumed, 0)).toBe(HOUR_MS / 2);
});

it('takes a clock that was set back for no time at all', () => {
  const rate: Rate = { count: 1, perMs: HOUR_MS };
  const state = createPaceState({ rate }, 0);
  simulate(state, [0], 1_000);
  for (const savedAgeMs of [-5_000, Number.NaN]) {
    const resumed = resumeFixedRate(keep(state, 2_000), { rate, nowMs: 0, savedAgeMs });
    expect(nextStartMs(resumed, 0)).toBe(HOUR_MS - 1_000);
  }
});

it('does not forget a wait that the API told', () => {
  const rate: Rate = { count: 10, perMs: 1_000 };
  const state = createPaceState({ rate }, 0);
  state.gateUntilMs = 90_000;
  state.gateIsTold = true;
  const resumed = resumeFixedRate(keep(state, 10_000), { rate, nowMs: 7, savedAgeMs: 50_000 });
  expect(nextStartMs(resumed, 7)).toBe(30_007);
});

it('starts anew from anything malformed, and from another rate', () => {
  const rate: Rate = { count: 10, perMs: 1_000 };
  const fresh = createPaceState({ rate }, 9);
  const fixed = { rate, recentStartsMs: [1, 2] };
  const malformed = [
    undefined,
    null,
    'x',
    [],
    {},
    { fixed: null, latestMs: 5 },
    { fixed: 3, latestMs: 5 },
    { fixed, latestMs: 'x' },
    { fixed, latestMs: 1 },
    { fixed: { ...fixed, recentStartsMs: [1, null] }, latestMs: 5 },
    { fixed: { ...fixed, recentStartsMs: 7 }, latestMs: 5 },
    { fixed: { ...fixed, rate: 7 }, latestMs: 5 },
    { fixed: { ...fixed, rate: { count: 11, perMs: 1_000 } }, latestMs: 5 },
    { fixed: { ...fixed, rate: { count: 10, perMs: 60_000 } }, latestMs: 5 },
  ];
  for (const saved of malformed) {
    expect(resumeFixedRate(saved, { rate, nowMs: 9, savedAgeMs: 1 })).toEqual(fresh);
  }
  fc.assert(
    fc.property(fc.anything(), fc.double(), (saved, savedAgeMs) => {
      const state = resumeFixedRate(saved, { rate, nowMs: 9, savedAgeMs });
      expect(nextStartMs(state, 9)).toBe(9);
    }),
  );
});

it('goes on from the snapshot of a limiter, which later calls do not change', async () => {
  const clock = createFakeClock();
  const rate: Rate = { count: 2, perMs: HOUR_MS };
  const limiter = createRateLimiter({ clock, rate });
  await limiter.acquire(never);
  await clock.advance(10 * 60_000);
  const snapshot = limiter.snapshot();
  await clock.advance(HOUR_MS);
  await limiter.acquire(never);
  const state = resumeFixedRate(snapshot, { rate, nowMs: 0, savedAgeMs: 5 * 60_000 });
  expect(nextStartMs(state, 0)).toBe(15 * 60_000);
});
