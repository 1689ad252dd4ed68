import type { PaceState } from '../pace-state.ts';
import { trustCap } from './concurrency-limit.ts';
import { recentRatePerMs } from './measured-rate.ts';

/** Above the rate that was hit: less tells the limits apart late, more costs more 429s when it is the rate. */
const RATE_FACTOR = 1.25;
/** Above the calls that were in flight on average: enough to go faster, and few more that may be refused. */
const CAP_FACTOR = 1.1;
/** With more in flight than these, a limit on them that is taken for one on the rate costs little. */
const MOST_IN_FLIGHT = 64;
/** Refused within so many calls, or so many for each in flight, it was the cap that was too high. */
const PROMPT_CALLS = 15;
const PROMPT_ROUNDS = 2;
/** …and is lowered, so many times: each time costs a 429. */
const MOST_STEPS_DOWN = 2;
/** Fewer than this share of those that were in flight when the limit was hit cannot be all that it allows. */
const LEAST_CAP_SHARE = 0.8;
/** Accepted without a throttle, these calls and so many for each in flight are more than any rate had saved up. */
const PROOF_CALLS = 60;
const PROOF_ROUNDS = 10;
/** Closed for longer than so many times a call takes until it is known, it does not wait for calls to end: they would have. */
const OPENS_WITHIN_ROUND_TRIPS = 3;
/** Fewer calls, or a shorter time, would measure chance; more, how it was before. */
const HIT_SPAN = { calls: 30, ms: 500 };
/**
 * Throttles before the first trial, when the rate has been measured once, and how many times as many
 * before the next one: most limits are on the rate, and each trial costs one 429 or two.
 */
const FIRST_TRIAL_AFTER = 2;
const NEXT_TRIAL_FACTOR = 4;

/**
 * Tells a limit on calls in flight from one on their rate by trying it out. Right after a throttle,
 * when nothing is left of what a limit on the rate lets calls save up, it goes faster than the
 * estimated limit, with calls in flight bounded. A limit on the rate refuses that soon, one on calls
 * in flight never. It needs no count of calls in flight, which workers know of one another only late.
 */
export function considerCapTrial(state: PaceState): void {
  const { concurrency, latency } = state;
  const { trial } = concurrency;
  trial.throttles += 1;
  if (concurrency.cap > 0 || trial.throttles < Math.max(FIRST_TRIAL_AFTER, trial.nextAfter)) return;
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

/** The limit was closed for so long. One that ever was so for long will be so again: that is forgotten slowly. */
export function noteClosed({ concurrency: { trial } }: PaceState, closedMs: number): void {
  trial.closedMs = Math.max(closedMs, trial.closedMs / 2);
}

/** How fast calls were accepted when the limit was hit: to be noted before the epoch ends. */
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

/** What a limit on the rate may have saved up while calls waited as told lasts for so many calls of a trial. */
function callsFromWait({ estimate, throttle, gateIsTold }: PaceState): number {
  const savedUp = gateIsTold ? estimate.limitPerMs * throttle.pauseMs : 0;
  return savedUp * (RATE_FACTOR / (RATE_FACTOR - 1));
}

/** Nothing was refused, and no faster than the estimate: neither limit was put to the test. */
function tryOneMore({ concurrency }: PaceState, nowMs: number): void {
  concurrency.cap += 1;
  concurrency.trial.accepted = 0;
  concurrency.trial.sinceMs = nowMs;
}

/** Throttled during a trial: at once, the cap is one too high; later, the limit is on the rate. */
export function judgeCapTrial(state: PaceState): 'no_trial' | 'cap' | 'rate' {
  const { concurrency, throttle, latency } = state;
  const { trial } = concurrency;
  if (!trial.isOn) return 'no_trial';
  const leastCap = LEAST_CAP_SHARE * trial.hitPerMs * latency.callMs;
  const isPrompt = trial.accepted <= Math.max(PROMPT_CALLS, PROMPT_ROUNDS * concurrency.cap);
  if (isPrompt && trial.stepsDown < MOST_STEPS_DOWN && concurrency.cap - 1 >= leastCap) {
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

/** The limit is taken for one on the rate again; most are. */
export function giveTrialUp({ concurrency }: PaceState): void {
  const { trial } = concurrency;
  if (!trial.isOn) return;
  trial.isOn = false;
  trial.nextAfter = NEXT_TRIAL_FACTOR * trial.throttles;
  concurrency.cap = 0;
}
