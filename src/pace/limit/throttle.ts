import { FIRST_MARGIN } from '../create-pace-state.ts';
import { closeGate, LONGEST_WAIT_MS, SHORT_RESET_MS, toldWaitMs } from '../gate.ts';
import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';
import { restartSlots } from '../start-slots.ts';
import {
  considerCapTrial,
  giveTrialUp,
  judgeCapTrial,
  noteClosed,
  noteHitRate,
} from './cap-trial.ts';
import { blameConcurrency, clearSuspicion, noteSuspect } from './concurrency-limit.ts';
import { estimateLimit, returnToEstimate } from './estimate.ts';
import { joinWithLast, startEpochLater } from './measured-rate.ts';
import { blamePublished, leaveMore } from './published-limits.ts';

/** Throttled before so many calls were accepted, it is the same event that goes on. */
const SAME_EVENT_CALLS = 3;
/** Throttled before so many, the rate was too high from the start. */
const SHORT_EPOCH_CALLS = 20;
/** Fewer accepted calls than this are no estimate of anything. */
const FEWEST_TO_ESTIMATE = 5;
/** After a few calls and a long wait, the estimate would be next to nothing, and hard to leave. */
const FEWEST_BEFORE_LONG_WAIT = 20;
const LONG_WAIT_MS = 1_500;
/** One call in ten seconds; slow start leaves it as soon as calls are accepted. */
const SLOWEST_START_PER_MS = 1 / 10_000;
const SHORTEST_TEST_MS = 50;
/** Slow answers are no reason to test late: being refused is quick. */
const LONGEST_LATENCY_SHARE_MS = 500;
/** The second test comes twice as late, when the next call would be due at the rate that was throttled. */
const ONE_CALL_LATER = 0.5;
/** A test that is not answered for so long is made again. */
const LOST_TEST_MS = 60_000;
/** A server that throttles for long is asked this often. */
const LONGEST_TEST_MS = 60_000;
/**
 * Just over the limit, calls pause for a round trip, but for no more than this: it makes up for those under
 * way that are too many, and at a fast API a round trip would be a tenth of the calls between two throttles.
 */
const MOST_PAUSE_CALLS = 5;

/** A call was answered 429. */
export function onThrottled(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { throttle } = state;
  const waitMs = toldWaitMs(event.retryAfterMs);
  // Said once is enough: calls that were under way say the same thing again.
  if (event.sentAtMs <= throttle.cutMs) {
    throttle.calls += 1;
    if (state.concurrency.suspicion > 0) noteSuspect(state, event);
    if (waitMs !== undefined) closeGateAsTold(state, nowMs, waitMs);
    return;
  }
  const goesOn =
    state.phase === 'told' ||
    state.phase === 'testing' ||
    (state.phase === 'cruising' && throttle.accepted < SAME_EVENT_CALLS);
  noteThrottle(state, nowMs, goesOn);
  const isForgiven = state.phase === 'published' && blamePublished(state);
  const shortMs = event.limits?.resetMs === undefined ? LONG_WAIT_MS : SHORT_RESET_MS;
  if (waitMs !== undefined && waitMs > shortMs && !goesOn) {
    giveTrialUp(state);
    return waitAsTold(state, nowMs, waitMs);
  }
  throttle.pauseMs = 0;
  const told = { nowMs, waitMs };
  if (isForgiven) testAgain(state, event, told);
  else if (goesOn) testWhileClosed(state, event, told);
  else if (state.phase === 'cruising') goOnBelow(state, event, told);
  else {
    throttle.failedTests = 0;
    testAgain(state, event, told);
  }
  if (waitMs !== undefined) waitAlso(state, nowMs, waitMs);
}

interface Told {
  readonly nowMs: number;
  /** Undefined when it was not told how long to wait. */
  readonly waitMs: number | undefined;
}

/** A call was accepted and said that it was the last one for a while: the limit is hit, without a 429. */
export function onUsedUp(state: PaceState, event: PaceEvent, nowMs: number, waitMs: number): void {
  if (state.phase === 'published') return leaveMore(state, waitMs);
  onThrottled(state, { ...event, retryAfterMs: Math.min(waitMs, LONGEST_WAIT_MS) }, nowMs);
}

