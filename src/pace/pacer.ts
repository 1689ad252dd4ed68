import { CLOCK_TOLERANCE_MS } from '../common/calls.ts';
import {
  closeGate,
  closeUntilReset,
  LONGEST_CLOSED_MS,
  LONGEST_WAIT_MS,
  nextSlotMs,
  noteStatedTime,
  noteThrottledRow,
  onlyThrottledMs,
  SHORT_RESET_MS,
  statedWaitMs,
  takeSlot,
} from './gate.ts';
import { climb, speedUp } from './limit/climb.ts';
import { noteAcceptedInFlight, noteAcceptedInTrial } from './limit/concurrency-limit.ts';
import { countAccepted } from './limit/estimate.ts';
import {
  isNotEnforced,
  isTrialOut,
  noteAcceptedAtPublished,
  noteBooked,
  noteCallsLeft,
  noteEnd,
  noteRefused,
  obeyHints,
  waitForReset,
} from './limit/published-limits.ts';
import { isTestOut, onAcceptedAgain, onFailed, onThrottled, onUsedUp } from './limit/throttle.ts';
import { moveInTime, type PaceEvent, type PaceState } from './pace-state.ts';
import { bookFixed, nextBackoffMs, nextFixedStartMs } from './rate.ts';

export { openIfTooLong } from './gate.ts';
export { createPaceState, type PaceEvent, type PaceState } from './pace-state.ts';
export { warmState } from './remembered.ts';

/** The weight of one answer in the average latency. */
const LATENCY_WEIGHT = 0.1;
const MOST_IN_FLIGHT = 100_000;

/**
 * When the next call may start: at a time, or only after an answer because no more calls may be in
 * flight. The gate may move in between, so a caller must ask again after it has waited.
 */
export function nextStart(
  state: PaceState,
  { nowMs, inFlight }: { readonly nowMs: number; readonly inFlight: number },
): { readonly atMs: number } | 'wait_for_answer' {
  // With nothing in flight a call may always start, or no answer would ever come.
  const next = nextTurn(state, { nowMs, isAlone: inFlight === 0 });
  return inFlight >= mostInFlight(state) ? 'wait_for_answer' : next;
}

/**
 * The same for a caller of this function that bounds the calls in flight itself.
 *
 * @param isAlone whether no call is in flight
 */
export function nextTurn(
  state: PaceState,
  { nowMs, isAlone }: { readonly nowMs: number; readonly isAlone: boolean },
): { readonly atMs: number } | 'wait_for_answer' {
  followClock(state, nowMs);
  if (isTrialOut(state, nowMs) && !isAlone) return 'wait_for_answer';
  if (state.fixed) {
    return { atMs: Math.max(nowMs, state.gateUntilMs, nextFixedStartMs(state.fixed)) };
  }
  const earliestMs = Math.max(nowMs, state.gateUntilMs);
  if (state.phase === 'testing') {
    return isTestOut(state, nowMs) && !isAlone ? 'wait_for_answer' : { atMs: earliestMs };
  }
  return {
    atMs: Math.max(earliestMs, Math.min(nextSlotMs(state, nowMs), nowMs + LONGEST_WAIT_MS)),
  };
}

/** How many calls may be in flight at once; Infinity without a bound. */
export function mostInFlight({ fixed, phase, concurrency, slowStart }: PaceState): number {
  if (fixed) return Number.POSITIVE_INFINITY;
  const cap = concurrency.cap > 0 ? concurrency.cap : Number.POSITIVE_INFINITY;
  return phase === 'starting' ? Math.min(cap, slowStart.mayFly) : cap;
}

/**
 * Books a call that starts at `atMs`, now or a little later. Must be called in the same turn of the
 * event loop as the check.
 */
export function book(state: PaceState, atMs: number): void {
  noteBooked(state, atMs);
  if (state.fixed) bookFixed(state.fixed, atMs);
  else takeSlot(state, atMs);
}

/** Learns from the end of a call. Reports may come late, out of order, twice or never. */
export function report(state: PaceState, reported: PaceEvent, reportedAtMs: number): void {
  // A late report does not mean that the clock was set back. That shows when a call wants to start.
  const nowMs = reportedAtMs < state.latestMs - CLOCK_TOLERANCE_MS ? state.latestMs : reportedAtMs;
  state.latestMs = Math.max(state.latestMs, nowMs);
  const event = sane(reported, nowMs);
  const { gateUntilMs } = state;
  noteThrottledRow(state, event, nowMs);
  noteEnd(state, event, nowMs);
  const refusedForMs = event.kind === 'throttled' ? noteRefused(state, event, nowMs) : 0;
  if (refusedForMs > 0) closeUntilReset(state, nowMs, refusedForMs);
  if (state.fixed) reportAtFixedRate(state, event, nowMs);
  else reportAtFoundRate(state, event, { nowMs, refusedForMs });
  if (state.gateUntilMs !== gateUntilMs) noteStatedTime(state, event, nowMs);
}

