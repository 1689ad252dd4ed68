import { closeGate, LONGEST_WAIT_MS, restartSlots, SHORT_RESET_MS, statedWaitMs } from '../gate.ts';
import { FIRST_MARGIN, type PaceEvent, type PaceState } from '../pace-state.ts';
import {
  blameConcurrency,
  considerCapTrial,
  giveTrialUp,
  judgeCapTrial,
  noteClosed,
  noteHitRate,
} from './concurrency-limit.ts';
import {
  estimateLimit,
  joinWithLast,
  nextWindowTestMs,
  returnToEstimate,
  startEpochLater,
} from './estimate.ts';
import { blamePublished, leaveMore } from './published-limits.ts';

/** A throttle before this many calls were accepted belongs to the throttle before. */
const SAME_EVENT_CALLS = 3;
/** A throttle before this many calls shows that the rate was too high from the start. */
const SHORT_EPOCH_CALLS = 20;
/** Fewer accepted calls than this give no estimate. */
const FEWEST_TO_ESTIMATE = 5;
/**
 * Fewer calls than this before a long wait would give an estimate of nearly zero, which is hard to
 * leave.
 */
const FEWEST_BEFORE_LONG_WAIT = 20;
const LONG_WAIT_MS = 1_500;
/** One call in ten seconds. Slow start leaves this rate as soon as calls are accepted. */
const SLOWEST_START_PER_MS = 1 / 10_000;
const SHORTEST_TEST_MS = 50;
/** Slow answers must not delay a test by more than this: a refusal is quick. */
const LONGEST_LATENCY_SHARE_MS = 500;
/**
 * With this share of a call's interval, the second test, twice as late, comes when the next call
 * would be due at the throttled rate.
 */
const ONE_CALL_LATER = 0.5;
/** A test that is not answered within this time is made again. */
const LOST_TEST_MS = 60_000;
/** A server that throttles for long is tested at least this often. */
const LONGEST_TEST_MS = 60_000;
/**
 * Just over the limit, calls pause for a round trip, but for no more calls than this. The pause
 * makes up for the calls under way that are too many. At a fast API a whole round trip would be a
 * tenth of the calls between two throttles.
 */
const MOST_PAUSE_CALLS = 5;

/** The next test comes after so many times the wait for the last one. */
const TEST_GROWTH = 2.5;
const MOST_DOUBLINGS = 30;
/**
 * A limit that is closed for longer than this, and for more calls than this at the throttled rate,
 * is likely to have windows.
 */
const WINDOW_FROM_MS = 800;
const WINDOW_FROM_CALLS = 20;
/** After that time it is no window that is worth many tests. */
const LONGEST_WINDOW_MS = 65_000;

/** A call was throttled. */
export function onThrottled(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { throttle } = state;
  const waitMs = statedWaitMs(event.retryAfterMs);
  // Calls that were under way report the same throttle again.
  if (event.sentAtMs <= throttle.cutMs) {
    throttle.calls += 1;
    if (waitMs !== undefined) closeGateAsStated(state, nowMs, waitMs);
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
    return waitAsStated(state, nowMs, waitMs);
  }
  throttle.pauseMs = 0;
  const stated = { nowMs, waitMs };
  if (isForgiven) testAgain(state, event, stated);
  else if (goesOn) testWhileClosed(state, event, stated);
  else if (state.phase === 'cruising') goOnBelow(state, event, stated);
  else {
    throttle.failedTests = 0;
    testAgain(state, event, stated);
  }
  if (waitMs !== undefined) waitAlso(state, nowMs, waitMs);
}

interface Stated {
  readonly nowMs: number;
  /** Undefined when the API did not state how long to wait. */
  readonly waitMs: number | undefined;
}

/**
 * A call was accepted, and its answer says that no calls are left for a while. The limit is reached
 * without a 429.
 */
export function onUsedUp(state: PaceState, event: PaceEvent, nowMs: number, waitMs: number): void {
  if (state.phase === 'published') return leaveMore(state, waitMs);
  onThrottled(state, { ...event, retryAfterMs: Math.min(waitMs, LONGEST_WAIT_MS) }, nowMs);
}

/** The limit was closed already, and still is. */
function testWhileClosed(state: PaceState, event: PaceEvent, stated: Stated): void {
  giveTrialUp(state);
  if (state.phase === 'cruising') joinWithLast(state, 'epoch');
  testAgain(state, event, stated);
}

/** Goes on just below what the limit seems to be, on whatever it is. */
function goOnBelow(state: PaceState, event: PaceEvent, { nowMs, waitMs }: Stated): void {
  const verdict = judgeCapTrial(state);
  if (verdict === 'cap') return cut(state, nowMs);
  if (verdict === 'rate') return slowDown(state, nowMs, () => returnToEstimate(state));
  // A published counter that is used up shows which limit was reached.
  const isCounted = event.limits?.remaining === 0;
  if (!isCounted && blameConcurrency(state, event)) return cut(state, nowMs);
  noteHitRate(state);
  slowDown(state, nowMs, () => {
    estimateLimit(state, { endMs: nowMs, closedMs: 0, uncertainMs: 0 });
    if (waitMs !== undefined) allowForWait(state, nowMs, waitMs);
  });
  if (!isCounted) considerCapTrial(state);
}

