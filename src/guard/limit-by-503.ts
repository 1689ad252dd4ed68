/**
 * Finds out whether the API uses 503 to limit calls, as gateways do (nginx by default). To the
 * circuit breaker such a limit is an outage that comes back whenever calls are made at full speed,
 * although the probes are answered. When that is seen twice in a row and nothing else fails, 503 is
 * taken for a limit. The first time counts if calls were answered that were sent after others had
 * been refused; an outage answers none. From then on 503 is no failure, and the pacer finds the rate.
 *
 * The belief is dropped when 503 goes on although calls have become few, or when only 503 comes any
 * more. Plain data, part of the state of the circuit breaker.
 */
export interface LimitBy503 {
  /** Whether 503 is taken for a limit. */
  isLimit: boolean;
  /** Relapses in a row that look like a limit. */
  signs: number;
  /** Calls of the present recovery, or before the outage, that failed in another way. */
  otherFailures: number;
  /** Since when calls are refused at full speed, with no second between two of them. */
  refusedSinceMs?: number;
  /** Calls that were answered since, and sent after that. */
  answeredBetween?: number;
  /** Calls that were refused one after the other, each sent after the end of the one before. */
  refusedInRow: number;
  /** When the last refused call ended. */
  refusedAtMs: number;
  /** Refusals in a row that came although calls had become few. */
  refusedSlow: number;
  /** When a call last had an answer other than 503. */
  answeredAtMs: number;
  /** The most calls that were answered in one second. */
  fastestPerS: number;
}

const SIGNS = 2;
/**
 * After this many refusals in a row, and nothing else for `LONGEST_ROW_MS`, the API is out after
 * all.
 */
const MOST_IN_ROW = 5;
const LONGEST_ROW_MS = 5_000;
/**
 * At this share of the fastest second, a rate limit refuses nothing, though a token bucket may have
 * saved some calls up.
 */
const SLOW_SHARE = 1 / 8;
const MOST_SLOW = 3;

export function createLimitBy503(): LimitBy503 {
  return {
    isLimit: false,
    signs: 0,
    otherFailures: 0,
    refusedSinceMs: 0,
    answeredBetween: 0,
    refusedInRow: 0,
    refusedAtMs: 0,
    refusedSlow: 0,
    answeredAtMs: 0,
    fastestPerS: 0,
  };
}

/** A probe went well, and calls come back to speed. */
export function onRecovery(state: LimitBy503): void {
  state.otherFailures = 0;
}

/** While 503 is a failure, and calls are made at full speed: a call ended. */
export function onEndAtSpeed(
  state: LimitBy503,
  call: { readonly isFailure: boolean; readonly isRefused?: boolean | undefined } & Times,
): void {
  const { isFailure, isRefused, sentAtMs, nowMs } = call;
  const { refusedSinceMs = 0, answeredBetween = 0 } = state;
  if (isRefused) {
    if (Math.abs(nowMs - state.refusedAtMs) > APART_MS || refusedSinceMs === 0) {
      state.refusedSinceMs = nowMs;
      state.answeredBetween = 0;
      state.otherFailures = 0;
    }
    state.refusedAtMs = nowMs;
  } else if (isFailure) onOtherFailure(state);
  else if (refusedSinceMs > 0 && sentAtMs > refusedSinceMs) {
    state.answeredBetween = answeredBetween + 1;
  }
}

/** Refused calls that are further apart do not belong together. */
const APART_MS = 1_000;

interface Times {
  readonly sentAtMs: number;
  readonly nowMs: number;
}

/** Calls stop, because too many failed at full speed. Returns whether that looks like a limit. */
export function onOutage(state: LimitBy503): boolean {
  const isLikeLimit = state.otherFailures === 0 && (state.answeredBetween ?? 0) > 0;
  state.signs = isLikeLimit ? 1 : 0;
  state.refusedSinceMs = 0;
  state.answeredBetween = 0;
  state.otherFailures = 0;
  return isLikeLimit;
}

