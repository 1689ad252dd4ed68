import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  book,
  createPaceState,
  describePace,
  nextStart,
  type PaceEvent,
  type PaceState,
  report,
} from '../../src/pace/pacer.ts';
import { oneProcess } from '../simulation/clients.ts';
import { tokenBucket } from '../simulation/servers.ts';
import { simulate } from '../simulation/simulate.ts';

/** Longest time that anything may close the gate for; a clock may go back by a second without notice. */
const LONGEST_WAIT_MS = 10 * 60_000;
const LONGEST_CLOSED_MS = 60 * 60_000;

function event(kind: PaceEvent['kind'], told: Partial<PaceEvent> = {}): PaceEvent {
  return { kind, sentAtMs: 0, latencyMs: 100, inFlight: 1, random: 0.5, ...told };
}

/** Calls, one after the other, that are all accepted. */
function call(state: PaceState, { calls, fromMs }: { calls: number; fromMs: number }): number {
  let nowMs = fromMs;
  for (let index = 0; index < calls; index += 1) {
    const next = nextStart(state, { nowMs, inFlight: 0 });
    if (next === 'wait_for_answer') throw new Error('Expected a time, received wait_for_answer.');
    nowMs = next.atMs;
    book(state, nowMs);
    report(state, event('accepted', { sentAtMs: nowMs, latencyMs: 0.1 }), nowMs);
  }
  return nowMs;
}

const hostileNumber = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -1, 1e-300, 1e300, 2 ** 53),
  fc.nat(100_000),
);
const hints = fc.record(
  {
    quota: fc.record({ count: hostileNumber, perMs: hostileNumber }),
    remaining: hostileNumber,
    resetMs: hostileNumber,
    concurrent: hostileNumber,
  },
  { requiredKeys: [] },
);
const happenings = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 10, arbitrary: fc.double({ min: 0, max: 5_000, noNaN: true }) },
      { weight: 1, arbitrary: fc.double({ min: -1e9, max: 1e9, noNaN: true }) },
    ),
    agoMs: fc.oneof(fc.nat(5_000), hostileNumber),
    kind: fc.constantFrom('accepted', 'throttled', 'failed', 'abandoned', 'start', 'start'),
    inFlight: hostileNumber,
    retryAfterMs: fc.option(hostileNumber, { nil: undefined }),
    limits: fc.option(hints, { nil: undefined }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 80 },
);
type Happening = (typeof happenings extends fc.Arbitrary<infer List> ? List : never)[number];

/** Does to a state what may happen: reports out of order, lost and doubled, clocks set back and forth. */
function play(state: PaceState, list: readonly Happening[], fromMs: number): number {
  let nowMs = fromMs;
  for (const { kind, afterMs, agoMs, ...told } of list) {
    nowMs += afterMs;
    const next = nextStart(state, { nowMs, inFlight: 0 });
    if (kind !== 'start') {
      report(state, event(kind, { ...told, sentAtMs: nowMs - agoMs, latencyMs: agoMs }), nowMs);
    } else if (next !== 'wait_for_answer' && next.atMs < nowMs + 100) book(state, next.atMs);
  }
  return nowMs;
}

function withoutRetryAfter(list: readonly Happening[]): readonly Happening[] {
  return list.map((happening) => ({ ...happening, retryAfterMs: undefined }));
}

const RATE = { count: 5, perMs: 1_000 };
const rates = fc.option(fc.constant(RATE), { nil: undefined });

