import { FASTEST_PER_MS } from '../gate.ts';
import type { PaceEvent, PaceState } from '../pace-state.ts';

/**
 * Calls until the rate is back at the estimated limit, by confidence. After as many again it is
 * noticeably above it, which costs a 429 each time. So a limit that is known well is tested seldom.
 */
const CALLS_TO_LIMIT = [60, 150, 300, 500, 700] as const;
/** An estimate from fewer calls than this may be several times too low, and is left soon. */
const FEW_CALLS = 30;
const CALLS_TO_ROUGH_LIMIT = 20;
/** Where calls are few, the way to a rough limit must take no longer than this. */
const TIME_TO_ROUGH_LIMIT_MS = 10_000;
/** It takes at least this many calls. */
const LEAST_TO_ROUGH_LIMIT = 8;
/** Below this rate, the usual number of calls to an estimated limit takes more than 20 s. */
const SLOW_PER_MS = 0.003;
/** The fastest growth per round trip: answers reflect a rate only one round trip later. */
const MOST_GROWTH_PER_ROUND_TRIP = 0.05;

/** The longest pause that counts towards the price of a test. */
const MOST_PAUSE_MS = 3_000;

/**
 * A rate that exceeds what the cap on calls in flight allows by this factor is not what holds calls
 * back.
 */
export const CAP_SLACK = 1.2;

/**
 * With a larger margin than this below its estimate, the rate has to find the limit before it grows
 * with care.
 */
const UNSURE_MARGIN = 0.05;
/**
 * When there was no throttle for this many times the way to the estimate, the limit may have
 * changed.
 */
const PAST_PLATEAU = 2;
/**
 * The least margin from then on: with a smaller one the steps would be too small to find the new
 * limit.
 */
const LEAST_MARGIN_PAST = 0.03;

/**
 * Raises the rate with each accepted call along a cubic: quickly towards the estimated limit, flat
 * around it, and above it ever faster while no throttle comes.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9438 RFC 9438}
 */
export function climb(state: PaceState): void {
  const { estimate, plateau, slots, concurrency, published, latency, ratePerMs } = state;
  // The rate is not tested while callers do not use it, or while the cap on calls in flight keeps
  // them from it.
  if (!slots.areAllTaken) return;
  const mostPerMs = CAP_SLACK * (concurrency.cap / latency.callMs);
  if (concurrency.cap > 0 && ratePerMs > mostPerMs) return;
  plateau.accepted += 1;
  const way = plateau.accepted / callsToLimit(state);
  const margin =
    way > PAST_PLATEAU ? Math.max(estimate.margin, LEAST_MARGIN_PAST) : estimate.margin;
  const target = estimate.limitPerMs * (1 + margin * (way - 1) ** 3);
  const roundTripCalls = Math.max(1, state.ratePerMs * state.latency.averageMs);
  const fastest = state.ratePerMs * (1 + MOST_GROWTH_PER_ROUND_TRIP / roundTripCalls);
  state.ratePerMs = Math.max(state.ratePerMs, Math.min(target, fastest));
  if (published.ratePerMs > 0) state.ratePerMs = Math.min(state.ratePerMs, published.ratePerMs);
}

/**
 * The calls until the rate is back at the estimated limit. More when answers take long, when a test
 * is expensive, or for a long window.
 */
function callsToLimit(state: PaceState): number {
  const { estimate, ratePerMs, latency } = state;
  const callsPerRoundTrip = ratePerMs * latency.averageMs;
  if (isRough(state)) return Math.max(callsToRoughLimit(state), 3 * callsPerRoundTrip);
  const roundTrips = (isSure(state) ? 10 : 3) * callsPerRoundTrip;
  const least = CALLS_TO_LIMIT[estimate.confidence] ?? CALLS_TO_LIMIT[0];
  return Math.max(least, estimate.windowCalls, roundTrips, priceOfTest(state));
}

/**
 * The price of a test in calls: those that are throttled, and those that could have been made in
 * the pause after it.
 */
