import type { PaceState } from './pace-state.ts';

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
