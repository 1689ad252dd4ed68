import { bookFixed, nextBackoffMs, nextFixedStartMs } from './fixed-rate.ts';
import { closeGate, closeUntilReset, LONGEST_WAIT_MS, SHORT_RESET_MS, toldWaitMs } from './gate.ts';
import { noteAcceptedInTrial } from './limit/cap-trial.ts';
import { noteAcceptedInFlight } from './limit/concurrency-limit.ts';
import { countAccepted } from './limit/measured-rate.ts';
import { climb } from './limit/plateau.ts';
import { noteAcceptedAtPublished, obeyHints } from './limit/published-limits.ts';
import { speedUp } from './limit/slow-start.ts';
import { isTestOut, onAcceptedAgain, onFailed, onThrottled, onUsedUp } from './limit/throttle.ts';
import { moveInTime } from './move-in-time.ts';
import type { PaceEvent } from './pace-event.ts';
import type { PaceState } from './pace-state.ts';
import { nextSlotMs, takeSlot } from './start-slots.ts';

export { createPaceState } from './create-pace-state.ts';
export { describePace, type PaceDescription } from './describe-pace.ts';
export { openIfTooLong } from './gate.ts';
export type { PaceEvent } from './pace-event.ts';
export type { PaceState } from './pace-state.ts';
export { warmState } from './warm-start.ts';

/** What the answer of a call that took a moment weighs in the average latency. */
const LATENCY_WEIGHT = 0.1;
/** A clock that goes back by more was set anew, and all times are moved with it. */
const CLOCK_JITTER_MS = 1_000;
const MOST_IN_FLIGHT = 100_000;

/**
 * When the next call may start: now or later, or only after an answer, because no more calls may be
 * in flight. The gate may move in between, so whoever has waited asks again.
 */
export function nextStart(
  state: PaceState,
  { nowMs, inFlight }: { readonly nowMs: number; readonly inFlight: number },
): { readonly atMs: number } | 'wait_for_answer' {
  // With nothing in flight there is always a next call, or no answer would ever come.
  const next = nextTurn(state, { nowMs, isAlone: inFlight === 0 });
  return inFlight > 0 && inFlight >= mostInFlight(state) ? 'wait_for_answer' : next;
}

/**
 * The same for whoever sees to the calls in flight himself.
 *
 * @param isAlone whether no call is in flight
 */
export function nextTurn(
  state: PaceState,
  { nowMs, isAlone }: { readonly nowMs: number; readonly isAlone: boolean },
): { readonly atMs: number } | 'wait_for_answer' {
  followClock(state, nowMs);
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

/** How many calls may be in flight at once; without a bound, Infinity. */
export function mostInFlight({ fixed, phase, concurrency, slowStart }: PaceState): number {
  if (fixed) return Number.POSITIVE_INFINITY;
  const cap = concurrency.cap > 0 ? concurrency.cap : Number.POSITIVE_INFINITY;
  return phase === 'starting' ? Math.min(cap, slowStart.mayFly) : cap;
}

/** Books a call that starts at `atMs`, now or a little later. To be called in the turn of the check. */
export function book(state: PaceState, atMs: number): void {
  if (state.fixed) bookFixed(state.fixed, atMs);
  else takeSlot(state, atMs);
}

/** Learns from what came of a call. Reports may come late, out of order, twice or never. */
export function report(state: PaceState, told: PaceEvent, toldAtMs: number): void {
  // A late report is no clock that was set back: that shows when a call wants to start.
  const nowMs = toldAtMs < state.latestMs - CLOCK_JITTER_MS ? state.latestMs : toldAtMs;
  state.latestMs = Math.max(state.latestMs, nowMs);
  const event = sane(told, nowMs);
  if (state.fixed) return reportAtFixedRate(state, event, nowMs);
  const untilResetMs = event.limits
    ? obeyHints(state, event.limits, { sentAtMs: event.sentAtMs, nowMs })
    : 0;
  if (event.kind === 'accepted') {
    onAccepted(state, event, nowMs);
    if (untilResetMs > 0) onUsedUp(state, event, nowMs, untilResetMs);
  } else if (event.kind === 'throttled') onThrottled(state, event, nowMs);
  else onFailed(state, event, nowMs);
}

function onAccepted(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { throttle } = state;
  noteLatency(state, event, nowMs);
  // Calls that were sent before the limit was hit are no proof of the rate since.
  const isNews = event.sentAtMs > throttle.cutMs;
  if (isNews && (state.phase === 'told' || state.phase === 'testing'))
    onAcceptedAgain(state, event);
  countAccepted(state, nowMs);
  throttle.acceptedSentMs = Math.max(throttle.acceptedSentMs ?? 0, event.sentAtMs);
  if (!isNews) return;
  throttle.accepted += 1;
  if (state.concurrency.trial.isOn) return noteAcceptedInTrial(state, nowMs);
  noteAcceptedInFlight(state, event);
  if (state.phase === 'starting') speedUp(state, event);
  else if (state.phase === 'published') noteAcceptedAtPublished(state);
  else climb(state, event);
}

function noteLatency({ latency }: PaceState, event: PaceEvent, nowMs: number): void {
  const isFirst = latency.shortestMs === 0;
  // What counts is when it is known, and workers that share a state tell a little later.
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
  const closedForMs = remaining <= 0 ? (toldWaitMs(resetMs) ?? 0) : 0;
  // A rate that somebody gave may well be the limit itself: the last call of a short window is no reason to wait.
  if (event.kind === 'throttled' || closedForMs > SHORT_RESET_MS) {
    closeUntilReset(state, nowMs, closedForMs);
  }
  if (event.kind === 'accepted') {
    fixed.throttlesInARow = 0;
    noteLatency(state, event, nowMs);
  }
  if (event.kind !== 'throttled') return;
  const waitMs = toldWaitMs(event.retryAfterMs);
  // Calls that were under way when the gate closed say the same thing again.
  if (waitMs === undefined && event.sentAtMs <= throttle.cutMs) return;
  throttle.cutMs = nowMs;
  const closedMs = waitMs ?? nextBackoffMs(fixed, event.random);
  closeGate(state, nowMs, nowMs + closedMs, waitMs !== undefined);
}

/** Times of a clock that was set back would close the gate for as long as it was set back. */
function followClock(state: PaceState, nowMs: number): void {
  if (nowMs < state.latestMs - CLOCK_JITTER_MS) moveInTime(state, nowMs - state.latestMs);
  state.latestMs = Math.max(state.latestMs, nowMs);
}

/** The event with its numbers within reason, whoever sent them. */
function sane(event: PaceEvent, nowMs: number): PaceEvent {
  const { kind, sentAtMs, latencyMs, inFlight, retryAfterMs, limits, random } = event;
  // Written out: a spread that then gets other members costs several times that.
  return {
    kind,
    retryAfterMs,
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
