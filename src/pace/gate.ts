import { isCapped } from '../common/limit-hints.ts';
import type { PaceEvent } from './pace-event.ts';
import type { PaceState } from './pace-state.ts';

/**
 * The longest time that the gate stays closed without a stated wait. A longer wait would be about a
 * quota, not about the pace.
 */
export const LONGEST_WAIT_MS: number = 10 * 60_000;
/** The longest wait that is kept when a 429 states it. A nonsensical one is over some time. */
export const LONGEST_TOLD_MS: number = 60 * 60_000;
/**
 * A stated wait up to this may be for a window of one second: rounding to whole seconds, twice,
 * adds that much to its reset.
 */
export const SHORT_RESET_MS = 3_000;

/** Lets no call start before `untilMs`. A gate that is already closed for longer stays so. */
export function closeGate(state: PaceState, nowMs: number, untilMs: number, isTold: boolean): void {
  const longestMs = isTold ? LONGEST_TOLD_MS : LONGEST_WAIT_MS;
  const untilAtMostMs = Math.min(untilMs, nowMs + longestMs);
  if (untilAtMostMs <= state.gateUntilMs) return;
  state.gateUntilMs = untilAtMostMs;
  state.gateIsTold = isTold;
}

/**
 * No calls are left until a reset. Lets no call start before it, but asks the API again after at
 * most ten minutes.
 */
export function closeUntilReset(state: PaceState, nowMs: number, resetMs: number): void {
  closeGate(state, nowMs, nowMs + Math.min(resetMs, LONGEST_WAIT_MS), true);
}

/**
 * The gate was closed because of an answer: keeps the time that the answer stated, for people. The
 * gate itself is never closed for so long.
 */
export function noteStatedTime(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { remaining = 1, resetMs = 0 } = event.limits ?? {};
  const stated = event.statedMs ?? event.retryAfterMs ?? 0;
  const waitMs = Math.max(stated, remaining <= 0 ? resetMs : 0);
  const isStated = state.gateIsTold && waitMs > 0 && !isCapped(waitMs);
  state.statedUntilMs = isStated ? nowMs + waitMs : undefined;
}

/**
 * Notes how long calls have been refused without one that was accepted. A call that comes long after
 * the gate opened means that there were none to make, and that time does not count.
 */
export function noteThrottledRow(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { throttledRow: row } = state;
  if (event.kind === 'accepted') {
    row.calls = 0;
    row.lastedMs = 0;
  } else if (event.kind === 'throttled') {
    const expectedMs = Math.max(state.gateUntilMs, row.latestMs) + event.latencyMs + IDLE_MS;
    if (row.calls > 0) row.lastedMs += Math.max(0, Math.min(nowMs, expectedMs) - row.latestMs);
    row.calls += 1;
    row.latestMs = nowMs;
  }
}

/** A caller that has a call to make makes it within this time after the gate opened. */
const IDLE_MS = 5_000;

/** How long nothing but throttled calls have ended, in milliseconds; 0 when the last was accepted. */
export function onlyThrottledMs(
  { throttledRow: row, gateUntilMs }: PaceState,
  nowMs: number,
): number {
  if (row.calls === 0) return 0;
  return row.lastedMs + Math.max(0, Math.min(nowMs, gateUntilMs) - row.latestMs);
}

/**
 * Opens a gate that is closed for longer than the run may wait. The next call finds out what holds
 * now.
 */
export function openIfTooLong(state: PaceState, nowMs: number, longestMs: number): void {
  if (state.gateUntilMs - nowMs <= longestMs) return;
  state.gateUntilMs = nowMs;
  state.gateIsTold = false;
}

/**
 * The wait that a server stated, in milliseconds; undefined when it stated none, or one that is of
 * no use.
 */
export function toldWaitMs(retryAfterMs: number | undefined): number | undefined {
  // A wait of zero is of no use: with 429 again and again it would make an endless loop.
  if (retryAfterMs === undefined || Number.isNaN(retryAfterMs) || retryAfterMs <= 0)
    return undefined;
  return Math.min(retryAfterMs, LONGEST_TOLD_MS);
}
