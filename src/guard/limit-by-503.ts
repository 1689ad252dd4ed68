import type { CallCounts } from './call-counts.ts';

/**
 * What speaks for 503 being the way in which the API limits calls, as gateways do: nginx, unless it is
 * told otherwise. To the circuit breaker that is an outage which comes back each time that calls are
 * made at speed, although the probes are answered. Seen twice in a row, with nothing else going wrong,
 * it is taken for a limit: from then on 503 is no failure, and the pacer finds the rate.
 *
 * It was none, and the belief is dropped, where 503 goes on although calls have become few, or nothing
 * else comes any more. Plain data, part of the state of the circuit breaker.
 */
export interface LimitBy503 {
  /** Whether 503 is taken for a limit. */
  isLimit: boolean;
  /** Relapses in a row that look like a limit. */
  signs: number;
  /** Calls of the present recovery that failed in another way. */
  otherFailures: number;
  /** Calls that were refused one after the other, each sent after the end of the one before. */
  refusedInRow: number;
  /** When the last of them ended. */
  refusedAtMs: number;
  /** Refusals in a row that came although calls had become few. */
  refusedSlow: number;
  /** When a call was last answered otherwise. */
  answeredAtMs: number;
  /** Most calls of a second that were answered. */
  fastestPerS: number;
}

const SIGNS = 2;
/** With so many refusals in a row, and nothing else for so long, the API is out after all. */
const MOST_IN_ROW = 5;
const LONGEST_ROW_MS = 5_000;
/** At so small a share of the fastest second, a limit refuses nothing. Buckets may have saved some calls up. */
const SLOW_SHARE = 1 / 8;
const MOST_SLOW = 3;

export function createLimitBy503(): LimitBy503 {
  return {
    isLimit: false,
    signs: 0,
    otherFailures: 0,
    refusedInRow: 0,
    refusedAtMs: 0,
    refusedSlow: 0,
    answeredAtMs: 0,
    fastestPerS: 0,
  };
}

/** The API was out, and calls come back to speed. */
export function onRecovery(state: LimitBy503): void {
  state.otherFailures = 0;
}

/** A call of a recovery failed otherwise than with 503. */
export function onOtherFailure(state: LimitBy503): void {
  state.otherFailures += 1;
}

/** Calls came back to speed, and too many failed. Returns whether that is a limit. */
export function onRelapse(state: LimitBy503, nowMs: number): boolean {
  state.signs = state.otherFailures === 0 ? state.signs + 1 : 0;
  if (state.signs < SIGNS) return false;
  Object.assign(state, createLimitBy503(), { isLimit: true, answeredAtMs: nowMs });
  return true;
}

/** The outage is over, without a relapse. */
export function onRecovered(state: LimitBy503): void {
  state.signs = 0;
}

/** While it is a limit: a call was not refused. */
export function onAnswered(state: LimitBy503, nowMs: number): void {
  state.refusedInRow = 0;
  state.answeredAtMs = nowMs;
}

/**
 * While it is a limit: a call was refused.
 *
 * @param counts the calls of the last seconds that were not
 * @returns `no_limit` when it was none after all, and `out` when that is because the API is out
 */
export function onRefused(
  state: LimitBy503,
  call: { readonly sentAtMs: number; readonly nowMs: number },
  counts: Readonly<CallCounts>,
): 'limit' | 'no_limit' | 'out' {
  const { sentAtMs, nowMs } = call;
  // Calls that were under way together are refused together.
  const isNews = sentAtMs >= state.refusedAtMs || state.refusedAtMs > nowMs;
  if (!isNews) return 'limit';
  state.refusedAtMs = nowMs;
  // A clock that was set back must not make the API seem there.
  state.answeredAtMs = Math.min(state.answeredAtMs, nowMs);
  state.refusedInRow += 1;
  state.refusedSlow = isSlow(state, counts) ? state.refusedSlow + 1 : 0;
  const isOut = state.refusedInRow >= MOST_IN_ROW && nowMs - state.answeredAtMs >= LONGEST_ROW_MS;
  if (!isOut && state.refusedSlow < MOST_SLOW) return 'limit';
  Object.assign(state, createLimitBy503());
  return isOut ? 'out' : 'no_limit';
}

/** Whether calls have become few. Seconds without any are not counted: there may have been nothing to do. */
function isSlow(state: LimitBy503, counts: Readonly<CallCounts>): boolean {
  let answered = 0;
  for (const { calls } of counts) {
    answered += calls;
    state.fastestPerS = Math.max(state.fastestPerS, calls);
  }
  return answered < counts.length * state.fastestPerS * SLOW_SHARE;
}