describe('whatever happens', () => {
  it.each([
    ['an hour', LONGEST_CLOSED_MS, (list: readonly Happening[]) => list],
    ['ten minutes, if no 429 told to wait longer', LONGEST_WAIT_MS, withoutRetryAfter],
  ])('a next call may start, at the latest after %s', (_, longestMs, heard) => {
    fc.assert(
      fc.property(happenings, (list) => {
        const state = createPaceState({}, 0);
        const nowMs = play(state, heard(list), 0);
        const next = nextStart(state, { nowMs, inFlight: 0 });
        if (next === 'wait_for_answer')
          throw new Error('Waits for an answer with nothing in flight.');
        expect(next.atMs).toBeGreaterThanOrEqual(nowMs);
        expect(next.atMs - nowMs).toBeLessThanOrEqual(longestMs + 1_000);
        expect(describePace(state, nowMs).waitMs).toBeLessThanOrEqual(longestMs + 1_000);
      }),
      { numRuns: 500 },
    );
  });

  it('it gets going again when calls are accepted', () => {
    fc.assert(
      fc.property(happenings, (list) => {
        const state = createPaceState({}, 0);
        const nowMs = play(
          state,
          list.map(({ limits: _, ...rest }) => ({ ...rest, limits: undefined })),
          0,
        );
        const laterMs = call(state, { calls: 2_000, fromMs: nowMs });
        expect(describePace(state, laterMs).ratePerSecond).toBeGreaterThan(0.5);
      }),
      { numRuns: 100 },
    );
  });

  it('a test that fails in the moment it was sent does not hide the answer of the next one', () => {
    const state = createPaceState({}, 0);
    call(state, { calls: 2, fromMs: 0 });
    report(state, event('throttled', { sentAtMs: 5_000 }), 5_000);
    report(state, event('failed', { sentAtMs: 6_000 }), 6_000);
    call(state, { calls: 1, fromMs: 6_000 });
    expect(state.phase).not.toBe('testing');
  });

  it('the state is plain data, and does the same after a journey as JSON', () => {
    fc.assert(
      fc.property(rates, happenings, happenings, (rate, before, after) => {
        const state = createPaceState({ rate }, 0);
        const nowMs = play(state, before, 0);
        const copy = JSON.parse(JSON.stringify(state)) as PaceState;
        expect(copy).toEqual(state);
        expect(play(copy, after, nowMs)).toBe(play(state, after, nowMs));
        expect(copy).toEqual(state);
      }),
      { numRuns: 300 },
    );
  });
});

const SOON = fc.array(
  fc.record({
    afterMs: fc.nat(500),
    agoMs: fc.nat(300),
    kind: fc.constantFrom('accepted', 'accepted', 'accepted', 'throttled', 'failed', 'start'),
    inFlight: fc.integer({ min: 1, max: 8 }),
    retryAfterMs: fc.option(fc.nat(30_000), { nil: undefined }),
    limits: fc.option(fc.record({ remaining: fc.nat(1), resetMs: fc.nat(40_000) }), {
      nil: undefined,
    }),
    random: fc.constant(0.5),
  }),
  { minLength: 1, maxLength: 60 },
);

