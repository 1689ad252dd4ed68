import { addCall, type CallCounts, totalOf } from './call-counts.ts';
import {
  createLimitBy503,
  type LimitBy503,
  onAnswered,
  onOtherFailure,
  onRecovered,
  onRecovery,
  onRefused,
  onRelapse,
} from './limit-by-503.ts';

/**
 * Notices that the API is out, stops all calls, and finds out when it is back: a circuit breaker.
 *
 * | from | to | when |
 * |---|---|---|
 * | `closed` | `open` | half of at least 20 calls within 30 s failed |
 * | `open` | `probing` | the wait is over: one call, the probe, is made |
 * | `probing` | `open` | the probe failed, or its end was never reported; the next wait is twice as
 * long |
 * | `probing` | `probing` | the probe was not made after all: another call becomes the probe |
 * | `probing` | `recovering` | the probe went well |
 * | `recovering` | `open` | half of at least three calls failed, or twenty in a row |
 * | `recovering` | `closed` | the last step went well, or 503 turned out to be a limit |
 *
 * While `open` and `probing` no other call starts. The waits are 5, 10, 20, … 300 s while probes
 * fail. After a relapse from `recovering` they go on from the last wait, but are at most 20 s,
 * because the API has just answered. While `recovering`, 10 %, 25 %, 50 % and 100 % of the callers
 * may be at work, each step for a second and ten good calls, or for five seconds.
 *
 * Plain data, changed only by the functions here. No clock is read: the caller passes the time. A
 * clock that is set back only makes the next probe start sooner.
 *
 * @see {@link https://martinfowler.com/bliki/CircuitBreaker.html Circuit breaker}
 */
export interface OutageState {
  phase: 'closed' | 'open' | 'probing' | 'recovering';
  /** Why the breaker is in this phase. */
  reason: OutageReason;
  /** When this phase began; null before the first change. */
  phaseSinceMs: number | null;
  /** When the present outage began; null when there is none. */
  outageSinceMs: number | null;
  /** Calls that ended while `closed` or `recovering`. */
  readonly counts: CallCounts;
  /**
   * Calls that failed in a row while `closed` or `recovering`. `failedAtMs` is when the last of
   * them ended.
   */
  failedInRow: number;
  failedAtMs: number;
  /** How often the wait before a probe was doubled. */
  doublings: number;
  /** The index of the step back to speed. `recovering` only. */
  step: number;
  /** When the step began. */
  stepSinceMs: number;
  /** Calls of the step that did not fail. */
  stepSuccesses: number;
  readonly limitBy503: LimitBy503;
}

/** The reason for the last change. */
export type OutageReason =
  | 'healthy'
  | 'calls_failed'
  | 'probe_due'
  | 'probe_failed'
  | 'probe_succeeded'
  | 'relapsed'
  | 'limited'
  | 'recovered';

/** The state for an API without known failures. */
export function createOutageState(): OutageState {
  return {
    phase: 'closed',
    reason: 'healthy',
    phaseSinceMs: null,
    outageSinceMs: null,
    counts: [],
    failedInRow: 0,
    failedAtMs: 0,
    doublings: 0,
    step: 0,
    stepSinceMs: 0,
    stepSuccesses: 0,
    limitBy503: createLimitBy503(),
  };
}

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;
/** After this time a probe counts as lost: its worker was killed before it reported the end. */
const PROBE_LOST_MS = 90_000;
/** The steps back to speed, as shares of the callers. */
const STEPS: readonly number[] = [0.1, 0.25, 0.5, 1];
/**
 * Events of several machines arrive a little out of order. A larger step back means that a clock
 * was set back.
 */
const CLOCK_TOLERANCE_MS: number = 1_000;

/** The share of the callers that may be at work on the way back to speed. */
function shareOf(state: OutageState): number {
  return STEPS[state.step] ?? 1;
}

