import type { Rate } from './rate.ts';

/**
 * The pacer's whole memory, as plain data. Times are milliseconds of one clock that never goes
 * back.
 */
export interface PaceState {
  readonly rate: Rate | undefined;
  /** No call starts before this: the server said so, or we back off from a throttle. */
  gateUntilMs: number;
  /** When the gate was last moved; a throttled call that was sent before then is no news. */
  gateMovedAtMs: number;
  /** Throttles in a row that came without a wait told. */
  throttlesInARow: number;
  /** Where the last call stands in an evenly spaced row of starts. Fixed rates only. */
  lastSlotMs: number;
  /** When the last `rate.count` calls started, as a ring. Fixed rates only. */
  readonly recentStartsMs: Float64Array;
  /** The oldest entry of the ring, the next to be overwritten. */
  oldestStart: number;
}

/** A call was answered 429. */
export interface Throttle {
  readonly nowMs: number;
  /** When the call was sent. */
  readonly sentAtMs: number;
  /** How long the server said to wait, if it did. */
  readonly retryAfterMs: number | undefined;
  /** Between 0 and 1, spreads backoffs of several processes. */
  readonly random: number;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;

/** A pacer that has seen nothing yet. Without a rate only the gate holds calls back. */
export function createPaceState(rate?: Rate): PaceState {
  return {
    rate,
    gateUntilMs: Number.NEGATIVE_INFINITY,
    gateMovedAtMs: Number.NEGATIVE_INFINITY,
    throttlesInARow: 0,
    lastSlotMs: Number.NEGATIVE_INFINITY,
    recentStartsMs: new Float64Array(rate ? Math.ceil(rate.count) : 0).fill(
      Number.NEGATIVE_INFINITY,
    ),
    oldestStart: 0,
  };
}

/** The earliest time at which the next call may start; it may lie in the past. */
export function nextStartMs(state: PaceState): number {
  if (!state.rate) return state.gateUntilMs;
  const { count, perMs } = state.rate;
  const intervalMs = perMs / count;
  // Evenly spaced, so that a rate per minute is not spent in its first second…
  const spacedMs = state.lastSlotMs + intervalMs;
  // …and counted, because a timer that fires late is caught up with by the calls after it.
  const ring = state.recentStartsMs;
  const windowMs = (ring[state.oldestStart] ?? Number.NEGATIVE_INFINITY) + ring.length * intervalMs;
  return Math.max(state.gateUntilMs, spacedMs, windowMs);
}

/** Books a call that starts now. To be called in the same turn as the check, or two callers share a slot. */
export function bookStart(state: PaceState, nowMs: number): void {
  if (!state.rate) return;
  const intervalMs = state.rate.perMs / state.rate.count;
  // After a pause the row of slots starts anew; a late timer of less than an interval keeps it.
  state.lastSlotMs = Math.max(state.lastSlotMs + intervalMs, nowMs - intervalMs);
  state.recentStartsMs[state.oldestStart] = nowMs;
  state.oldestStart = (state.oldestStart + 1) % state.recentStartsMs.length;
}

/**
 * Closes the gate for all callers: as long as the server said, else with exponential backoff
 * between half and all of 0.5 s, 1 s, 2 s, … 60 s.
 */
export function onThrottle(state: PaceState, throttle: Throttle): void {
  const { nowMs, sentAtMs, retryAfterMs, random } = throttle;
  // A wait of nothing is no help: answered 429 again and again, it would be a loop without end.
  if (retryAfterMs !== undefined && retryAfterMs > 0) {
    closeGate(state, nowMs, nowMs + retryAfterMs);
    return;
  }
  // Calls that were under way when the gate closed say the same thing again.
  if (sentAtMs <= state.gateMovedAtMs) return;
  const longestMs = Math.min(FIRST_BACKOFF_MS * 2 ** state.throttlesInARow, LONGEST_BACKOFF_MS);
  state.throttlesInARow += 1;
  closeGate(state, nowMs, nowMs + longestMs * (0.5 + random / 2));
}

/** A call was answered, and not with 429: the next backoff starts small again. */
export function onAccepted(state: PaceState): void {
  state.throttlesInARow = 0;
}

function closeGate(state: PaceState, nowMs: number, untilMs: number): void {
  state.gateMovedAtMs = nowMs;
  state.gateUntilMs = Math.max(state.gateUntilMs, untilMs);
}
