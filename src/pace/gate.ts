import type { PaceState } from './pace-state.ts';

/** Nobody is held up for longer by what was not said in so many words: that is a matter of quota, not of pace. */
export const LONGEST_WAIT_MS: number = 10 * 60_000;
/** The same for a wait that was told with a 429. Should it be nonsense, it is over some day. */
export const LONGEST_TOLD_MS: number = 60 * 60_000;
/** What is told as no longer than this may be the second of a window: two times in whole seconds tell its reset. */
export const SHORT_RESET_MS = 3_000;

/** Lets no call start before `untilMs`. A gate that is closed for longer stays so. */
export function closeGate(state: PaceState, nowMs: number, untilMs: number, isTold: boolean): void {
  const longestMs = isTold ? LONGEST_TOLD_MS : LONGEST_WAIT_MS;
  const untilAtMostMs = Math.min(untilMs, nowMs + longestMs);
  if (untilAtMostMs <= state.gateUntilMs) return;
  state.gateUntilMs = untilAtMostMs;
  state.gateIsTold = isTold;
}

/** Nothing is left until a reset: lets no call start before, but asks again some time if that is far. */
export function closeUntilReset(state: PaceState, nowMs: number, resetMs: number): void {
  closeGate(state, nowMs, nowMs + Math.min(resetMs, LONGEST_WAIT_MS), true);
}

/** Opens a gate that is closed for longer than somebody may wait: asked again, the API says what holds now. */
export function openIfTooLong(state: PaceState, nowMs: number, longestMs: number): void {
  if (state.gateUntilMs - nowMs <= longestMs) return;
  state.gateUntilMs = nowMs;
  state.gateIsTold = false;
}

/** The wait that a server told, in milliseconds; undefined when it told none that helps. */
export function toldWaitMs(retryAfterMs: number | undefined): number | undefined {
  // A wait of nothing is no help: answered 429 again and again, it would be a loop without end.
  if (retryAfterMs === undefined || Number.isNaN(retryAfterMs) || retryAfterMs <= 0)
    return undefined;
  return Math.min(retryAfterMs, LONGEST_TOLD_MS);
}
