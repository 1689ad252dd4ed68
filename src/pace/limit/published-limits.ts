import type { LimitHints } from '../../common/limit-hints.ts';
import { closeUntilReset, LONGEST_WAIT_MS } from '../gate.ts';
import type { PaceState } from '../pace-state.ts';
import { giveTrialUp } from './cap-trial.ts';

type Published = PaceState['published'];

/** Calls do not arrive as evenly as they start: those of so many ms of each window are left at first… */
const JITTER_MS = 60;
/** …no more than this, because what is left of many calls evens out… */
const CALLS_LEFT = 1.3;
/** …and more when the last one was taken all the same, fewer when it was not for so many calls… */
const MORE_LEFT = 0.5;
const FEWER_LEFT = 0.1;
const LEAST_CALLS_LEFT = 0.3;
const CALLS_TO_LEAVE_FEWER = 200;
/** …unless there were fewer since, or fewer windows: most of those were sent when fewer were left, but… */
const CALLS_TO_LEAVE_MORE = { calls: 20, windows: 2 };
/** …so much more than were too few once, which is forgotten slowly, since others may have taken them… */
const ENOUGH_LEFT = 0.2;
const REMEMBERED = 0.995;
/** …and never fewer used than this share, or than that where a whole call is much of the window… */
const LEAST_USED = 0.6;
const FEW_CALLS = 4;
const LEAST_USED_OF_FEW = 0.85;
/** …nor more than this, because clocks differ too. */
const MOST_USED = 0.995;
/** Longer windows, as of a day, are quotas and no pace: whoever spreads those holds short runs up. */
const LONGEST_WINDOW_MS = 3_600_000;
const FASTEST_PER_MS = 1_000;
const SLOWEST_PER_MS = 1 / LONGEST_WAIT_MS;
/** Throttles despite it that a published rate is forgiven: others may use the same credential. */
const STRIKES_FORGIVEN = 2;
/** Calls accepted in a row that make up for a strike. */
const CALLS_TO_FORGET = 1_000;
const MOST_CONCURRENT = 100_000;
/** Resets are told in whole seconds, rounded up. */
const ROUNDED_MS = 1_000;

/**
 * Takes over what the API says about its limits. Numbers that make no sense are passed over.
 *
 * @param at when the call was sent that it said it to, and when it is heard of
 * @returns how long it is until a reset, when nothing is left before; else 0
 */
export function obeyHints(
  state: PaceState,
  hints: LimitHints,
  { sentAtMs, nowMs }: { readonly sentAtMs: number; readonly nowMs: number },
): number {
  obeyQuota(state, hints.quota);
  obeyConcurrent(state, hints.concurrent);
  const { remaining = 1, resetMs = 0 } = hints;
  if (!(remaining <= 0 && resetMs > 0)) return 0;
  if (isOwnDoing(state, { resetMs, sentAtMs })) return 0;
  closeUntilReset(state, nowMs, resetMs);
  return resetMs;
}

function obeyQuota(state: PaceState, quota: LimitHints['quota']): void {
  if (!quota) return;
  const { count, perMs } = quota;
  if (!(count > 0 && Number.isFinite(count) && perMs > 0 && perMs <= LONGEST_WINDOW_MS)) return;
  const { published } = state;
  const quotaPerMs = Math.min(FASTEST_PER_MS, count / perMs);
  if (published.quotaPerMs !== quotaPerMs) trust(state, quotaPerMs);
  published.windowMs = perMs;
  const used = usedShare(count, published.callsLeft) * quotaPerMs;
  const ratePerMs = Math.max(SLOWEST_PER_MS, used);
  if (published.ratePerMs === ratePerMs) return;
  published.ratePerMs = ratePerMs;
  if (!published.isTrusted) return;
  state.estimate.limitPerMs = ratePerMs;
  state.ratePerMs = ratePerMs;
  if (state.phase === 'starting' || state.phase === 'cruising') state.phase = 'published';
}

