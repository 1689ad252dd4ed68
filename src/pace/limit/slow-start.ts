import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';

/** Growth per round trip. More overshoots a limit further, less keeps a fast API waiting. */
const GROWTH_PER_ROUND_TRIP = 0.4;
/** Below so many calls a round trip the rate doubles with each: it cannot overshoot by more than these. */
const FEW_CALLS = 4;
/** Calls at the cap, in caps, before twice as many may fly. */
const ROUNDS_AT_CAP = 2;
const MOST_MAY_FLY = 512;
/** Nothing is gained by telling higher rates apart. */
const FASTEST_PER_MS = 1_000;

/** Each accepted call adds its share of the growth, so that it counts in round trips and not in seconds. */
export function speedUp(state: PaceState, event: PaceEvent): void {
  const { slowStart, slots, latency } = state;
  if (event.inFlight >= slowStart.mayFly) {
    slowStart.callsAtCap += 1;
    if (slowStart.callsAtCap < ROUNDS_AT_CAP * slowStart.mayFly) return;
    slowStart.mayFly = Math.min(MOST_MAY_FLY, 2 * slowStart.mayFly);
    slowStart.callsAtCap = 0;
    return;
  }
  // Callers that do not use the rate do not test it either.
  if (!slots.areAllTaken) return;
  const onePerRoundTrip = 1 / Math.max(latency.shortestMs, 1 / FASTEST_PER_MS);
  // Below one call a round trip, an answer tells of one call and not of a round trip.
  const share = Math.min(onePerRoundTrip, state.ratePerMs);
  const areFew = state.ratePerMs < FEW_CALLS * onePerRoundTrip;
  const faster = state.ratePerMs + (areFew ? 1 : GROWTH_PER_ROUND_TRIP) * share;
  // One call at a time is always within reach, unless that was throttled already.
  const least = state.throttle.calls === 0 ? onePerRoundTrip : 0;
  state.ratePerMs = Math.min(FASTEST_PER_MS, Math.max(faster, least));
}
