import type { CallCounts } from './call-counts.ts';
import { createLimitBy503, type LimitBy503 } from './limit-by-503.ts';

/**
 * Notices that the API is out, stops all calls, and finds out when it is back: a circuit breaker.
 *
 * | from | to | when |
 * |---|---|---|
 * | `closed` | `open` | half of at least 20 calls within 30 s failed |
 * | `open` | `probing` | the wait is over: one call, the probe, is made |
 * | `probing` | `open` | the probe failed, or nobody reported its end; the next wait is twice as long |
 * | `probing` | `probing` | the probe was not made after all: another call is |
 * | `probing` | `recovering` | the probe went well |
 * | `recovering` | `open` | half of at least three calls failed, or twenty in a row |
 * | `recovering` | `closed` | the last step went well, or 503 turned out to be a limit |
 *
 * While `open` and `probing` no other call starts. The waits are 5, 10, 20, … 300 s while probes fail. When
 * it opens again that was `recovering`, they go on from where they were, but not beyond 20 s: it has just
 * answered. While `recovering`, 10 %, 25 %, 50 % and 100 % of the callers
 * may be at work, each for a second and ten good calls, or for five seconds.
 *
 * Plain data, changed by the functions here and nobody else; no clock is read. Instants are those of
 * whoever calls, and a clock that is set back only makes it try sooner.
 *
 * @see {@link https://martinfowler.com/bliki/CircuitBreaker.html Circuit breaker}
 */
export interface OutageState {
  phase: 'closed' | 'open' | 'probing' | 'recovering';
  /** Why it is in this phase. */
  reason: OutageReason;
  /** When it came into this phase; null before the first change. */
  phaseSinceMs: number | null;
  /** When the outage began that is not over yet. */
  outageSinceMs: number | null;
  /** Calls that ended while `closed` or `recovering`. */
  readonly counts: CallCounts;
  /** Calls that failed one after the other while `closed` or `recovering`, and when the last of them ended. */
  failedInRow: number;
  failedAtMs: number;
  /** How often the wait before a probe was doubled. */
  doublings: number;
  /** Which of the steps back to speed. `recovering` only. */
  step: number;
  /** When the step began. */
  stepSinceMs: number;
  /** Calls of the step that went well. */
  stepSuccesses: number;
  readonly limitBy503: LimitBy503;
}

/** What made the last change. */
export type OutageReason =
  | 'healthy'
  | 'calls_failed'
  | 'probe_due'
  | 'probe_failed'
  | 'probe_succeeded'
  | 'relapsed'
  | 'limited'
  | 'recovered';

/** An API of which nothing bad is known. */
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
/** A probe of which nobody reports the end: whoever made it was killed. */
const PROBE_LOST_MS = 90_000;
/** The steps back to speed, as shares of the callers. */
export const STEPS: readonly number[] = [0.1, 0.25, 0.5, 1];
/** Events of several machines come a little out of order; more than this, a clock was set back. */
export const CLOCK_TOLERANCE_MS: number = 1_000;

/** The share of the callers that may be at work on the way back to speed. */
export function shareOf(state: OutageState): number {
  return STEPS[state.step] ?? 1;
}

/** When the next probe may start, while `open`. */
export function nextProbeMs(state: OutageState, nowMs: number): number {
  // Opened in a time that is still to come: the clock was set back, and nobody knows by how much.
  return isToCome(state, nowMs) ? nowMs : (state.phaseSinceMs ?? nowMs) + waitMs(state);
}

/** How long no call starts before the next probe. */
function waitMs(state: OutageState): number {
  return Math.min(FIRST_WAIT_MS * 2 ** state.doublings, LONGEST_WAIT_MS);
}

/** Whether the probe has been under way for so long that its end was lost. */
export function isProbeLost(state: OutageState, nowMs: number): boolean {
  return isToCome(state, nowMs) || nowMs - (state.phaseSinceMs ?? nowMs) >= PROBE_LOST_MS;
}

/** Whether the phase began in a time that is still to come: the clock was set back. */
export function isToCome(state: OutageState, nowMs: number): boolean {
  return (state.phaseSinceMs ?? nowMs) - nowMs > CLOCK_TOLERANCE_MS;
}