/** When the next probe may start, while `open`. */
export function nextProbeMs(state: OutageState, nowMs: number): number {
  // The phase began in the future: the clock was set back, by an unknown amount.
  return isToCome(state, nowMs) ? nowMs : (state.phaseSinceMs ?? nowMs) + waitMs(state);
}

/** How long no call starts before the next probe. */
function waitMs(state: OutageState): number {
  return Math.min(FIRST_WAIT_MS * 2 ** state.doublings, LONGEST_WAIT_MS);
}

/** Whether the probe has been under way so long that its end must be lost. */
function isProbeLost(state: OutageState, nowMs: number): boolean {
  return isToCome(state, nowMs) || nowMs - (state.phaseSinceMs ?? nowMs) >= PROBE_LOST_MS;
}

/** Whether the phase began in the future, which means that the clock was set back. */
function isToCome(state: OutageState, nowMs: number): boolean {
  return (state.phaseSinceMs ?? nowMs) - nowMs > CLOCK_TOLERANCE_MS;
}

/** The answer to a call that wants to start. */
export type StartAdvice =
  | {
      /** The earliest time to start, which may be now. The call must ask again then. */
      readonly atMs: number;
      /** Whether the call that starts then is the probe. It must then call `onProbeStart`. */
      readonly isProbe: boolean;
    }
  /**
   * Not before a call under way has ended. The call must ask again then, and every second besides.
   */
  | 'wait';

const MIN_CALLS = 20;
const MANY_IN_ROW = 20;
const FAILED_SHARE = 0.5;
/** Failures that are further apart than this are not in a row. */
const ROW_MS = 30_000;
/**
 * One failure is no relapse: an API on which a few calls always fail would never get through the
 * steps, and calls would stand still most of the time.
 */
const MIN_RELAPSE_CALLS = 3;

/**
 * Says when a call may start. Changes nothing.
 *
 * @param inFlight calls under way
 * @param callers how many calls may be under way at once when all is well
 */
export function mayStart(
  state: OutageState,
  context: { readonly nowMs: number; readonly inFlight: number; readonly callers: number },
): StartAdvice {
  const { nowMs, inFlight, callers } = context;
  switch (state.phase) {
    case 'closed':
      return { atMs: nowMs, isProbe: false };
    case 'open':
      return { atMs: Math.max(nowMs, nextProbeMs(state, nowMs)), isProbe: true };
    case 'probing':
      return isProbeLost(state, nowMs) ? { atMs: nowMs, isProbe: true } : 'wait';
    case 'recovering': {
      const isLetIn = inFlight < mostAtWork(state, callers);
      return isLetIn ? { atMs: nowMs, isProbe: false } : 'wait';
    }
  }
}

/** The call that waited for the next probe is gone. The next call may be the probe at once. */
export function makeProbeDue(state: OutageState): void {
  if (state.phase === 'open' || state.phase === 'probing') state.phaseSinceMs = 0;
}

/**
 * A call that was let through was not made or was given up. If it was the probe, its end would
 * never be reported, so the next call becomes the probe.
 */
export function onCallAbandoned(state: OutageState, sentAtMs: number): void {
  const isProbe = sentAtMs >= (state.phaseSinceMs ?? 0) - CLOCK_TOLERANCE_MS;
  if (state.phase === 'probing' && isProbe) makeProbeDue(state);
}

/** How many of the callers may be at work, apart from a probe. */
export function mostAtWork(state: OutageState, callers: number): number {
  switch (state.phase) {
    case 'closed':
      return callers;
    case 'open':
    case 'probing':
      return 0;
    case 'recovering':
      return Math.max(1, Math.floor(callers * shareOf(state)));
  }
}

/**
 * The probe starts now. Must be called in the same turn of the event loop as `mayStart`, or two
 * callers probe.
 */
export function onProbeStart(state: OutageState, nowMs: number): void {
  if (state.phase === 'probing' && isProbeLost(state, nowMs)) reopen(state, 'probe_failed', nowMs);
  if (state.phase === 'open') startProbe(state, nowMs);
}

