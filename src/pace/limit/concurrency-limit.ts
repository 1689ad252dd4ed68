import { FIRST_MARGIN } from '../create-pace-state.ts';
import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';
import { countAcceptedAt, shareBelow } from './accepted-in-flight.ts';
import { returnToEstimate } from './estimate.ts';
import { CAP_SLACK, jumpToPlateau } from './plateau.ts';

/**
 * A throttle is suspicious when more calls were in flight than at this share of all accepted calls.
 */
const SUSPICIOUS_RANK = 0.975;
/** Fewer accepted calls than this make that share meaningless. */
const LEAST_ACCEPTED = 10;
/** One suspicious throttle may be chance. */
const SUSPICIONS_NEEDED = 2;
/**
 * Calls at the cap before a higher cap is tried; doubled after each trial that failed, up to
 * `LAST_TRIAL_AFTER`.
 */
const FIRST_TRIAL_AFTER = 100;
const LAST_TRIAL_AFTER = 16_000;
/** Calls at the cap that make a trial a success. */
const TRIAL_CALLS = 50;
/** When a throttle comes after fewer calls than this, the cap did not help. */
const CAP_HELPS_CALLS = 12;
/** A cap that has to be lowered more often than this is not the limit. */
const MOST_STEPS_DOWN = 3;
/** A trial that fails within this many calls failed because of the cap. */
const PROMPT_CALLS = 15;
/** After a wrong cap, the next one needs more than the usual evidence. */
const SUSPICION_AFTER_MISTAKE = -2;

/**
 * Notes how many calls were in flight with an accepted one, and tries a higher cap from time to
 * time.
 */
export function noteAcceptedInFlight(state: PaceState, event: PaceEvent): void {
  const { concurrency } = state;
  countAcceptedAt(state, event.inFlight);
  if (concurrency.cap === 0 || concurrency.isPublished || event.inFlight < concurrency.cap) return;
  concurrency.callsAtCap += 1;
  if (concurrency.callsAtCap > 200) concurrency.strikes = 0;
  if (concurrency.isTrying && concurrency.callsAtCap > TRIAL_CALLS) {
    concurrency.isTrying = false;
    concurrency.callsAtCap = 0;
    // A limit that has grown by one may have grown by more.
    concurrency.step = Math.min(2 * concurrency.step, concurrency.cap);
    concurrency.nextTrialAfter = 0;
  } else if (!concurrency.isTrying && concurrency.callsAtCap >= concurrency.nextTrialAfter) {
    concurrency.cap += concurrency.step;
    concurrency.isTrying = true;
    concurrency.callsAtCap = 0;
    makeRoomForCap(state);
  }
}

/** Whether a throttle is put down to the number of calls in flight. The rate is then kept. */
export function blameConcurrency(state: PaceState, event: PaceEvent): boolean {
  const { concurrency } = state;
  if (concurrency.isPublished) return false;
  if (concurrency.isTrying) return endTrial(state);
  if (concurrency.cap > 0 && event.inFlight >= concurrency.cap) return lowerCap(state);
  return suspect(state, event);
}

/** A trial of a higher cap was throttled. When that happens promptly, it confirms the cap. */
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

/**
 * A throttle at the cap. The cap is lowered by one. If that has not helped, there is no such limit.
 */
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

/**
 * Throttles that come only when many calls are in flight, whatever the rate, suggest a limit on
 * calls in flight.
 */
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

/** Starts to keep to a cap. It keeps throttles away, so the rate was mistaken for the limit. */
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

/** Raises a rate that would keep calls from reaching the cap. */
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

/**
 * Notes the fewest calls in flight at a throttle. Throttled calls that are otherwise no news count
 * too.
 */
export function noteSuspect({ concurrency }: PaceState, event: PaceEvent): void {
  if (concurrency.suspectedAt === 0 || event.inFlight < concurrency.suspectedAt) {
    concurrency.suspectedAt = event.inFlight;
  }
}

/** Forgets what a throttle suggested about calls in flight. */
export function clearSuspicion({ concurrency }: PaceState): void {
  concurrency.suspicion = 0;
  concurrency.suspectedAt = 0;
}