/** A call of a recovery failed with something other than 503. */
export function onOtherFailure(state: LimitBy503): void {
  state.otherFailures += 1;
}

/** Too many calls of a recovery failed. Returns whether that is due to a limit. */
export function onRelapse(state: LimitBy503, nowMs: number): boolean {
  state.signs = state.otherFailures === 0 ? state.signs + 1 : 0;
  if (state.signs < SIGNS) return false;
  Object.assign(state, createLimitBy503(), { isLimit: true, answeredAtMs: nowMs });
  return true;
}

/** The outage is over without a relapse. */
export function onRecovered(state: LimitBy503): void {
  state.signs = 0;
}

/** While 503 is taken for a limit: a call was answered. */
export function onAnswered(state: LimitBy503, nowMs: number): void {
  state.refusedInRow = 0;
  state.answeredAtMs = nowMs;
}

/**
 * While 503 is taken for a limit: a call was refused.
 *
 * @param counts the calls of the last seconds that were not refused
 * @returns `no_limit` when 503 is not a limit after all, and `out` when that is because the API is
 *   out
 */
export function onRefused(
  state: LimitBy503,
  call: Times,
  counts: Readonly<CallCounts>,
): 'limit' | 'no_limit' | 'out' {
  const { sentAtMs, nowMs } = call;
  // Calls that were under way together are refused together, which counts once.
  const isNew = sentAtMs >= state.refusedAtMs || state.refusedAtMs > nowMs;
  if (!isNew) return 'limit';
  state.refusedAtMs = nowMs;
  // A clock that was set back must not make the API seem available.
  state.answeredAtMs = Math.min(state.answeredAtMs, nowMs);
  state.refusedInRow += 1;
  state.refusedSlow = isSlow(state, counts) ? state.refusedSlow + 1 : 0;
  const isOut = state.refusedInRow >= MOST_IN_ROW && nowMs - state.answeredAtMs >= LONGEST_ROW_MS;
  if (!isOut && state.refusedSlow < MOST_SLOW) return 'limit';
  Object.assign(state, createLimitBy503());
  return isOut ? 'out' : 'no_limit';
}

/**
 * Whether calls have become few. Seconds without any call are not counted: there may have been
 * nothing to do.
 */
function isSlow(state: LimitBy503, counts: Readonly<CallCounts>): boolean {
  let answered = 0;
  for (const { calls } of counts) {
    answered += calls;
    state.fastestPerS = Math.max(state.fastestPerS, calls);
  }
  return answered < counts.length * state.fastestPerS * SLOW_SHARE;
}

/** How many calls ended in a second, and how many of them failed. */
interface SecondCount {
  /** Seconds since the start of the clock. */
  readonly second: number;
  calls: number;
  failures: number;
}

/** The last seconds, oldest first. Never more than `WINDOW_SECONDS`. */
export type CallCounts = SecondCount[];

const WINDOW_SECONDS = 30;

/** Adds a call that ended now and drops the seconds before the window. */
export function addCall(
  counts: CallCounts,
  { isFailure, nowMs }: { readonly isFailure: boolean; readonly nowMs: number },
): void {
  const last = latestAt(counts, Math.floor(nowMs / 1_000));
  last.calls += 1;
  if (isFailure) last.failures += 1;
}

/** All calls of the window. */
export function totalOf(counts: CallCounts): { readonly calls: number; readonly failures: number } {
  let calls = 0;
  let failures = 0;
  for (const count of counts) {
    calls += count.calls;
    failures += count.failures;
  }
  return { calls, failures };
}

function latestAt(counts: CallCounts, second: number): SecondCount {
  const last = counts.at(-1);
  if (last?.second === second) return last;
  // The call was reported a little out of order, and is still in the window.
  if (last && second < last.second && last.second - second < 2) return last;
  const from = second - WINDOW_SECONDS;
  // Seconds in the future are left over from before a clock was set back.
  const kept = counts.filter((count) => count.second > from && count.second < second);
  const added: SecondCount = { second, calls: 0, failures: 0 };
  counts.splice(0, counts.length, ...kept, added);
  return added;
}