/**
 * A call has ended. 5xx, timeouts and broken connections are failures. Any other answer, even 404
 * or 429, shows that the API is available. Calls that were sent before the present phase are
 * ignored.
 */
export function onCallEnd(state: OutageState, ended: EndedCall): void {
  if (isOldNews(state, ended)) return;
  const call = state.limitBy503.isLimit ? judgeLimited(state, ended) : ended;
  if (call) judge(state, call);
}

export interface EndedCall {
  readonly isFailure: boolean;
  /** Whether the answer was 503. @default false */
  readonly isRefused?: boolean | undefined;
  readonly sentAtMs: number;
  readonly nowMs: number;
}

/**
 * When 503 is taken for a limit, it shows that the API is available. Returns the call that is left
 * to be judged, if any.
 */
function judgeLimited(state: OutageState, call: EndedCall): EndedCall | undefined {
  const { limitBy503, counts, phase } = state;
  const { isFailure, isRefused, nowMs } = call;
  if (!isRefused) {
    if (!isFailure) onAnswered(limitBy503, nowMs);
    return call;
  }
  const verdict = onRefused(limitBy503, call, counts);
  if (verdict === 'no_limit') return call;
  if (phase !== 'closed') return { ...call, isFailure: verdict === 'out' };
  if (verdict === 'out') open(state, nowMs);
  return undefined;
}

function judge(state: OutageState, call: EndedCall): void {
  const { isFailure, isRefused, nowMs } = call;
  switch (state.phase) {
    case 'open':
      return;
    case 'closed':
      count(state, call);
      if (isFailure && areTooMany(state, MIN_CALLS)) open(state, nowMs);
      break;
    case 'probing':
      if (isFailure) reopen(state, 'probe_failed', nowMs);
      else startRecovery(state, nowMs);
      break;
    case 'recovering':
      count(state, call);
      if (!isFailure) return advance(state, nowMs);
      if (!isRefused) onOtherFailure(state.limitBy503);
      if (!areTooMany(state, MIN_RELAPSE_CALLS)) return;
      if (onRelapse(state.limitBy503, nowMs)) endAsLimit(state, nowMs);
      else relapse(state, nowMs);
      break;
  }
}

/** For how long the API has been out; 0 while calls get through. */
export function outageMs(state: OutageState, nowMs: number): number {
  if (state.phase === 'closed' || state.phase === 'recovering') return 0;
  return Math.max(0, nowMs - (state.outageSinceMs ?? nowMs));
}

/** The state of the outage in a sentence; undefined when there is none. */
export function describeOutage(state: OutageState, nowMs: number): string | undefined {
  const lastedS = Math.round(outageMs(state, nowMs) / 1_000);
  const waitS = Math.ceil(Math.max(0, nextProbeMs(state, nowMs) - nowMs) / 1_000);
  switch (state.phase) {
    case 'closed':
      return undefined;
    case 'open':
      return `The API has been out for ${lastedS} s; one call tries again in ${waitS} s.`;
    case 'probing':
      return `The API has been out for ${lastedS} s; one call is trying whether it is back.`;
    case 'recovering':
      return `The API is back; calls are at ${shareOf(state) * 100} % of their number.`;
  }
}

/** Whether a call was sent before the present phase, so that it shows how the API was before. */
function isOldNews(
  state: OutageState,
  { sentAtMs, nowMs }: { readonly sentAtMs: number; readonly nowMs: number },
): boolean {
  if (state.phase === 'closed' || isToCome(state, nowMs)) return false;
  return sentAtMs < (state.phaseSinceMs ?? sentAtMs);
}

interface CountedCall {
  readonly isFailure: boolean;
  readonly nowMs: number;
}

function count(state: OutageState, call: CountedCall): void {
  addCall(state.counts, call);
  countInRow(state, call);
}

/**
 * Workers report in batches, so a success that ended before the last failure does not interrupt the
 * row.
 */
