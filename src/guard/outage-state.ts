import type { CallCounts } from './call-counts.ts';
import { createLimitBy503, type LimitBy503 } from './limit-by-503.ts';

/**
 * Notices that the API is out, stops all calls, and finds out when it is back: a circuit breaker.
 *
 * | from | to | when |
 * |---|---|---|
 * | `closed` | `open` | half of at least 20 calls within 30 s failed |
 * | `open` | `probing` | the wait is over: one call, the probe, is made |
 * | `probing` | `open` | the probe failed, or its end was never reported; the next wait is twice as
 * long |
 * | `probing` | `probing` | the probe was not made after all: another call becomes the probe |
 * | `probing` | `recovering` | the probe went well |
 * | `recovering` | `open` | half of at least three calls failed, or twenty in a row |
 * | `recovering` | `closed` | the last step went well, or 503 turned out to be a limit |
 *
 * While `open` and `probing` no other call starts. The waits are 5, 10, 20, … 300 s while probes
 * fail. After a relapse from `recovering` they go on from the last wait, but are at most 20 s,
 * because the API has just answered. While `recovering`, 10 %, 25 %, 50 % and 100 % of the callers
 * may be at work, each step for a second and ten good calls, or for five seconds.
 *
 * Plain data, changed only by the functions here. No clock is read: the caller passes the time. A
 * clock that is set back only makes the next probe start sooner.
 *
 * @see {@link https://martinfowler.com/bliki/CircuitBreaker.html Circuit breaker}
 */
export interface OutageState {
  phase: 'closed' | 'open' | 'probing' | 'recovering';
  /** Why the breaker is in this phase. */
  reason: OutageReason;
  /** When this phase began; null before the first change. */
  phaseSinceMs: number | null;
  /** When the present outage began; null when there is none. */
  outageSinceMs: number | null;
  /** Calls that ended while `closed` or `recovering`. */
  readonly counts: CallCounts;
  /**
   * Calls that failed in a row while `closed` or `recovering`. `failedAtMs` is when the last of
   * them ended.
   */
  failedInRow: number;
  failedAtMs: number;
  /** How often the wait before a probe was doubled. */
  doublings: number;
  /** The index of the step back to speed. `recovering` only. */
  step: number;
  /** When the step began. */
  stepSinceMs: number;
  /** Calls of the step that did not fail. */
  stepSuccesses: number;
  readonly limitBy503: LimitBy503;
}

/** The reason for the last change. */
export type OutageReason =
  | 'healthy'
  | 'calls_failed'
  | 'probe_due'
  | 'probe_failed'
  | 'probe_succeeded'
  | 'relapsed'
  | 'limited'
  | 'recovered';

/** The state for an API without known failures. */
export function createOutageState(): OutageState {
  return {
    phase: 'closed',
    reason: 'healthy',
    phaseSinceMs: null,
    outageSinceMs: null,
    counts: [],
    failedInRow: 0,
    failedAtMs: 0,
    doublings: 0,
    step: 0,
    stepSinceMs: 0,
    stepSuccesses: 0,
    limitBy503: createLimitBy503(),
  };
}

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;
/** After this time a probe counts as lost: its worker was killed before it reported the end. */
const PROBE_LOST_MS = 90_000;
/** The steps back to speed, as shares of the callers. */
export const STEPS: readonly number[] = [0.1, 0.25, 0.5, 1];
/**
 * Events of several machines arrive a little out of order. A larger step back means that a clock
 * was set back.
 */
export const CLOCK_TOLERANCE_MS: number = 1_000;

/** The share of the callers that may be at work on the way back to speed. */
export function shareOf(state: OutageState): number {
  return STEPS[state.step] ?? 1;
}

/** When the next probe may start, while `open`. */
export function nextProbeMs(state: OutageState, nowMs: number): number {
  // The phase began in the future: the clock was set back, by an unknown amount.
  return isToCome(state, nowMs) ? nowMs : (state.phaseSinceMs ?? nowMs) + waitMs(state);
}

/** How long no call starts before the next probe. */
function waitMs(state: OutageState): number {
  return Math.min(FIRST_WAIT_MS * 2 ** state.doublings, LONGEST_WAIT_MS);
}

/** Whether the probe has been under way so long that its end must be lost. */
export function isProbeLost(state: OutageState, nowMs: number): boolean {
  return isToCome(state, nowMs) || nowMs - (state.phaseSinceMs ?? nowMs) >= PROBE_LOST_MS;
}

/** Whether the phase began in the future, which means that the clock was set back. */
export function isToCome(state: OutageState, nowMs: number): boolean {
  return (state.phaseSinceMs ?? nowMs) - nowMs > CLOCK_TOLERANCE_MS;
}
