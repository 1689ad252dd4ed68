import type { PaceState } from './pace-state.ts';

/** Nobody is held up for longer, whatever a server says: a longer wait is a matter of quota, not of pace. */
export const LONGEST_WAIT_MS: number = 10 * 60_000;

/** Lets no call start before `untilMs`. A gate that is closed for longer stays so. */
export function closeGate(state: PaceState, nowMs: number, untilMs: number, isTold: boolean): void {
  const untilAtMostMs = Math.min(untilMs, nowMs + LONGEST_WAIT_MS);
  if (untilAtMostMs <= state.gateUntilMs) return;
  state.gateUntilMs = untilAtMostMs;
  state.gateIsTold = isTold;
}

/** The wait that a server told, in milliseconds; undefined when it told none that helps. */
export function toldWaitMs(retryAfterMs: number | undefined): number | undefined {
  // A wait of nothing is no help: answered 429 again and again, it would be a loop without end.
  if (retryAfterMs === undefined || Number.isNaN(retryAfterMs) || retryAfterMs <= 0)
    return undefined;
  return Math.min(retryAfterMs, LONGEST_WAIT_MS);
}