describe('a clock that is set back', () => {
  const BY_MS = 2 ** 20;

  /** The same, with numbers rounded: a clock that is ahead has fewer digits behind the point. */
  function rounded(state: PaceState): unknown {
    return JSON.parse(JSON.stringify(state), (_, value: unknown) =>
      typeof value === 'number' ? Number(value.toPrecision(9)) : value,
    );
  }

  it('changes nothing: all that was timed moves with it', () => {
    fc.assert(
      fc.property(rates, SOON, SOON, fc.boolean(), (rate, before, after, isTrying) => {
        const [still, set] = [0, BY_MS].map((aheadMs) => {
          const state = createPaceState({ rate }, 1_000 + aheadMs);
          const nowMs = play(state, before, 1_000 + aheadMs);
          const { trial } = state.concurrency;
          if (isTrying) Object.assign(trial, { isOn: true, sinceMs: nowMs - 50, accepted: 60 });
          if (isTrying) state.concurrency.cap = 1;
          nextStart(state, { nowMs: nowMs - aheadMs, inFlight: 0 });
          play(state, after, nowMs - aheadMs);
          return state;
        });
        if (!still || !set) throw new Error('Nothing was played.');
        expect(rounded(set)).toEqual(rounded(still));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the gate', () => {
  it('never opens before the time told, whatever comes in between', () => {
    const told = fc.array(
      fc.record({
        afterMs: fc.nat(5_000),
        agoMs: fc.nat(10_000),
        kind: fc.constantFrom('accepted', 'throttled', 'failed', 'start'),
        retryAfterMs: fc.option(fc.nat(30_000), { nil: undefined }),
      }),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(rates, told, (rate, list) => {
        const state = createPaceState({ rate }, 0);
        let nowMs = 0;
        let toldMs = 0;
        for (const { afterMs, agoMs, kind, retryAfterMs } of list) {
          nowMs += afterMs;
          const next = nextStart(state, { nowMs, inFlight: 0 });
          if (next === 'wait_for_answer') throw new Error('Waits for an answer.');
          if (kind !== 'start') {
            report(state, event(kind, { sentAtMs: nowMs - agoMs, retryAfterMs }), nowMs);
            if (kind === 'throttled') toldMs = Math.max(toldMs, nowMs + (retryAfterMs ?? 0));
          } else if (next.atMs <= nowMs) book(state, nowMs);
          const after = nextStart(state, { nowMs, inFlight: 0 });
          if (after !== 'wait_for_answer') expect(after.atMs).toBeGreaterThanOrEqual(toldMs);
        }
      }),
    );
  });

  it('closes when nothing remains, until the reset', () => {
    const state = createPaceState({}, 0);
    report(state, event('accepted', { limits: { remaining: 0, resetMs: 7_000 } }), 1_000);
    expect(nextStart(state, { nowMs: 1_000, inFlight: 0 })).toEqual({ atMs: 8_000 });
    expect(describePace(state, 1_000)).toMatchObject({ why: 'told_to_wait', waitMs: 7_000 });
  });
});

describe('a published limit', () => {
  it('sets the rate, and nothing is tried out', () => {
    const state = createPaceState({}, 0);
    const limits = { quota: { count: 600, perMs: 60_000 } };
    report(state, event('accepted', { limits }), 100);
    const nowMs = call(state, { calls: 5_000, fromMs: 100 });
    expect(describePace(state, nowMs)).toMatchObject({
      why: 'holding',
      ratePerSecond: expect.closeTo(9.95, 1) as number,
    });
    expect(nowMs).toBeGreaterThan(5_000 * 100);
  });

  it('of calls in flight caps those', () => {
    const state = createPaceState({}, 0);
    report(state, event('accepted', { limits: { concurrent: 3 } }), 100);
    expect(nextStart(state, { nowMs: 5_000, inFlight: 3 })).toBe('wait_for_answer');
    expect(nextStart(state, { nowMs: 5_000, inFlight: 2 })).toEqual({ atMs: 5_000 });
    expect(describePace(state, 5_000).concurrencyLimit).toBe(3);
  });

  it('for a day is a quota and no pace', () => {
    const state = createPaceState({}, 0);
    const limits = { quota: { count: 1_000, perMs: 86_400_000 } };
    report(state, event('accepted', { limits }), 100);
    expect(describePace(state, 100).learnedLimitPerSecond).toBeUndefined();
  });
});

describe('slow start', () => {
  it('is over at the first throttle, and goes on with one call at a time', () => {
    const state = createPaceState({}, 0);
    const nowMs = call(state, { calls: 50, fromMs: 0 });
    report(state, event('throttled', { sentAtMs: nowMs, inFlight: 5 }), nowMs + 1);
    const test = nextStart(state, { nowMs: nowMs + 1, inFlight: 5 });
    if (test === 'wait_for_answer') throw new Error('Expected a time, received wait_for_answer.');
    book(state, test.atMs);
    expect(nextStart(state, { nowMs: test.atMs, inFlight: 5 })).toBe('wait_for_answer');
    expect(describePace(state, nowMs + 1).why).toBe('backing_off');
    report(state, event('accepted', { sentAtMs: test.atMs }), test.atMs + 1);
    expect(describePace(state, nowMs + 1_000).learnedLimitPerSecond).toBeGreaterThan(10);
  });

  it('does not read a throttle at the very start as a limit of nothing', () => {
    const state = createPaceState({}, 0);
    book(state, 0);
    report(state, event('throttled', { retryAfterMs: 7_000 }), 0);
    const nowMs = call(state, { calls: 10, fromMs: 0 });
    expect(nowMs).toBeLessThan(12_000);
  });
});

const LEARNED = { estimate: { limitPerMs: 0.05 } };
const HELD_BACK = { slots: { areAllTaken: true } };

interface Known {
  readonly rate?: typeof RATE;
  readonly state?: object;
  readonly told: object;
}

it.each<[string, Known]>([
  ['nothing', { told: { limitIs: 'unknown', why: 'open', waitMs: 0 } }],
  ['that it can be faster', { state: HELD_BACK, told: { limitIs: 'unknown', why: 'starting' } }],
  [
    'a limit, and callers that do not use it',
    { state: { phase: 'cruising', ...LEARNED }, told: { limitIs: 'learned', why: 'open' } },
  ],
  [
    'a limit, and that it is below it',
    {
      state: { phase: 'cruising', ratePerMs: 0.05, ...LEARNED, ...HELD_BACK },
      told: { limitIs: 'learned', learnedLimitPerSecond: 50, why: 'holding' },
    },
  ],
  [
    'a limit, and that it is above it',
    {
      state: { phase: 'cruising', ratePerMs: 0.051, ...LEARNED, ...HELD_BACK },
      told: { limitIs: 'learned', why: 'probing' },
    },
  ],
  ['no answer to a test yet', { state: { phase: 'testing' }, told: { why: 'backing_off' } }],
  [
    'how long it backs off',
    { state: { gateUntilMs: 10_700 }, told: { why: 'backing_off', waitMs: 700 } },
  ],
  [
    'how long it was told to wait',
    {
      state: { gateUntilMs: 10_700, gateIsTold: true, statedUntilMs: 19_000 },
      told: { why: 'told_to_wait', waitMs: 700, statedMs: 9_000 },
    },
  ],
  [
    'a rate that was given',
    { rate: RATE, told: { limitIs: 'fixed', ratePerSecond: 5, why: 'holding', waitMs: 0 } },
  ],
  [
    'a rate that was given, and when the next call is due',
    {
      rate: RATE,
      state: { fixed: { lastSlotMs: 9_950 } },
      told: { limitIs: 'fixed', why: 'holding', waitMs: 150 },
    },
  ],
])('the pace is described by what is known: %s', (_, { rate, state = {}, told }) => {
  const pace = merge(createPaceState({ rate }, 10_000), state);
  const description = describePace(pace, 10_000);
  expect(description).toMatchObject({ waitMs: 0, ...told });
  const parts = ['learnedLimitPerSecond', 'concurrencyLimit', 'statedMs', 'onlyThrottledMs'];
  for (const part of parts.filter((part) => !(part in told) && !('estimate' in state))) {
    expect(description).not.toHaveProperty(part);
  }
});

/** A state with some of its members, and of theirs, replaced. */
function merge(state: PaceState, changes: object): PaceState {
  const merged = Object.entries(changes).map(([key, value]: [string, unknown]) => {
    const part: unknown = state[key as keyof PaceState];
    return [key, typeof value === 'object' ? { ...(part as object), ...value } : value];
  });
  return { ...state, ...(Object.fromEntries(merged) as Partial<PaceState>) };
}

const SEEDS = [1, 2, 3, 4, 5];
const MANY = 100_000;

it.each([
  [100, 18.5],
  [1_000, 8.2],
])('a short list takes few round trips of %i ms where there is no limit', (serviceMs, most) => {
  const takenMs = SEEDS.map((seed) => {
    const scenario = { limit: tokenBucket(MANY, MANY), calls: 100, seed, serviceMs };
    return simulate(scenario, oneProcess(32)).elapsedMs;
  });
  const meanMs = takenMs.reduce((sum, ms) => sum + ms, 0) / SEEDS.length;
  expect(meanMs / serviceMs).toBeLessThan(most); // all callers at once would take four, or a little more
});
