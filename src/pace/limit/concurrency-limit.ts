import { FIRST_MARGIN, type PaceEvent, type PaceState } from '../pace-state.ts';
import { CAP_SLACK } from './climb.ts';
import { countAcceptedAt, recentRatePerMs, returnToEstimate, shareBelow } from './estimate.ts';

/*
 * The concurrency limiter: whether the API limits calls in flight, and to how many.
 *
 *              ┌──two throttles put down to the rate──▶ cap trial ──refused──▶ no cap
 *              │                                            │
 *   no cap ────┤                                 nothing refused, and faster
 *      ▲       │                                            ▼
 *      │       └──two throttles with the most in flight──▶ capped ──calls at the cap──▶ one more
 *      │                                                   │    ▲                          │
 *      └──throttled at the cap again and again─────────────┘    └──throttled, or 50 calls──┘
 *
 * The cap trial is faster than the limit seems to be, with no more calls in flight. In this process
 * `CallsInFlight` counts against the cap; over a queue its permits do, of which each worker holds
 * some (`permitsFor` in shared/lease.ts). A cap that the API publishes is not tried.
 */

/**
 * A throttle is suspicious when more calls were in flight than at this share of all accepted calls.
 */
const SUSPICIOUS_RANK = 0.975;
/** One suspicious throttle may be chance. */
const SUSPICIONS_NEEDED = 2;
/**
 * Calls at the cap before a higher cap is tried; doubled after each trial that failed, up to
 * `LAST_TRIAL_AFTER`.
 */
export const FIRST_TRIAL_AFTER = 100;
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
  const isSuspicious = shareBelow(state, event.inFlight) >= SUSPICIOUS_RANK;
  if (!isSuspicious) {
    concurrency.suspicion = Math.min(concurrency.suspicion, 0);
    concurrency.suspectedAt = 0;
    return false;
  }
  concurrency.suspicion += 1;
  concurrency.suspectedAt = Math.min(concurrency.suspectedAt || event.inFlight, event.inFlight);
  if (concurrency.suspicion < SUSPICIONS_NEEDED) return false;
  concurrency.cap = Math.max(1, concurrency.suspectedAt - 1);
  concurrency.suspectedAt = 0;
  concurrency.suspicion = 1;
  throttle.accepted = 3;
  trustCap(state);
  return true;
}

/** Starts to keep to a cap. It keeps throttles away, so the rate was mistaken for the limit. */
function trustCap(state: PaceState): void {
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
}

/**
 * The rate of a trial, relative to the rate that was throttled. A smaller factor tells the limits
 * apart late. A larger one costs more 429s when the limit is on the rate.
 */
const RATE_FACTOR = 1.25;
/**
 * The cap of a trial, relative to the average number of calls in flight: enough to go faster, and
 * few more calls that may be refused.
 */
const CAP_FACTOR = 1.1;
/**
 * With more calls in flight than this, mistaking a limit on them for one on the rate costs little.
 */
const MOST_IN_FLIGHT = 64;
/**
 * When a trial is refused within this many calls, or this many per call in flight, the cap was too
 * high.
 */
const PROMPT_PROOF_CALLS = 15;
const PROMPT_ROUNDS = 2;
/** How often a trial lowers its cap. Each time costs a 429. */
const MOST_PROOF_STEPS = 2;
/** A cap below this share of the calls that were in flight at the throttle cannot be the limit. */
const LEAST_CAP_SHARE = 0.8;
/**
 * This many accepted calls, and this many per call in flight, are more than any limit on the rate
 * had saved up.
 */
const PROOF_CALLS = 60;
const PROOF_ROUNDS = 10;
/**
 * A limit that stays closed for more than this many average latencies does not wait for calls to
 * end: they would have ended.
 */
const OPENS_WITHIN_ROUND_TRIPS = 3;
/**
 * The span over which the throttled rate is measured. A shorter one would measure chance, a longer
 * one an earlier rate.
 */
const HIT_SPAN = { calls: 30, ms: 500 };
/**
 * How many throttles come before the first trial, when the rate has been measured once, and by what
 * factor more before the next. Most limits are on the rate, and each trial costs one or two 429s.
 */
const FIRST_PROOF_AFTER = 2;
const NEXT_TRIAL_FACTOR = 4;

