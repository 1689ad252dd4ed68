import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';

/**
 * Growth per round trip. A larger one overshoots a limit further, a smaller one keeps a fast API
 * waiting.
 */
const GROWTH_PER_ROUND_TRIP = 0.4;
/**
 * Below this many calls per round trip, each answer adds one call per round trip. The rate grows
 * fast then, and overshoots a limit by no more than these.
 */
const FEW_CALLS = 4;
/** Rounds of calls at the cap before twice as many calls may be in flight. */
const ROUNDS_AT_CAP = 2;
const MOST_MAY_FLY = 512;
/**
 * The rate per ms, and the calls per round trip, are at most these shares of what was accepted so
 * far: all that is sent until the first refusal comes back is refused, too.
 */
const MOST_OF_ACCEPTED_PER_MS = 1.3 / 1_000;
const MOST_OF_ACCEPTED_PER_ROUND_TRIP = 0.025;
/** So many calls count as accepted from the beginning, or a short list would take long. */
const HEAD_START = 16;
/** Rates above this are not told apart. */
const FASTEST_PER_MS = 1_000;

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
  const areFew = state.ratePerMs < FEW_CALLS * onePerRoundTrip;
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