/** It was closed already, and still is. */
function testWhileClosed(state: PaceState, event: PaceEvent, told: Told): void {
  giveTrialUp(state);
  // Calls that take long hold their places, and with as many in flight the test is refused again.
  if (event.inFlight < state.concurrency.suspectedAt) clearSuspicion(state);
  if (state.phase === 'cruising') joinWithLast(state, 'epoch');
  testAgain(state, event, told);
}

/** Goes on just below what the limit seems to be, whatever it is on. */
function goOnBelow(state: PaceState, event: PaceEvent, { nowMs, waitMs }: Told): void {
  const verdict = judgeCapTrial(state);
  if (verdict === 'cap') return cut(state, nowMs);
  if (verdict === 'rate') return slowDown(state, nowMs, () => returnToEstimate(state));
  // A counter that is used up tells which limit it was.
  const isCounted = event.limits?.remaining === 0;
  if (!isCounted && blameConcurrency(state, event)) return cut(state, nowMs);
  noteHitRate(state);
  slowDown(state, nowMs, () => {
    estimateLimit(state, { endMs: nowMs, closedMs: 0, uncertainMs: 0 });
    if (waitMs !== undefined) allowForWait(state, nowMs, waitMs);
  });
  if (!isCounted) considerCapTrial(state);
}

/** What a limit saved up during a wait flatters the estimate, the more so the sooner the next one comes. */
function allowForWait(state: PaceState, nowMs: number, waitMs: number): void {
  const { estimate, measured } = state;
  const spanMs = Math.max(1, nowMs - measured.lastEpoch.sinceMs);
  estimate.margin = Math.max(estimate.margin, Math.min(FIRST_MARGIN, waitMs / (4 * spanMs)));
  returnToEstimate(state);
}

/**
 * A short wait is waited for, and says no more of the limit than a backoff does: servers tell whole
 * seconds, whatever is left of them, and some always the same.
 */
function waitAlso(state: PaceState, nowMs: number, waitMs: number): void {
  const { throttle, measured } = state;
  closeGateAsTold(state, nowMs, waitMs);
  throttle.pauseMs = waitMs;
  if (state.phase !== 'cruising') return;
  throttle.cutMs = Math.max(throttle.cutMs, state.gateUntilMs - 1e-3);
  // The epoch that begins now does so after the wait.
  if (measured.epoch.sinceMs === nowMs) startEpochLater(state, state.gateUntilMs);
}

/** The first call that was accepted since the limit closed: now it is known for how long it did. */
export function onAcceptedAgain(state: PaceState, event: PaceEvent): void {
  const { throttle, estimate, measured } = state;
  const endMs = state.phase === 'told' ? state.gateUntilMs : event.sentAtMs;
  // Of a short wait that was told, it is only known that the limit was closed when it was asked.
  const isShortWait = state.phase === 'testing' && throttle.pauseMs > 0;
  const closedMs = Math.max(0, (isShortWait ? throttle.cutMs : endMs) - throttle.hitAtMs);
  const uncertainMs =
    state.phase === 'told'
      ? Math.min(1_000, throttle.pauseMs) // servers tell whole seconds
      : Math.max(0, endMs - throttle.cutMs); // since the test before
  if (state.phase === 'testing') throttle.closedMs = closedMs;
  noteClosed(state, closedMs);
  throttle.gapMs = gapBefore(state, event.sentAtMs - uncertainMs / 2);
  throttle.failedTests = 0;
  if (state.published.isTrusted) {
    state.phase = 'published';
    state.ratePerMs = state.published.ratePerMs;
    return;
  }
  const fewest = closedMs > LONG_WAIT_MS ? FEWEST_BEFORE_LONG_WAIT : FEWEST_TO_ESTIMATE;
  if (estimate.limitPerMs === 0 && measured.epoch.accepted < fewest) return startMoreSlowly(state);
  estimateLimit(state, { endMs, closedMs, uncertainMs });
}

/** Throttled before there was anything to estimate from: others may have used the limit up. */
function startMoreSlowly(state: PaceState): void {
  state.phase = 'starting';
  const { ratePerMs, gapMs = 0 } = state.throttle;
  state.ratePerMs = Math.max(SLOWEST_START_PER_MS, Math.min(ratePerMs / 2, 1 / gapMs));
}

