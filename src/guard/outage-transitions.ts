import { onRecovered, onRecovery } from './limit-by-503.ts';
import { type OutageReason, type OutageState, STEPS } from './outage-state.ts';

/** A step is done after this many good calls, but not before `SHORTEST_STEP_MS`. */
const STEP_CALLS = 10;
const SHORTEST_STEP_MS = 1_000;
/** Without that many calls, a step is done after this time. */
const LONGEST_STEP_MS = 5_000;
/** One more doubling makes the wait after a relapse 20 s. */
const MOST_DOUBLINGS_BEFORE_RELAPSE = 1;

/** closed → open */
export function open(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  enter(state, 'open', 'calls_failed', nowMs);
  state.outageSinceMs = nowMs;
}

/** open → probing */
export function startProbe(state: OutageState, nowMs: number): void {
  enter(state, 'probing', 'probe_due', nowMs);
}

/** probing, recovering → open, with a wait twice as long */
export function reopen(state: OutageState, reason: OutageReason, nowMs: number): void {
  state.doublings += 1;
  enter(state, 'open', reason, nowMs);
  state.outageSinceMs ??= nowMs;
}

/** probing → recovering */
export function startRecovery(state: OutageState, nowMs: number): void {
  enter(state, 'recovering', 'probe_succeeded', nowMs);
  onRecovery(state.limitBy503);
  startStep(state, 0, nowMs);
}

/**
 * recovering → open, with a wait twice as long but at most 20 s, because the API has just answered
 */
export function relapse(state: OutageState, nowMs: number): void {
  state.doublings = Math.min(state.doublings, MOST_DOUBLINGS_BEFORE_RELAPSE);
  reopen(state, 'relapsed', nowMs);
}

/** recovering → the next step, or after the last one → closed */
export function advance(state: OutageState, nowMs: number): void {
  state.stepSuccesses = Math.min(state.stepSuccesses + 1, STEP_CALLS);
  // A clock that was set back must not make a step last.
  state.stepSinceMs = Math.min(state.stepSinceMs, nowMs);
  const tookMs = nowMs - state.stepSinceMs;
  if (tookMs < (state.stepSuccesses < STEP_CALLS ? LONGEST_STEP_MS : SHORTEST_STEP_MS)) return;
  // A whole good step ends the outage. A relapse after it begins another.
  state.outageSinceMs = null;
  if (state.step + 1 < STEPS.length) startStep(state, state.step + 1, nowMs);
  else close(state, nowMs);
}

/** recovering → closed */
function close(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  onRecovered(state.limitBy503);
  enter(state, 'closed', 'recovered', nowMs);
}

/** recovering → closed, because calls are only limited by 503 */
export function endAsLimit(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  enter(state, 'closed', 'limited', nowMs);
  state.outageSinceMs = null;
}

function enter(
  state: OutageState,
  phase: OutageState['phase'],
  reason: OutageReason,
  nowMs: number,
): void {
  state.phase = phase;
  state.reason = reason;
  state.phaseSinceMs = nowMs;
  state.counts.length = 0;
  state.failedInRow = 0;
  // A clock that was set back must not hide how long the outage has lasted.
  if (state.outageSinceMs !== null) state.outageSinceMs = Math.min(state.outageSinceMs, nowMs);
}

function startStep(state: OutageState, step: number, nowMs: number): void {
  state.step = step;
  state.stepSinceMs = nowMs;
  state.stepSuccesses = 0;
}