/** @param refusedForMs how long the limit that the call met is used up; 0 when it met none */
function reportAtFoundRate(
  state: PaceState,
  event: PaceEvent,
  { nowMs, refusedForMs }: { readonly nowMs: number; readonly refusedForMs: number },
): void {
  const isAccepted = event.kind === 'accepted';
  const untilResetMs = event.limits
    ? obeyHints(state, event.limits, { sentAtMs: event.sentAtMs, nowMs, isAccepted })
    : 0;
  if (refusedForMs > 0) {
    // The limit was reached when an answer said so.
    const waitMs = statedWaitMs(event.retryAfterMs) ?? 0;
    closeGate(state, nowMs, nowMs + waitMs, true);
    onUsedUp(state, event, nowMs, Math.max(refusedForMs, waitMs));
  } else if (isAccepted) {
    onAccepted(state, event, nowMs);
    if (untilResetMs > 0) onUsedUp(state, event, nowMs, untilResetMs);
  } else if (event.kind === 'throttled') onThrottled(state, event, nowMs);
  else onFailed(state, event, nowMs);
}

function onAccepted(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { throttle } = state;
  noteLatency(state, event, nowMs);
  // Calls that were sent before the limit was reached say nothing of the rate since.
  const isNew = event.sentAtMs > throttle.cutMs;
  if (isNew && (state.phase === 'told' || state.phase === 'testing')) onAcceptedAgain(state, event);
  countAccepted(state, { sentAtMs: event.sentAtMs, nowMs });
  throttle.acceptedSentMs = Math.max(throttle.acceptedSentMs ?? 0, event.sentAtMs);
  if (!isNew) return;
  throttle.accepted += 1;
  if (state.concurrency.trial.isOn) return noteAcceptedInTrial(state, nowMs);
  noteAcceptedInFlight(state, event);
  if (state.phase === 'starting') speedUp(state, event);
  else if (state.phase === 'published') noteAcceptedAtPublished(state);
  else climb(state);
}

function noteLatency({ latency }: PaceState, event: PaceEvent, nowMs: number): void {
  const isFirst = latency.shortestMs === 0;
  // The end of a call counts when it is known here. Workers that share a state report it a little
  // later.
  const knownAfterMs = Math.min(LONGEST_WAIT_MS, Math.max(event.latencyMs, nowMs - event.sentAtMs));
  const weight = isFirst ? 1 : LATENCY_WEIGHT;
  latency.averageMs += (knownAfterMs - latency.averageMs) * weight;
  latency.callMs += (event.latencyMs - latency.callMs) * weight;
  latency.shortestMs = isFirst ? event.latencyMs : Math.min(latency.shortestMs, event.latencyMs);
}

function reportAtFixedRate(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { fixed, throttle } = state;
  if (!fixed) return;
  const { remaining = 1, resetMs } = event.limits ?? {};
  const closedForMs = remaining <= 0 ? (statedWaitMs(resetMs) ?? 0) : 0;
  // A rate that the user gave may be the limit itself. Using up a short window is then no reason to
  // wait.
  if (event.kind === 'accepted') {
    if (remaining > 0) noteCallsLeft(state);
    if (closedForMs > SHORT_RESET_MS) {
      waitForReset(state, { resetMs: closedForMs, sentAtMs: event.sentAtMs, nowMs });
    }
  } else if (event.kind === 'throttled' || closedForMs > SHORT_RESET_MS) {
    closeUntilReset(state, nowMs, closedForMs);
  }
  if (event.kind === 'accepted') {
    fixed.throttlesInARow = 0;
    noteLatency(state, event, nowMs);
  }
  if (event.kind !== 'throttled') return;
  const waitMs = statedWaitMs(event.retryAfterMs);
  // Calls that were under way when the gate closed report the same throttle again.
  if (waitMs === undefined && event.sentAtMs <= throttle.cutMs) return;
  throttle.cutMs = nowMs;
  const closedMs = waitMs ?? nextBackoffMs(fixed, event.random);
  closeGate(state, nowMs, nowMs + closedMs, waitMs !== undefined);
}

/**
 * Follows a clock that was set back. Otherwise its old times would keep the gate closed for that
 * long.
 */
function followClock(state: PaceState, nowMs: number): void {
  if (nowMs < state.latestMs - CLOCK_TOLERANCE_MS) moveInTime(state, nowMs - state.latestMs);
  state.latestMs = Math.max(state.latestMs, nowMs);
}

/**
 * Returns the event with its numbers clamped to sensible ranges, as another worker may have sent
 * it.
 */
