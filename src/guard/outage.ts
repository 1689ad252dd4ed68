import { CLOCK_TOLERANCE_MS } from '../common/calls.ts';
import {
  addCall,
  type CallCounts,
  createLimitBy503,
  type LimitBy503,
  onAnswered,
  onEndAtSpeed,
  onOtherFailure,
  onOutage,
  onRecovered,
  onRecovery,
  onRefused,
  onRelapse,
  totalOf,
} from './limit-by-503.ts';

/**
 * Notices that calls cannot succeed, stops all of them, and finds out when they can: a circuit
 * breaker.
 *
 * ```text
 *            too many failed; one stated a wait; this machine is to blame
 *   closed ────────────────────────────────────────────────────────────────▶ open
 *      ▲                                                                    │  ▲ ▲
 *      │ the last step went well,            the wait is over: one call    │  │ │
 *      │ or 503 turned out to be a limit              is made, the probe   ▼  │ │
 *      │                                                                  probing │
 *      │                                                   it went well  │   it failed, or
 *      │                                                                  ▼   its end was lost
 *      └──────────────────────────────────────────────────────────── recovering ┘
 *                                                        half of three calls failed
 * ```
 *
 * | closed → open | cause |
 * |---|---|
 * | half of at least 20 calls within 30 s failed | `failures` |
 * | 20 in a row failed; where there are few callers, twice as many as these, 8 at least | `failures` |
 * | five in a row did not get as far as a connection, and no call was ever answered | `failures` |
 * | a 5xx said when to come back (`Retry-After`) | `stated` |
 * | this machine cannot make a call: no descriptor, port, route, proxy or resolver | `machine` |
 * | calls fail here that go well elsewhere: see `stepBack` | `here` |
 *
 * While `open` and `probing` no other call starts. The wait is as long as the API said, the longest
 * of what it said to calls under way. If it said nothing, it is 5, 10, 20, … 300 s while probes
 * fail, with one of 2.5 s before these where the cause looks like a limit. After a relapse from `recovering` the waits go on from the last one, but are at most 20 s,
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
  /** What the present outage is put down to. Written when it opens. */
  cause: OutageCause;
  /** Until when the API said to wait, while `open`; null when it said nothing. */
  statedUntilMs: number | null;
  /** Whether any call was ever answered with something else than a failure. */
  isAnswered: boolean;
  /** Calls in a row that did not get as far as a connection. */
  unreachedInRow: number;
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

/** What an outage is put down to. */
export type OutageCause =
  /** Calls failed. */
  | 'failures'
  /** The API said when to come back. */
  | 'stated'
  /** This machine could not make a call. */
  | 'machine'
  /** Calls fail here, while those of others go well. */
  | 'here';

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
    cause: 'failures',
    statedUntilMs: null,
    isAnswered: false,
    unreachedInRow: 0,
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
/** Doublings for half of the first wait: what looks like a limit is likely over by then. */
const SOONER = -1;
/** After this time a probe counts as lost: its worker was killed before it reported the end. */
const PROBE_LOST_MS = 90_000;
/** The steps back to speed, as shares of the callers. */
const STEPS: readonly number[] = [0.1, 0.25, 0.5, 1];

/** The share of the callers that may be at work on the way back to speed. */
function shareOf(state: OutageState): number {
  return STEPS[state.step] ?? 1;
}

/** When the next probe may start, while `open`. */
function nextProbeMs(state: OutageState, nowMs: number): number {
  // The phase began in the future: the clock was set back, by an unknown amount.
  if (isToCome(state, nowMs)) return nowMs;
  return state.statedUntilMs ?? (state.phaseSinceMs ?? nowMs) + waitMs(state);
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
/**
 * The first two failures of a lookup are counted. Where so few lookups are under way that these do
 * not come to many, all of them have failed twice, and none may fail for good before calls stop.
 */
const COUNTED_PER_CALLER = 2;
/** Fewer in a row than this may well be odd domains. */
const FEW_IN_ROW = 8;
const FAILED_SHARE = 0.5;
/** Before any call was answered, so many without a connection show that there is none to be had. */
const UNREACHED_IN_ROW = 5;
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
  if (state.phase !== 'open' && state.phase !== 'probing') return;
  state.phaseSinceMs = 0;
  state.statedUntilMs = null;
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
  const { isFailure, nowMs } = ended;
  const statedUntilMs = nowMs + (ended.retryAfterMs ?? 0);
  // Calls that were under way state the same, or a little more.
  if (isFailure && statedUntilMs > nowMs && state.phase === 'open') waitUntil(state, statedUntilMs);
  if (isOldNews(state, ended)) return;
  const call = state.limitBy503.isLimit ? judgeLimited(state, ended) : ended;
  if (call) judge(state, call);
}

