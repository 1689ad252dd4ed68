/**
 * A rate that is taken down for a while, to see whether that changes anything, or after calls that
 * failed, and climbs back by doubling; or beyond what it was, where the limit may be none. Pure.
 */

export const SLOWEST_PER_MS: number = 1 / 3_600_000;
export const FASTEST_PER_MS = 1_000;
/** Slower, it would take too long to show. */
export const SLOWEST_CLIMB_PER_MS: number = 1 / 1_000;
/** It doubles after so many accepted calls. */
export const CLIMB_CALLS = 6;

/** What of a pace has to do with it. */
interface Climbing {
  readonly state: string;
  readonly flowPerMs: number;
  ratePerMs: number;
  climbToPerMs: number;
  climbLeft: number;
  climbMs: number;
  isDoubted: boolean;
  healthyMs: number;
  nextMs: number;
  windowMs: number;
  accepted: number;
  epochMs: number;
  epochAccepted: number;
}

/**
 * Takes the rate down for a while, to see whether that changes anything, until `climb` or `resume`.
 */
export function slow(pace: Climbing, ratePerMs: number, nowMs: number): void {
  if (pace.state !== 'flowing') return;
  pace.climbToPerMs = Math.max(pace.climbToPerMs, pace.ratePerMs);
  pace.climbLeft = 0;
  pace.ratePerMs = Math.max(SLOWEST_PER_MS, ratePerMs);
  pace.nextMs = nowMs;
}

/**
 * Lets the rate climb by doubling.
 *
 * @param toPerMs 0: to what it was; more than the fastest: the limit may be none
 */
export function climb(pace: Climbing, toPerMs: number, nowMs: number): void {
  if (toPerMs > FASTEST_PER_MS) pace.isDoubted = true;
  pace.climbToPerMs = Math.min(FASTEST_PER_MS, Math.max(pace.climbToPerMs, toPerMs));
  if (toPerMs > 0) pace.ratePerMs = Math.max(pace.ratePerMs, SLOWEST_CLIMB_PER_MS);
  pace.climbLeft = CLIMB_CALLS;
  pace.climbMs = nowMs;
}

/** climbing: a call was accepted. */
export function climbOn(pace: Climbing, sentAtMs: number, nowMs: number): void {
  if (pace.climbLeft === 0 || sentAtMs < pace.climbMs) return;
  pace.climbLeft -= 1;
  if (pace.climbLeft > 0) return;
  // A rate that nobody makes use of proves nothing: there it ends.
  const next = Math.max(pace.ratePerMs, Math.min(2 * pace.ratePerMs, 3 * pace.flowPerMs));
  pace.climbToPerMs = next > pace.ratePerMs ? pace.climbToPerMs : next;
  pace.ratePerMs = Math.min(pace.climbToPerMs, next);
  pace.climbLeft = CLIMB_CALLS;
  pace.climbMs = nowMs;
  pace.healthyMs = nowMs;
  if (pace.ratePerMs >= pace.climbToPerMs) resume(pace, nowMs);
}

/** The rate is what it was before it was taken down. */
export function resume(pace: Climbing, nowMs: number): void {
  if (pace.climbToPerMs === 0) return;
  pace.ratePerMs = pace.climbToPerMs;
  pace.climbToPerMs = 0;
  pace.isDoubted = false;
  pace.nextMs = Math.min(pace.nextMs, nowMs);
  pace.windowMs = nowMs;
  pace.accepted = 0;
  // What was accepted while it was slow says nothing of the limit.
  pace.epochMs = nowMs;
  pace.epochAccepted = 0;
}