/**
 * Starts a trial to tell a limit on calls in flight from one on their rate. Right after a throttle,
 * when a limit on the rate has nothing saved up, calls go faster than the estimated limit, with a
 * cap on calls in flight. A limit on the rate soon refuses that; a limit on calls in flight never
 * does. The trial needs no count of calls in flight, which workers learn of one another only late.
 */
export function considerCapTrial(state: PaceState): void {
  const { concurrency, latency } = state;
  const { trial } = concurrency;
  trial.throttles += 1;
  if (concurrency.cap > 0 || trial.throttles < Math.max(FIRST_PROOF_AFTER, trial.nextAfter)) return;
  if (trial.closedMs > OPENS_WITHIN_ROUND_TRIPS * latency.averageMs) return;
  const hitPerMs = trial.hitPerMs;
  const inFlight = hitPerMs * latency.callMs;
  if (hitPerMs === 0 || inFlight > MOST_IN_FLIGHT) return;
  trial.isOn = true;
  trial.sinceMs = state.gateUntilMs;
  trial.accepted = 0;
  trial.stepsDown = 0;
  concurrency.cap = Math.ceil(CAP_FACTOR * inFlight);
  state.ratePerMs = Math.max(state.ratePerMs, RATE_FACTOR * hitPerMs);
}

/**
 * Notes how long the limit was closed. A long closing is forgotten slowly, because it is likely to
 * come again.
 */
export function noteClosed({ concurrency: { trial } }: PaceState, closedMs: number): void {
  trial.closedMs = Math.max(closedMs, trial.closedMs / 2);
}

/** Notes how fast calls were accepted before the throttle. Must be called before the epoch ends. */
export function noteHitRate(state: PaceState): void {
  state.concurrency.trial.hitPerMs = recentRatePerMs(state, HIT_SPAN);
}

/** A call of a trial was accepted. */
export function noteAcceptedInTrial(state: PaceState, nowMs: number): void {
  const { concurrency, estimate } = state;
  const { trial } = concurrency;
  if (trial.accepted === 0) trial.sinceMs = nowMs;
  trial.accepted += 1;
  if (trial.accepted < PROOF_CALLS + PROOF_ROUNDS * concurrency.cap + callsFromWait(state)) return;
  const perMs = trial.accepted / Math.max(1, nowMs - trial.sinceMs);
  if (perMs < Math.max(estimate.limitPerMs, trial.hitPerMs)) return tryOneMore(state, nowMs);
  trial.isOn = false;
  trustCap(state);
}

/**
 * How many calls of a trial a limit on the rate may let through from what it saved up during a
 * stated wait.
 */
function callsFromWait({ estimate, throttle, gateIsTold }: PaceState): number {
  const savedUp = gateIsTold ? estimate.limitPerMs * throttle.pauseMs : 0;
  return savedUp * (RATE_FACTOR / (RATE_FACTOR - 1));
}

/**
 * Nothing was refused, but calls were no faster than the estimate. Neither limit was reached, so
 * the cap is raised.
 */
function tryOneMore({ concurrency }: PaceState, nowMs: number): void {
  concurrency.cap += 1;
  concurrency.trial.accepted = 0;
  concurrency.trial.sinceMs = nowMs;
}

/**
 * Judges a throttle during a trial. When it comes at once, the cap is one too high; when it comes
 * later, the limit is on the rate.
 */
export function judgeCapTrial(state: PaceState): 'no_trial' | 'cap' | 'rate' {
  const { concurrency, throttle, latency } = state;
  const { trial } = concurrency;
  if (!trial.isOn) return 'no_trial';
  const leastCap = LEAST_CAP_SHARE * trial.hitPerMs * latency.callMs;
  const isPrompt = trial.accepted <= Math.max(PROMPT_PROOF_CALLS, PROMPT_ROUNDS * concurrency.cap);
  if (isPrompt && trial.stepsDown < MOST_PROOF_STEPS && concurrency.cap - 1 >= leastCap) {
    trial.stepsDown += 1;
    trial.accepted = 0;
    trial.sinceMs = state.latestMs;
    concurrency.cap -= 1;
    throttle.accepted = 3;
    return 'cap';
  }
  giveTrialUp(state);
  return 'rate';
}

/** Ends a trial without a cap. The limit is taken to be on the rate, as most limits are. */
export function giveTrialUp({ concurrency }: PaceState): void {
  const { trial } = concurrency;
  if (!trial.isOn) return;
  trial.isOn = false;
  trial.nextAfter = NEXT_TRIAL_FACTOR * trial.throttles;
  concurrency.cap = 0;
}
