import { isCapped } from '../common/calls.ts';
import type { PaceEvent, PaceState } from './pace-state.ts';

/**
 * The longest time that the gate stays closed without a stated wait. A longer wait would be about a
 * quota, not about the pace.
 */
export const LONGEST_WAIT_MS: number = 10 * 60_000;
/** The longest wait that is kept when a 429 states it. A nonsensical one is over some time. */
export const LONGEST_CLOSED_MS: number = 60 * 60_000;

/** Rates above this are not told apart, in calls per millisecond. */
export const FASTEST_PER_MS = 1_000;
/**
 * A stated wait up to this may be for a window of one second: rounding to whole seconds, twice,
 * adds that much to its reset.
 */
export const SHORT_RESET_MS = 3_000;

/** Lets no call start before `untilMs`. A gate that is already closed for longer stays so. */
export function closeGate(
  state: PaceState,
  nowMs: number,
  untilMs: number,
  isStatedWait: boolean,
): void {
  const longestMs = isStatedWait ? LONGEST_CLOSED_MS : LONGEST_WAIT_MS;
  const untilAtMostMs = Math.min(untilMs, nowMs + longestMs);
  if (untilAtMostMs <= state.gateUntilMs) return;
  state.gateUntilMs = untilAtMostMs;
  state.gateIsTold = isStatedWait;
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
export function statedWaitMs(retryAfterMs: number | undefined): number | undefined {
  // A wait of zero is of no use: with 429 again and again it would make an endless loop.
  if (retryAfterMs === undefined || Number.isNaN(retryAfterMs) || retryAfterMs <= 0)
    return undefined;
  return Math.min(retryAfterMs, LONGEST_CLOSED_MS);
}

/**
 * When starts are closer together than this many ms, timers are too coarse to space them. They may
 * then come in small bursts.
 */
const TIMER_MS = 5;
/**
 * A start that is late by less than this is made up for. Otherwise late timers would slow every run
 * down.
 */
const LONGEST_CATCH_UP_MS = 20;
/**
 * Catching up is at most this much faster than the rate: a limit without burst would notice more.
 */
const CATCH_UP_FACTOR = 1.5;

/** When the next call is due at the present rate; it may lie in the past. */
export function nextSlotMs({ slots, ratePerMs }: PaceState, nowMs: number): number {
  const intervalMs = 1 / ratePerMs;
  const isBurst = intervalMs < TIMER_MS;
  // Slots that were planned at a slower rate must not hold up a faster one.
  const longestMs = intervalMs + (isBurst ? TIMER_MS : LONGEST_CATCH_UP_MS);
  const plannedMs = Math.min(slots.nextMs, slots.lastMs + longestMs);
  const dueMs = Math.max(plannedMs, nowMs - Math.min(intervalMs, LONGEST_CATCH_UP_MS));
  if (isBurst) return dueMs - TIMER_MS;
  return Math.max(dueMs, slots.lastMs + intervalMs / CATCH_UP_FACTOR);
}

/** Takes the next slot for a call that starts at `atMs`. */
export function takeSlot(state: PaceState, atMs: number): void {
  const { slots, ratePerMs } = state;
  const intervalMs = 1 / ratePerMs;
  const latenessMs = atMs - Math.max(state.gateUntilMs, nextSlotMs(state, atMs));
  // A burst that took the slots of a whole ms has used up the rate.
  const mostMs = intervalMs < TIMER_MS ? TIMER_MS - 1 : Math.max(2, intervalMs / 4);
  slots.areAllTaken = latenessMs <= mostMs;
  const plannedMs = Math.min(slots.nextMs, atMs + TIMER_MS);
  slots.nextMs = Math.max(plannedMs, atMs - Math.min(intervalMs, LONGEST_CATCH_UP_MS)) + intervalMs;
  slots.lastMs = Math.max(slots.lastMs, atMs);
}

/** Slots begin anew at `atMs`. Earlier slots do not count. */
export function restartSlots({ slots }: PaceState, atMs: number): void {
  slots.nextMs = atMs;
}
