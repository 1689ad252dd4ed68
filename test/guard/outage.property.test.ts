import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createOutageState,
  mayStart,
  type OutageState,
  onCallEnd,
  onProbeStart,
} from '../../src/guard/outage.ts';

const YEAR_MS = 31_536_000_000;
const CALLERS = 10;

/** Something that happens, in whatever order. */
type Event =
  | {
      readonly kind: 'end';
      readonly isFailure: boolean;
      readonly isRefused: boolean;
      readonly tookMs: number;
      readonly count: number;
    }
  | { readonly kind: 'probe' }
  | { readonly kind: 'ask'; readonly inFlight: number }
  | { readonly kind: 'pass' | 'jump'; readonly ms: number }
  | { readonly kind: 'restart' };

const events = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('end' as const),
      isFailure: fc.boolean(),
      isRefused: fc.boolean(),
      tookMs: fc.integer({ min: -5_000, max: 60_000 }),
      count: fc.integer({ min: 1, max: 30 }),
    }),
    fc.record({ kind: fc.constant('probe' as const) }),
    fc.record({ kind: fc.constant('ask' as const), inFlight: fc.nat(20) }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(400_000) }),
    fc.record({
      kind: fc.constant('jump' as const),
      ms: fc.integer({ min: -YEAR_MS, max: YEAR_MS }),
    }),
    fc.record({ kind: fc.constant('restart' as const) }),
  ),
  { maxLength: 60 },
);

/** Plays events; returns what is left of them. */
function play(all: readonly Event[]): { state: OutageState; nowMs: number } {
  let state = createOutageState();
  let nowMs = YEAR_MS;
  for (const event of all) {
    switch (event.kind) {
      case 'end':
        for (let call = 0; call < event.count; call += 1) {
          const { isFailure, isRefused, tookMs } = event;
          onCallEnd(state, {
            isFailure,
            isRefused: isFailure && isRefused,
            sentAtMs: nowMs - tookMs,
            nowMs,
          });
        }
        break;
      case 'probe':
        onProbeStart(state, nowMs);
        break;
      case 'ask':
        mayStart(state, { nowMs, inFlight: event.inFlight, callers: CALLERS });
        break;
      case 'restart':
        state = JSON.parse(JSON.stringify(state)) as OutageState;
        break;
      default:
        nowMs += event.ms;
    }
  }
  return { state, nowMs };
}

/** Makes calls, one after another, to an API that is well; returns how long it took to be back at speed. */
function timeToRecover(state: OutageState, fromMs: number): number {
  let nowMs = fromMs;
  while (state.phase !== 'closed' && nowMs - fromMs < 600_000) {
    const advice = mayStart(state, { nowMs, inFlight: 0, callers: CALLERS });
    if (advice === 'wait') {
      nowMs += 1_000;
      continue;
    }
    nowMs = Math.max(nowMs, advice.atMs);
    if (advice.isProbe) onProbeStart(state, nowMs);
    onCallEnd(state, { isFailure: false, sentAtMs: nowMs, nowMs: nowMs + 100 });
    nowMs += 100;
  }
  return nowMs - fromMs;
}

describe('the outage guard', () => {
  it('is never wedged: an API that is well again is at speed within minutes', () => {
    fc.assert(
      fc.property(events, (all) => {
        const { state, nowMs } = play(all);
        // The longest wait and the four steps; or a lost probe, which takes less.
        expect(timeToRecover(state, nowMs)).toBeLessThan(300_000 + 30_000);
      }),
      { numRuns: 200 },
    );
  });

  it('never sends anybody away for longer than the longest wait', () => {
    fc.assert(
      fc.property(events, (all) => {
        const { state, nowMs } = play(all);
        const advice = mayStart(state, { nowMs, inFlight: 0, callers: CALLERS });
        if (advice === 'wait') {
          expect(state.phase).toBe('probing');
        } else {
          expect(advice.atMs - nowMs).toBeGreaterThanOrEqual(0);
          // A clock that is a second off is not taken for one that was set back.
          expect(advice.atMs - nowMs).toBeLessThanOrEqual(301_000);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is small and the same after a trip through JSON', () => {
    fc.assert(
      fc.property(events, (all) => {
        const { state } = play(all);
        const text = JSON.stringify(state);
        expect(JSON.parse(text)).toStrictEqual(state);
        expect(text.length).toBeLessThan(3_000);
      }),
    );
  });

  it('holds nobody back while less than half of the calls fail', () => {
    const calls = fc.array(
      fc.record({
        passMs: fc.nat(3_000),
        failures: fc.nat(10),
        more: fc.integer({ min: 1, max: 9 }),
      }),
    );
    fc.assert(
      fc.property(calls, (rounds) => {
        const state = createOutageState();
        let nowMs = 0;
        for (const { passMs, failures, more } of rounds) {
          nowMs += passMs;
          for (let call = 0; call < failures * 2 + more; call += 1) {
            // Good calls come first, so that at no time half of them have failed.
            const isFailure = call >= failures + more;
            expect(mayStart(state, { nowMs, inFlight: 9, callers: CALLERS })).toEqual({
              atMs: nowMs,
              isProbe: false,
            });
            onCallEnd(state, { isFailure, sentAtMs: nowMs - 50, nowMs });
          }
        }
      }),
    );
  });
});