function priceOfTest(state: PaceState): number {
  const { estimate, throttle, ratePerMs, gateIsTold } = state;
  const pauseCalls = ratePerMs * Math.min(throttle.pauseMs, MOST_PAUSE_MS);
  if (estimate.confidence > 1) return Math.max(200 * throttle.calls, 100 * pauseCalls);
  const throttledCalls = (isSure(state) ? 100 : 40) * Math.min(3, throttle.calls);
  if (!gateIsTold) return throttledCalls;
  return Math.max(throttledCalls, (estimate.confidence === 1 ? 15 : 2) * pauseCalls);
}

function callsToRoughLimit({ ratePerMs }: PaceState): number {
  const inTime = Math.max(LEAST_TO_ROUGH_LIMIT, TIME_TO_ROUGH_LIMIT_MS * ratePerMs);
  return Math.min(CALLS_TO_ROUGH_LIMIT, inTime);
}

/**
 * Whether the estimate is unconfirmed and either the first one, from a few calls, or so slow that
 * it would be left only after a long time.
 */
function isRough({ estimate, throttle, ratePerMs }: PaceState): boolean {
  if (estimate.confidence > 0) return false;
  if (ratePerMs < SLOW_PER_MS) return true;
  return estimate.measuredPerMs === 0 && throttle.acceptedInEpoch < FEW_CALLS;
}

function isSure({ estimate }: PaceState): boolean {
  return estimate.confidence > 0 && estimate.margin < UNSURE_MARGIN;
}

/**
 * Growth per round trip. A larger one overshoots a limit further, a smaller one keeps a fast API
 * waiting.
 */
const GROWTH_PER_ROUND_TRIP = 0.4;
/**
 * Below this many calls per round trip, each answer adds one call per round trip. The rate grows
 * fast then, and overshoots a limit by no more than these.
 */
const FEW_IN_ROUND_TRIP = 4;
/** Rounds of calls at the cap before twice as many calls may be in flight. */
const ROUNDS_AT_CAP = 2;
const MOST_MAY_FLY = 512;
/**
 * The rate per ms, and the calls per round trip, are at most these shares of what was accepted so
 * far: all that is sent until the first refusal comes back is refused, too. With a third of the first, the
 * first seconds cost a tenth fewer refusals, and 1,000 calls of 20 ms take three times as long.
 */
const MOST_OF_ACCEPTED_PER_MS = 4 / 1_000;
const MOST_OF_ACCEPTED_PER_ROUND_TRIP = 0.025;
/** So many calls count as accepted from the beginning, or a short list would take long. */
const HEAD_START = 16;

/**
 * Raises the rate with each accepted call by its share of the growth, so that growth is per round
 * trip, not per second.
 */
export function speedUp(state: PaceState, event: PaceEvent): void {
  const { slowStart, slots, latency } = state;
  if (event.inFlight >= slowStart.mayFly) {
    slowStart.callsAtCap += 1;
    if (slowStart.callsAtCap < ROUNDS_AT_CAP * slowStart.mayFly) return;
    slowStart.mayFly = Math.min(MOST_MAY_FLY, 2 * slowStart.mayFly);
    slowStart.callsAtCap = 0;
    return;
  }
  // Callers that do not use the rate do not test it.
  if (!slots.areAllTaken) return;
  const onePerRoundTrip = 1 / Math.max(latency.shortestMs, 1 / FASTEST_PER_MS);
  // Below one call per round trip, an answer stands for one call and not for a round trip.
  const oneAnswer = Math.min(onePerRoundTrip, state.ratePerMs);
  const areFew = state.ratePerMs < FEW_IN_ROUND_TRIP * onePerRoundTrip;
  const faster = state.ratePerMs + (areFew ? 1 : GROWTH_PER_ROUND_TRIP) * oneAnswer;
  // One call at a time is always allowed, unless that was already throttled.
  const least = state.throttle.calls === 0 ? onePerRoundTrip : 0;
  const sent = state.measured.epoch.accepted + event.inFlight + HEAD_START;
  const share = Math.max(
    MOST_OF_ACCEPTED_PER_MS,
    MOST_OF_ACCEPTED_PER_ROUND_TRIP * onePerRoundTrip,
  );
  const most = Math.max(least, state.ratePerMs, share * sent);
  state.ratePerMs = Math.min(FASTEST_PER_MS, most, Math.max(faster, least));
}
