import { addCall, totalOf } from './call-counts.ts';
import { onAnswered, onOtherFailure, onRefused, onRelapse } from './limit-by-503.ts';
import {
  CLOCK_TOLERANCE_MS,
  createOutageState,
  isProbeLost,
  isToCome,
  nextProbeMs,
  type OutageState,
  shareOf,
} from './outage-state.ts';
import {
  advance,
  endAsLimit,
  open,
  relapse,
  reopen,
  startProbe,
  startRecovery,
} from './outage-transitions.ts';

export { createOutageState, type OutageState };

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
