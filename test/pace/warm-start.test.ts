import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  createPaceState,
  describePace,
  nextStart,
  type PaceState,
  warmState,
} from '../../src/pace/pacer.ts';

const HOUR_MS = 3_600_000;

function learned(change: Partial<PaceState> = {}): unknown {
  const state = createPaceState({}, 5e12);
  state.phase = 'cruising';
  state.estimate.limitPerMs = 0.05;
  state.ratePerMs = 0.049;
  return JSON.parse(JSON.stringify({ ...state, ...change })) as unknown;
}

it('begins just under a limit that was learned less than a day ago', () => {
  const { ratePerSecond, learnedLimitPerSecond } = describePace(
    warmState(learned(), 1_000, 20 * HOUR_MS),
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