function sane(event: PaceEvent, nowMs: number): PaceEvent {
  const { kind, sentAtMs, latencyMs, inFlight, retryAfterMs, statedMs, limits, random } = event;
  // Written out: a spread with overridden members costs several times as much.
  return {
    kind,
    retryAfterMs,
    statedMs,
    limits,
    sentAtMs: Number.isFinite(sentAtMs) ? Math.min(sentAtMs, nowMs) : nowMs,
    latencyMs: between(0.01, latencyMs, LONGEST_WAIT_MS),
    inFlight: Math.round(between(1, inFlight, MOST_IN_FLIGHT)),
    random: between(0, random, 1),
  };
}

function between(least: number, value: number, most: number): number {
  return value > least ? Math.min(value, most) : least;
}

/** The present pace and the reason for it, for people. */
export interface PaceDescription {
  /** Calls per second that may start now. */
  readonly ratePerSecond: number;
  /**
   * The source of the limit that is kept to: `fixed` was given by the user, `published` is in the
   * API's headers, `learned` was found, `unknown` was not reached yet.
   */
  readonly limitIs: 'fixed' | 'published' | 'learned' | 'unknown';
  /** The limit as estimated, or as the API publishes it. */
  readonly learnedLimitPerSecond?: number;
  /** The most calls in flight, if the API limits them. */
  readonly concurrencyLimit?: number;
  /** How long no call may start, in milliseconds; 0 when calls may start. */
  readonly waitMs: number;
  /**
   * How long the API itself said to wait, when that is why no call may start, and it named a time.
   * It may be longer than `waitMs`, because no wait is kept for ever.
   */
  readonly statedMs?: number;
  /**
   * How long calls have been refused with no accepted one between them, in milliseconds. Absent when
   * the last call was accepted.
   */
  readonly onlyThrottledMs?: number;
  /**
   * Present when the headers of good answers say that no calls are left, and are no longer waited
   * for, because calls were accepted nevertheless.
   */
  readonly ignoresUsedUp?: true;
  /**
   * `open`: nothing holds calls back; `told_to_wait`: the API stated a wait; `backing_off`: it
   * stated none; `starting`: no limit is known yet; `holding`: just under the limit; `probing`:
   * above it, to see whether it is still there.
   */
  readonly why: 'open' | 'told_to_wait' | 'backing_off' | 'probing' | 'starting' | 'holding';
}

export function describePace(state: PaceState, nowMs: number): PaceDescription {
  const { fixed, estimate, concurrency, published } = state;
  const ratePerMs = fixed ? fixed.rate.count / fixed.rate.perMs : state.ratePerMs;
  const throttledMs = onlyThrottledMs(state, nowMs);
  const limitPerMs = published.isTrusted ? published.ratePerMs : estimate.limitPerMs;
  const why = whyOf(state, nowMs);
  const { statedUntilMs } = state;
  return {
    ratePerSecond: ratePerMs * 1_000,
    limitIs: limitSourceOf(state),
    ...(!fixed && limitPerMs > 0 ? { learnedLimitPerSecond: limitPerMs * 1_000 } : {}),
    ...(concurrency.cap > 0 ? { concurrencyLimit: concurrency.cap } : {}),
    waitMs: waitMsOf(state, nowMs),
    ...(why === 'told_to_wait' && statedUntilMs ? { statedMs: statedUntilMs - nowMs } : {}),
    ...(throttledMs > 0 ? { onlyThrottledMs: throttledMs } : {}),
    ...(isNotEnforced(state) ? { ignoresUsedUp: true as const } : {}),
    why,
  };
}

function limitSourceOf({ fixed, published, estimate }: PaceState): PaceDescription['limitIs'] {
  if (fixed) return 'fixed';
  if (published.isTrusted) return 'published';
  return estimate.limitPerMs > 0 ? 'learned' : 'unknown';
}

function waitMsOf({ fixed, gateUntilMs }: PaceState, nowMs: number): number {
  const gateMs = Math.min(Math.max(0, gateUntilMs - nowMs), LONGEST_CLOSED_MS);
  return fixed ? Math.max(gateMs, nextFixedStartMs(fixed) - nowMs) : gateMs;
}

function whyOf(state: PaceState, nowMs: number): PaceDescription['why'] {
  const { fixed, phase, slots, estimate, ratePerMs } = state;
  if (state.gateUntilMs > nowMs) return state.gateIsTold ? 'told_to_wait' : 'backing_off';
  if (fixed) return 'holding';
  if (phase === 'testing') return 'backing_off';
  if (!slots.areAllTaken) return 'open';
  if (phase === 'starting') return 'starting';
  return ratePerMs > estimate.limitPerMs ? 'probing' : 'holding';
}