/** Takes over a quota that was not told before. */
function trust(state: PaceState, quotaPerMs: number): void {
  const { published } = state;
  published.quotaPerMs = quotaPerMs;
  published.callsLeft = Math.min(CALLS_LEFT, JITTER_MS * quotaPerMs);
  published.leastLeft = leastCallsLeft(published);
  published.isTrusted = true;
  published.strikes = 0;
  published.acceptedSinceStrike = 0;
  giveTrialUp(state);
}

function obeyConcurrent(state: PaceState, concurrent: number | undefined): void {
  if (concurrent === undefined || !(concurrent > 0)) return;
  giveTrialUp(state);
  const { concurrency } = state;
  concurrency.cap = Math.max(1, Math.floor(Math.min(concurrent, MOST_CONCURRENT)));
  concurrency.isPublished = true;
  concurrency.isTrying = false;
}

/** Throttled at a published rate. True as long as that is taken for chance. */
export function blamePublished({ published, estimate }: PaceState): boolean {
  published.strikes += 1;
  published.acceptedSinceStrike = 0;
  leave(published, ENOUGH_LEFT);
  if (published.strikes <= STRIKES_FORGIVEN) return true;
  // The headers lie: what they say stays the most that is tried, and the limit is looked for below.
  published.isTrusted = false;
  estimate.limitPerMs = 0;
  return false;
}

/** A call was accepted at the published rate. */
export function noteAcceptedAtPublished({ published }: PaceState): void {
  published.acceptedInRow += 1;
  if (published.acceptedInRow >= CALLS_TO_LEAVE_FEWER) {
    published.acceptedInRow = 0;
    published.leastLeft = Math.max(leastCallsLeft(published), REMEMBERED * published.leastLeft);
    published.callsLeft = Math.max(published.leastLeft, published.callsLeft - FEWER_LEFT);
  }
  published.acceptedSinceStrike += 1;
  if (published.acceptedSinceStrike < CALLS_TO_FORGET) return;
  published.acceptedSinceStrike = 0;
  published.strikes = Math.max(0, published.strikes - 1);
}

/** The last call of a window was taken: waiting for the next one costs more than calls that are left. */
export function leaveMore({ published, ratePerMs }: PaceState, waitMs: number): void {
  if (waitMs * ratePerMs < 1) return; // the next one would have waited for as long
  const { calls, windows } = CALLS_TO_LEAVE_MORE;
  if (published.acceptedInRow < Math.min(calls, windows * callsOfWindow(published))) return;
  leave(published, MORE_LEFT);
}

function leave(published: Published, more: number): void {
  const scale = leastCallsLeft(published) / LEAST_CALLS_LEFT;
  published.acceptedInRow = 0;
  published.leastLeft = published.callsLeft + ENOUGH_LEFT * scale;
  published.callsLeft += more * scale;
}

/** Fewer of a slow quota: there, the jitter of calls is a small part of one. */
function leastCallsLeft({ quotaPerMs }: Published): number {
  return Math.min(LEAST_CALLS_LEFT, JITTER_MS * quotaPerMs);
}

/**
 * Whether none is left because of our own calls. As even as they are, they use some windows to the last
 * one, and the next one is let in when it is due: until then whole seconds are told, whatever is left of them.
 */
function isOwnDoing(
  { phase, slots, gateUntilMs, ratePerMs, published }: PaceState,
  told: { readonly resetMs: number; readonly sentAtMs: number },
): boolean {
  const { windowMs } = published;
  const count = callsOfWindow(published);
  if (phase !== 'published' || !slots.areAllTaken) return false;
  const sinceOpen = (told.sentAtMs - gateUntilMs) * ratePerMs + 1;
  const fillsWindow = ratePerMs * windowMs > count - 1 && sinceOpen > count - 0.5;
  return fillsWindow && told.resetMs < windowMs + ROUNDED_MS;
}

function callsOfWindow({ quotaPerMs, windowMs }: Published): number {
  return quotaPerMs * windowMs;
}

function usedShare(count: number, callsLeft: number): number {
  const least = count < FEW_CALLS ? LEAST_USED_OF_FEW : LEAST_USED;
  return Math.min(MOST_USED, Math.max(least, 1 - callsLeft / count));
}