export interface EndedCall {
  readonly isFailure: boolean;
  /** Whether the answer was 503. @default false */
  readonly isRefused?: boolean | undefined;
  /** How long the API said to wait, with a failure. @default it said nothing */
  readonly retryAfterMs?: number | undefined;
  /** Whether the call got no connection at all, which no domain can be to blame for. @default false */
  readonly isUnreached?: boolean | undefined;
  /** Whether this machine could not make the call. @default false */
  readonly isOfMachine?: boolean | undefined;
  /** Whether it is known that calls from elsewhere go well. @default false */
  readonly isWellElsewhere?: boolean | undefined;
  /** How many calls may be under way at once when all is well. @default many */
  readonly callers?: number | undefined;
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
  if (!isFailure) state.isAnswered = true;
  switch (state.phase) {
    case 'open':
      return;
    case 'closed':
      count(state, call);
      if (!state.limitBy503.isLimit) onEndAtSpeed(state.limitBy503, call);
      if (!(isFailure && isOut(state, call, MIN_CALLS))) return;
      open(state, nowMs);
      if (onOutage(state.limitBy503)) state.doublings = SOONER;
      break;
    case 'probing':
      if (!isFailure) return startRecovery(state, nowMs);
      reopen(state, 'probe_failed', nowMs);
      break;
    case 'recovering':
      count(state, call);
      if (!isFailure) return advance(state, nowMs);
      if (!isRefused) onOtherFailure(state.limitBy503);
      if (!isOut(state, call, MIN_RELAPSE_CALLS)) return;
      if (onRelapse(state.limitBy503, nowMs)) return endAsLimit(state, nowMs);
      relapse(state, nowMs);
      break;
  }
  noteCause(state, call);
}

/** Whether a call that failed shows that no other call should start. */
function isOut(state: OutageState, call: EndedCall, minCalls: number): boolean {
  if (isStated(call) || call.isOfMachine) return true;
  if (call.isWellElsewhere) return false;
  const isNeverReached = !state.isAnswered && state.unreachedInRow >= UNREACHED_IN_ROW;
  return isNeverReached || areTooMany(state, minCalls, call.callers);
}

function isStated({ isFailure, retryAfterMs = 0 }: EndedCall): boolean {
  return isFailure && retryAfterMs > 0;
}

function noteCause(state: OutageState, call: EndedCall): void {
  if (call.isOfMachine) state.cause = 'machine';
  else if (state.cause !== 'here') state.cause = 'failures';
  if (isStated(call)) waitUntil(state, call.nowMs + (call.retryAfterMs ?? 0));
}

/** The longest wait that was stated counts. */
function waitUntil(state: OutageState, untilMs: number): void {
  state.cause = 'stated';
  state.statedUntilMs = Math.max(state.statedUntilMs ?? 0, untilMs);
}

/** Calls fail here that go well elsewhere: none is made from here until one goes well again. */
export function stepBack(state: OutageState, nowMs: number): void {
  if (state.phase !== 'closed') return;
  open(state, nowMs);
  state.cause = 'here';
}

/** How long the API said to wait from now, in milliseconds; 0 when it said nothing. */
export function statedOutMs({ statedUntilMs }: OutageState, nowMs: number): number {
  return Math.max(0, (statedUntilMs ?? 0) - nowMs);
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
  const [out, back] = SENTENCES[state.cause];
  switch (state.phase) {
    case 'closed':
      return undefined;
    case 'open':
      return `${out} for ${lastedS} s; one call tries again in ${waitS} s${state.statedUntilMs === null ? '' : ', as it said'}.`;
    case 'probing':
      return `${out} for ${lastedS} s; one call is trying whether ${back}.`;
    case 'recovering':
      return state.cause === 'failures' || state.cause === 'stated'
        ? `The API is back; calls are at ${shareOf(state) * 100} % of their number.`
        : `Calls go through again; they are at ${shareOf(state) * 100} % of their number.`;
  }
}

const SENTENCES: Readonly<Record<OutageCause, readonly [out: string, back: string]>> = {
  failures: ['The API has been out', 'it is back'],
  stated: ['The API has been out', 'it is back'],
  machine: ['This machine has not been able to make calls', 'it is'],
  here: ['Calls have failed here, though they go well elsewhere,', 'they go well'],
};

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
  readonly isUnreached?: boolean | undefined;
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
function countInRow(state: OutageState, { isFailure, isUnreached, nowMs }: CountedCall): void {
  state.unreachedInRow = isFailure && isUnreached ? state.unreachedInRow + 1 : 0;
  if (isFailure) {
    if (nowMs - state.failedAtMs >= ROW_MS) state.failedInRow = 0;
    state.failedInRow += 1;
    state.failedAtMs = Math.max(state.failedAtMs, nowMs);
  } else if (nowMs >= state.failedAtMs) state.failedInRow = 0;
}

/**
 * Whether half of at least `minCalls` calls failed, or so many in a row that no domain is to blame,
 * however many succeeded before.
 */
function areTooMany(
  { counts, failedInRow }: OutageState,
  minCalls: number,
  callers: number = MANY_IN_ROW,
): boolean {
  const inRow = Math.min(MANY_IN_ROW, Math.max(FEW_IN_ROW, COUNTED_PER_CALLER * callers));
  const { calls, failures } = totalOf(counts);
  return failedInRow >= inRow || (calls >= minCalls && failures >= calls * FAILED_SHARE);
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
  state.cause = 'failures';
  onRecovered(state.limitBy503);
  enter(state, 'closed', 'recovered', nowMs);
}

/** recovering → closed, because calls are only limited by 503 */
function endAsLimit(state: OutageState, nowMs: number): void {
  state.doublings = 0;
  state.cause = 'failures';
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
  state.statedUntilMs = null;
  state.counts.length = 0;
  state.failedInRow = 0;
  state.unreachedInRow = 0;
  // A clock that was set back must not hide how long the outage has lasted.
  if (state.outageSinceMs !== null) state.outageSinceMs = Math.min(state.outageSinceMs, nowMs);
}

function startStep(state: OutageState, step: number, nowMs: number): void {
  state.step = step;
  state.stepSinceMs = nowMs;
  state.stepSuccesses = 0;
}
