import { FIRST_MARGIN } from '../create-pace-state.ts';
import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';
import { countAcceptedAt, shareBelow } from './accepted-in-flight.ts';
import { returnToEstimate } from './estimate.ts';
import { CAP_SLACK, jumpToPlateau } from './plateau.ts';

/** A throttle with more in flight than this share of all accepted calls had is suspicious… */
const SUSPICIOUS_RANK = 0.975;
/** …if so many were accepted that the share means something. */
const LEAST_ACCEPTED = 10;
/** One suspicious throttle may be chance. */
const SUSPICIONS_NEEDED = 2;
/** Calls at the cap before one more in flight is tried: doubled after each trial that failed. */
const FIRST_TRIAL_AFTER = 100;
const LAST_TRIAL_AFTER = 16_000;
/** Calls at the cap that prove a trial good. */
const TRIAL_CALLS = 50;
/** Throttled sooner than after so many calls, the cap did not help. */
const CAP_HELPS_CALLS = 12;
/** A cap that many calls passed and that has to be lowered nevertheless is none, after so many times. */
const MOST_STEPS_DOWN = 3;
/** A trial that fails within so many calls failed because of the cap. */
const PROMPT_CALLS = 15;
/** After a cap that proved wrong, more than the usual evidence is needed for the next. */
const SUSPICION_AFTER_MISTAKE = -2;

/** Notes how many calls were in flight when one was accepted, and now and then tries one more than the cap. */
export function noteAcceptedInFlight(state: PaceState, event: PaceEvent): void {
  const { concurrency } = state;
  countAcceptedAt(state, event.inFlight);
  if (concurrency.cap === 0 || concurrency.isPublished || event.inFlight < concurrency.cap) return;
  concurrency.callsAtCap += 1;
  if (concurrency.callsAtCap > 200) concurrency.strikes = 0;
  if (concurrency.isTrying && concurrency.callsAtCap > TRIAL_CALLS) {
    concurrency.isTrying = false;
    concurrency.callsAtCap = 0;
    // A limit that has grown by one may have grown by many.
    concurrency.step = Math.min(2 * concurrency.step, concurrency.cap);
    concurrency.nextTrialAfter = 0;
  } else if (!concurrency.isTrying && concurrency.callsAtCap >= concurrency.nextTrialAfter) {
    concurrency.cap += concurrency.step;
    concurrency.isTrying = true;
    concurrency.callsAtCap = 0;
    makeRoomForCap(state);
  }
}

/** Whether a throttle is put down to the number of calls in flight; then the rate stays as it is. */
export function blameConcurrency(state: PaceState, event: PaceEvent): boolean {
  const { concurrency } = state;
  if (concurrency.isPublished) return false;
  if (concurrency.isTrying) return endTrial(state);
  if (concurrency.cap > 0 && event.inFlight >= concurrency.cap) return lowerCap(state);
  return suspect(state, event);
}

/** More than the cap were too many. At once, that proves the cap. */
function endTrial({ concurrency, throttle }: PaceState): true {
  if (concurrency.callsAtCap <= PROMPT_CALLS) {
    concurrency.stepsDown = Math.max(0, concurrency.stepsDown - 1);
  }
  concurrency.cap = Math.max(1, concurrency.cap - concurrency.step);
  concurrency.step = 1;
  concurrency.isTrying = false;
  concurrency.callsAtCap = 0;
  const doubled = Math.max(FIRST_TRIAL_AFTER, 2 * concurrency.nextTrialAfter);
  concurrency.nextTrialAfter = Math.min(LAST_TRIAL_AFTER, doubled);
  throttle.accepted = 3;
  return true;
}

/** Throttled at the cap: it is one too high, or, if that does not help either, no such limit at all. */
function lowerCap({ concurrency, throttle }: PaceState): boolean {
  if (throttle.acceptedBefore < CAP_HELPS_CALLS) concurrency.strikes += 1;
  if (concurrency.strikes < 2 && concurrency.stepsDown < MOST_STEPS_DOWN) {
    concurrency.stepsDown += 1;
    concurrency.cap = Math.max(1, concurrency.cap - 1);
    return true;
  }
  concurrency.cap = 0;
  concurrency.stepsDown = 0;
  concurrency.strikes = 0;
  concurrency.suspicion = SUSPICION_AFTER_MISTAKE;
  return false;
}

/** Throttles that come only when many calls are in flight, whatever the rate, are about those. */
function suspect(state: PaceState, event: PaceEvent): boolean {
  const { concurrency, throttle } = state;
  const isSuspicious =
    concurrency.acceptedInAll >= LEAST_ACCEPTED &&
    shareBelow(state, event.inFlight) >= SUSPICIOUS_RANK;
  if (!isSuspicious) {
    concurrency.suspicion = Math.min(concurrency.suspicion, 0);
    concurrency.suspectedAt = 0;
    return false;
  }
  concurrency.suspicion += 1;
  noteSuspect(state, event);
  if (concurrency.suspicion < SUSPICIONS_NEEDED) return false;
  concurrency.cap = Math.max(1, concurrency.suspectedAt - 1);
  concurrency.suspectedAt = 0;
  concurrency.suspicion = 1;
  throttle.accepted = 3;
  trustCap(state);
  return true;
}

/** The cap is what keeps throttles away: the rate was held for the limit by mistake. */
export function trustCap(state: PaceState): void {
  const { concurrency } = state;
  concurrency.callsAtCap = 0;
  concurrency.strikes = 0;
  concurrency.stepsDown = 0;
  concurrency.isTrying = false;
  concurrency.step = 1;
  concurrency.nextTrialAfter = FIRST_TRIAL_AFTER;
  makeRoomForCap(state);
}

/** Lifts a rate that would keep calls from using the cap. */
function makeRoomForCap(state: PaceState): void {
  const { concurrency, estimate, latency } = state;
  const mostPerMs = (CAP_SLACK * concurrency.cap) / latency.callMs;
  estimate.limitPerMs = Math.max(state.ratePerMs, mostPerMs);
  estimate.confidence = 0;
  estimate.margin = 0;
  returnToEstimate(state);
  estimate.margin = FIRST_MARGIN;
  jumpToPlateau(state);
}

/** A throttled call, also one that says nothing new: the fewest in flight at which the limit was hit. */
export function noteSuspect({ concurrency }: PaceState, event: PaceEvent): void {
  if (concurrency.suspectedAt === 0 || event.inFlight < concurrency.suspectedAt) {
    concurrency.suspectedAt = event.inFlight;
  }
}

/** Forgets what a throttle seemed to say about calls in flight. */
export function clearSuspicion({ concurrency }: PaceState): void {
  concurrency.suspicion = 0;
  concurrency.suspectedAt = 0;
}