/** How long before that the latest call was sent that had been accepted. */
function gapBefore({ throttle }: PaceState, atMs: number): number | undefined {
  const gapMs = atMs - (throttle.acceptedSentMs ?? Number.POSITIVE_INFINITY);
  return gapMs > 0 ? gapMs : undefined;
}

/** A test that came to nothing is made again, at a time of its own: by that it is told from the one before. */
export function onFailed(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { phase, throttle } = state;
  if (phase !== 'testing') return;
  throttle.cutMs = Math.max(throttle.cutMs, event.sentAtMs);
  closeGate(state, nowMs, throttle.cutMs + 1, false);
}

function noteThrottle(state: PaceState, nowMs: number, goesOn: boolean): void {
  const { throttle } = state;
  throttle.calls = goesOn ? throttle.calls + 1 : 1;
  if (!goesOn) {
    throttle.hitAtMs = nowMs;
    throttle.ratePerMs = state.ratePerMs;
    throttle.acceptedBefore = throttle.accepted;
    throttle.acceptedInEpoch = state.measured.epoch.accepted;
    const isShort = state.phase === 'cruising' && throttle.accepted < SHORT_EPOCH_CALLS;
    throttle.shortInARow = isShort ? throttle.shortInARow + 1 : 0;
  }
  throttle.accepted = 0;
}

/** Everybody waits as long as the server said, and goes on at the old rate. */
function waitAsTold(state: PaceState, nowMs: number, waitMs: number): void {
  cut(state, nowMs);
  closeGateAsTold(state, nowMs, waitMs);
  state.throttle.pauseMs = waitMs;
  state.phase = 'told';
}

function closeGateAsTold(state: PaceState, nowMs: number, waitMs: number): void {
  closeGate(state, nowMs, nowMs + waitMs, true);
  restartSlots(state, state.gateUntilMs);
}

/** Whether the one call of a test was started and is not answered yet. */
export function isTestOut({ slots, throttle }: PaceState, nowMs: number): boolean {
  return slots.lastMs > throttle.cutMs && nowMs - slots.lastMs < LOST_TEST_MS;
}

/** One call at a time, each after the wait that was told, else after twice the last one, until one is accepted. */
function testAgain(state: PaceState, event: PaceEvent, { nowMs, waitMs: toldMs }: Told): void {
  const { throttle, latency, ratePerMs } = state;
  cut(state, nowMs);
  const firstMs =
    throttle.failedTests === 0 && state.phase !== 'cruising'
      ? SHORTEST_TEST_MS
      : Math.max(
          SHORTEST_TEST_MS,
          Math.min(latency.averageMs / 2, LONGEST_LATENCY_SHARE_MS),
          ONE_CALL_LATER / ratePerMs,
          throttle.closedMs / 4,
        );
  const waitMs = Math.min(LONGEST_TEST_MS, firstMs * 2 ** Math.min(throttle.failedTests, 30));
  throttle.failedTests += 1;
  // No earlier than any call that was booked before, or it would not be known which one is the test.
  const testAtMs = nowMs + (toldMs ?? waitMs * (1 + event.random / 10));
  closeGate(state, nowMs, Math.max(throttle.cutMs + 1, testAtMs), toldMs !== undefined);
  restartSlots(state, state.gateUntilMs);
  state.phase = 'testing';
}

/** The rate was just over the limit: a short pause, and on, just under it. */
function slowDown(state: PaceState, nowMs: number, setRate: () => void): void {
  const { throttle, latency } = state;
  cut(state, nowMs);
  setRate();
  const roundTripCalls = state.ratePerMs * latency.averageMs;
  const pauseCalls = Math.max(1, Math.min(MOST_PAUSE_CALLS, roundTripCalls));
  const pauseMs = Math.min(LONGEST_TEST_MS, pauseCalls / state.ratePerMs);
  closeGate(state, nowMs, Math.max(throttle.cutMs, nowMs + pauseMs), false);
  restartSlots(state, state.gateUntilMs);
  throttle.cutMs = Math.max(throttle.cutMs, state.gateUntilMs - 1e-3);
  throttle.pauseMs = latency.averageMs;
}

/** Nothing that was sent, or booked, before now counts against the rate from now on. */
function cut(state: PaceState, nowMs: number): void {
  state.throttle.cutMs = Math.max(nowMs, Math.min(state.slots.lastMs, nowMs + 1_000));
}