function countInRow(state: OutageState, { isFailure, nowMs }: CountedCall): void {
  if (isFailure) {
    if (nowMs - state.failedAtMs >= ROW_MS) state.failedInRow = 0;
    state.failedInRow += 1;
    state.failedAtMs = Math.max(state.failedAtMs, nowMs);
  } else if (nowMs >= state.failedAtMs) state.failedInRow = 0;
}

/**
 * Whether half of at least `minCalls` calls failed, or twenty in a row, however many succeeded
 * before.
 */
function areTooMany({ counts, failedInRow }: OutageState, minCalls: number): boolean {
  const { calls, failures } = totalOf(counts);
  return failedInRow >= MANY_IN_ROW || (calls >= minCalls && failures >= calls * FAILED_SHARE);
}

/** A step is done after this many good calls, but not before `SHORTEST_STEP_MS`. */
const STEP_CALLS = 10;
const SHORTEST_STEP_MS = 1_000;
/** Without that many calls, a step is done after this time. */
const LONGEST_STEP_MS = 5_000;
/** One more doubling makes the wait after a relapse 20 s. */
const MOST_DOUBLINGS_BEFORE_RELAPSE = 1;

/** closed → open */
function open(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  enter(state, 'open', 'calls_failed', nowMs);
  state.outageSinceMs = nowMs;
}

/** open → probing */
function startProbe(state: OutageState, nowMs: number): void {
  enter(state, 'probing', 'probe_due', nowMs);
}

/** probing, recovering → open, with a wait twice as long */
function reopen(state: OutageState, reason: OutageReason, nowMs: number): void {
  state.doublings += 1;
  enter(state, 'open', reason, nowMs);
  state.outageSinceMs ??= nowMs;
}

/** probing → recovering */
function startRecovery(state: OutageState, nowMs: number): void {
  enter(state, 'recovering', 'probe_succeeded', nowMs);
  onRecovery(state.limitBy503);
  startStep(state, 0, nowMs);
}

/**
 * recovering → open, with a wait twice as long but at most 20 s, because the API has just answered
 */
function relapse(state: OutageState, nowMs: number): void {
  state.doublings = Math.min(state.doublings, MOST_DOUBLINGS_BEFORE_RELAPSE);
  reopen(state, 'relapsed', nowMs);
}

/** recovering → the next step, or after the last one → closed */
function advance(state: OutageState, nowMs: number): void {
  state.stepSuccesses = Math.min(state.stepSuccesses + 1, STEP_CALLS);
  // A clock that was set back must not make a step last.
  state.stepSinceMs = Math.min(state.stepSinceMs, nowMs);
  const tookMs = nowMs - state.stepSinceMs;
  if (tookMs < (state.stepSuccesses < STEP_CALLS ? LONGEST_STEP_MS : SHORTEST_STEP_MS)) return;
  // A whole good step ends the outage. A relapse after it begins another.
  state.outageSinceMs = null;
  if (state.step + 1 < STEPS.length) startStep(state, state.step + 1, nowMs);
  else close(state, nowMs);
}

/** recovering → closed */
function close(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  onRecovered(state.limitBy503);
  enter(state, 'closed', 'recovered', nowMs);
}

/** recovering → closed, because calls are only limited by 503 */
function endAsLimit(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  enter(state, 'closed', 'limited', nowMs);
  state.outageSinceMs = null;
}

function enter(
  state: OutageState,
  phase: OutageState['phase'],
  reason: OutageReason,
  nowMs: number,
): void {
  state.phase = phase;
  state.reason = reason;
  state.phaseSinceMs = nowMs;
  state.counts.length = 0;
  state.failedInRow = 0;
  // A clock that was set back must not hide how long the outage has lasted.
  if (state.outageSinceMs !== null) state.outageSinceMs = Math.min(state.outageSinceMs, nowMs);
}

function startStep(state: OutageState, step: number, nowMs: number): void {
  state.step = step;
  state.stepSinceMs = nowMs;
  state.stepSuccesses = 0;
}