/**
 * Widens the margin, because what a limit saved up during a wait makes the estimate too high. The
 * effect is larger the sooner the next throttle comes.
 */
function allowForWait(state: PaceState, nowMs: number, waitMs: number): void {
  const { estimate, measured } = state;
  const spanMs = Math.max(1, nowMs - measured.lastEpoch.sinceMs);
  estimate.margin = Math.max(estimate.margin, Math.min(FIRST_MARGIN, waitMs / (4 * spanMs)));
  returnToEstimate(state);
}

/**
 * Keeps a short stated wait. It says no more about the limit than a backoff does: servers state
 * whole seconds, however little is left of them, and some always state the same.
 */
function waitAlso(state: PaceState, nowMs: number, waitMs: number): void {
  const { throttle, measured } = state;
  closeGateAsStated(state, nowMs, waitMs);
  throttle.pauseMs = waitMs;
  if (state.phase !== 'cruising') return;
  throttle.cutMs = Math.max(throttle.cutMs, state.gateUntilMs - 1e-3);
  // The epoch that begins now must begin after the wait.
  if (measured.epoch.sinceMs === nowMs) startEpochLater(state, state.gateUntilMs);
}

/**
 * The first call was accepted since the limit closed, so it is now known for how long it was
 * closed.
 */
export function onAcceptedAgain(state: PaceState, event: PaceEvent): void {
  const { throttle, estimate, measured } = state;
  const endMs = state.phase === 'told' ? state.gateUntilMs : event.sentAtMs;
  // After a short stated wait it is only known that the limit was closed when it was last tested.
  const isShortWait = state.phase === 'testing' && throttle.pauseMs > 0;
  const closedMs = Math.max(0, (isShortWait ? throttle.cutMs : endMs) - throttle.hitAtMs);
  const uncertainMs =
    state.phase === 'told'
      ? Math.min(1_000, throttle.pauseMs) // servers state whole seconds
      : Math.max(0, endMs - throttle.cutMs); // since the test before
  throttle.closedMs = closedMs;
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

/**
 * Throttled before there were enough calls for an estimate. Other clients may have used up the
 * limit.
 */
function startMoreSlowly(state: PaceState): void {
  state.phase = 'starting';
  const { ratePerMs, gapMs = 0 } = state.throttle;
  state.ratePerMs = Math.max(SLOWEST_START_PER_MS, Math.min(ratePerMs / 2, 1 / gapMs));
}

/** How long before `atMs` the latest accepted call was sent. */
function gapBefore({ throttle }: PaceState, atMs: number): number | undefined {
  const gapMs = atMs - (throttle.acceptedSentMs ?? Number.POSITIVE_INFINITY);
  return gapMs > 0 ? gapMs : undefined;
}

/**
 * A test that failed is made again, at a different time, by which it can be told from the one
 * before.
 */
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

/** All callers wait as long as the server stated, and go on at the old rate. */
function waitAsStated(state: PaceState, nowMs: number, waitMs: number): void {
  cut(state, nowMs);
  closeGateAsStated(state, nowMs, waitMs);
  state.throttle.pauseMs = waitMs;
  state.phase = 'told';
}

function closeGateAsStated(state: PaceState, nowMs: number, waitMs: number): void {
  closeGate(state, nowMs, nowMs + waitMs, true);
  restartSlots(state, state.gateUntilMs);
}

/** Whether the one call of a test is under way. */
export function isTestOut({ slots, throttle }: PaceState, nowMs: number): boolean {
  return slots.lastMs > throttle.cutMs && nowMs - slots.lastMs < LOST_TEST_MS;
}

/**
 * Makes one call at a time until one is accepted: each after the stated wait, or else after a longer
 * wait than the last, and when the windows of a limit may well end.
 */
function testAgain(state: PaceState, event: PaceEvent, { nowMs, waitMs: statedMs }: Stated): void {
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
  const waitMs = Math.min(
    LONGEST_TEST_MS,
    firstMs * TEST_GROWTH ** Math.min(throttle.failedTests, MOST_DOUBLINGS),
  );
  throttle.failedTests += 1;
  const windowFromMs = Math.max(WINDOW_FROM_MS, WINDOW_FROM_CALLS / throttle.ratePerMs);
  const closedMs = nowMs - throttle.hitAtMs;
  const isOfWindow =
    closedMs + waitMs >= windowFromMs &&
    closedMs <= LONGEST_WINDOW_MS &&
    state.measured.block.accepted >= FEWEST_BEFORE_LONG_WAIT;
  const ownAtMs = isOfWindow
    ? Math.min(nextWindowTestMs(state, nowMs), nowMs + LONGEST_TEST_MS)
    : nowMs + waitMs * (1 + event.random / 10);
  // Not before any call that was booked earlier, or it would be unknown which call is the test.
  const testAtMs = statedMs === undefined ? ownAtMs : nowMs + statedMs;
  closeGate(state, nowMs, Math.max(throttle.cutMs + 1, testAtMs), statedMs !== undefined);
  restartSlots(state, state.gateUntilMs);
  state.phase = 'testing';
}

/** The rate was just over the limit. Calls pause briefly and go on just below it. */
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

/** Calls that were sent or booked before now do not count against the rate from now on. */
function cut(state: PaceState, nowMs: number): void {
  state.throttle.cutMs = Math.max(nowMs, Math.min(state.slots.lastMs, nowMs + 1_000));
}
