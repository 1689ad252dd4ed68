import type { PaceState } from './pace-state.ts';

/** Above one call in so many ms, timers are too coarse to space calls: they may start in small bursts. */
const TIMER_MS = 5;
/** A start that was missed by less is made up for, or late timers would slow every run down. */
const LONGEST_CATCH_UP_MS = 20;
/** Catching up goes at most so much faster than the rate: a limit without burst would notice more. */
const CATCH_UP_FACTOR = 1.5;

/** When the next call is due at the present rate; it may lie in the past. */
export function nextSlotMs({ slots, ratePerMs }: PaceState, nowMs: number): number {
  const intervalMs = 1 / ratePerMs;
  const isBurst = intervalMs < TIMER_MS;
  // Slots that were planned at a slower rate do not hold up a faster one.
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
  // A burst that took the slots of a whole ms has used the rate up.
  const mostMs = intervalMs < TIMER_MS ? TIMER_MS - 1 : Math.max(2, intervalMs / 4);
  slots.areAllTaken = latenessMs <= mostMs;
  const plannedMs = Math.min(slots.nextMs, atMs + TIMER_MS);
  slots.nextMs = Math.max(plannedMs, atMs - Math.min(intervalMs, LONGEST_CATCH_UP_MS)) + intervalMs;
  slots.lastMs = Math.max(slots.lastMs, atMs);
}

/** Slots begin anew at `atMs`, and none before counts. */
export function restartSlots({ slots }: PaceState, atMs: number): void {
  slots.nextMs = atMs;
}
