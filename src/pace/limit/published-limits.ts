import type { LimitHints } from '../../common/calls.ts';
import { DAY_MS, HOUR_MS } from '../../common/format.ts';
import {
  closeGate,
  closeUntilReset,
  FASTEST_PER_MS,
  LONGEST_WAIT_MS,
  SHORT_RESET_MS,
} from '../gate.ts';
import type { PaceEvent, PaceState } from '../pace-state.ts';
import { giveTrialUp } from './concurrency-limit.ts';

type Published = PaceState['published'];

/*
 * Calls do not arrive as evenly as they start, so some calls of each window are left unused: at
 * first those of `JITTER_MS`, but no more than `CALLS_LEFT`, because the jitter of many calls evens
 * out.
 *
 * When the last call of a window was used nevertheless, `MORE_LEFT` more are left. That counts only
 * after `CALLS_TO_LEAVE_MORE`, because calls before were mostly sent when fewer were left. After
 * `CALLS_TO_LEAVE_FEWER` accepted calls, `FEWER_LEFT` fewer are left, but always `ENOUGH_LEFT` more
 * than were too few once. That bound fades slowly, since other clients may have used the calls.
 *
 * The share of a window that is used stays between a least share and `MOST_USED`.
 */

/** The jitter that is allowed for at first, in ms. */
const JITTER_MS = 60;
/** The most calls that are left unused at first. */
const CALLS_LEFT = 1.3;
/** The calls by which more are left. */
const MORE_LEFT = 0.5;
/** The calls by which fewer are left. */
const FEWER_LEFT = 0.1;
/** The fewest calls left. */
const LEAST_CALLS_LEFT = 0.3;
/** The accepted calls after which fewer are left. */
const CALLS_TO_LEAVE_FEWER = 200;
/** The calls, or the windows if these hold fewer calls, before more may be left again. */
const CALLS_TO_LEAVE_MORE = { calls: 20, windows: 2 };
/** The calls above a number that was too small once. */
const ENOUGH_LEFT = 0.2;
/** The share of that bound that is kept each time that fewer calls are left. */
const REMEMBERED = 0.995;
/** The least share of a window that is used. */
const LEAST_USED = 0.6;
/** The size of a window, in calls, below which one call is a large part of it. */
const FEW_CALLS = 4;
/** The least used share of such a small window. */
const LEAST_USED_OF_FEW = 0.85;
/** The largest share of a window that is used, because clocks differ too. */
const MOST_USED = 0.995;
/**
 * Longer windows, such as a day, are quotas and do not set a pace: spreading them would slow short
 * runs down.
 */
const LONGEST_WINDOW_MS = HOUR_MS;
const SLOWEST_PER_MS = 1 / LONGEST_WAIT_MS;
/** Throttles at a published rate that are forgiven: other clients may use the same credential. */
const STRIKES_FORGIVEN = 2;
/** Accepted calls that make up for a strike. */
const CALLS_TO_FORGET = 1_000;
const MOST_CONCURRENT = 100_000;
/** Resets are stated in whole seconds, rounded up. */
const ROUNDED_MS = 1_000;

/**
 * Takes over what the API says about its limits. Numbers that make no sense are ignored.
 *
 * @param at when the call with these headers was sent, when its answer came, and whether that was
 *   good
 * @returns how long it is until a reset when no calls are left before it and that is believed;
 *   otherwise 0
 */
export function obeyHints(
  state: PaceState,
  hints: LimitHints,
  {
    sentAtMs,
    nowMs,
    isAccepted,
  }: { readonly sentAtMs: number; readonly nowMs: number; readonly isAccepted: boolean },
): number {
  obeyQuota(state, hints.quota);
  obeyConcurrent(state, hints.concurrent);
  const { remaining = 1, resetMs = 0 } = hints;
  if (isAccepted && remaining > 0) noteCallsLeft(state);
  if (!(remaining <= 0 && resetMs > 0)) return 0;
  if (isOwnDoing(state, { resetMs, sentAtMs })) return 0;
  if (isAccepted) return waitForReset(state, { resetMs, sentAtMs, nowMs });
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

/** Takes over a quota that was not published before. */
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

/** A throttle at a published rate. Returns true while it is taken for chance. */
export function blamePublished({ published, estimate }: PaceState): boolean {
  published.strikes += 1;
  published.acceptedSinceStrike = 0;
  leave(published, ENOUGH_LEFT);
  if (published.strikes <= STRIKES_FORGIVEN) return true;
  // The headers are wrong. Their rate stays the upper bound, and the limit is looked for below it.
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

/**
 * The last call of a window was used. Waiting for the next window costs more than calls left
 * unused.
 */
export function leaveMore({ published, ratePerMs }: PaceState, waitMs: number): void {
  if (waitMs * ratePerMs < 1) return; // the next call would have waited as long anyway
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

/**
 * The fewest calls to leave unused. A slow quota needs fewer, because jitter is a small part of one
 * of its calls.
 */
function leastCallsLeft({ quotaPerMs }: Published): number {
  return Math.min(LEAST_CALLS_LEFT, JITTER_MS * quotaPerMs);
}

/**
 * Whether no call is left because of our own calls. Evenly spaced calls use some windows to the
 * last call, and the next call is let in when it is due. Until then the API states whole seconds,
 * however little is left of them.
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

/*
 * A good answer may say that no calls are left until a reset. Whether that is enforced only shows
 * when a call is made nevertheless, so one is, a moment later, before a long wait is believed:
 *
 *   said ──trial refused──▶ believed: waits for resets, up to ten minutes without a trial
 *     └────trials accepted──▶ ignored, until a call is refused while the limit is at zero
 *
 * A refused call is not billed and costs no lookup an attempt.
 */

/** A wait longer than this is tried before it is believed. */
const TRIED_FROM_MS = 15_000;
/** When the trial is made, after the answer. */
const TRIED_AFTER_MS = 1_000;
/** A call that was sent this soon after the answer may have been booked before it. */
const BOOKED_BEFORE_MS = 500;
/** Servers state whole seconds, so a reset may be this much sooner than it says. */
const EARLY_RESET_MS = 1_500;
/** The state survives JSON, which has no infinite numbers. */
const LONGEST_RESET_MS = 366 * DAY_MS;
/** A trial that is not answered within this time is made again. */
const LOST_TRIAL_MS = 15_000;
/** Accepted calls that show that a limit is not enforced. */
const ENOUGH_ACCEPTED = 3;
/** The same where the user gave a rate, which is a word against that of the headers. */
const ENOUGH_AT_FIXED_RATE = 1;
/**
 * A limit of more than one call that is used up again by the first call after its reset, so often in
 * a row, is tried too.
 */
const AGAIN_IN_A_ROW = 2;
/** When such a trial was refused, the limit may well be of one call. The next comes after so many. */
const RESETS_BETWEEN_TRIALS = 20;

/** Whether calls that were accepted have shown that a limit with nothing left is not enforced. */
export function isNotEnforced({ usedUp, fixed }: PaceState): boolean {
  return usedUp.accepted >= (fixed ? ENOUGH_AT_FIXED_RATE : ENOUGH_ACCEPTED);
}

/**
 * A good answer says that no calls are left until a reset. Closes the gate until then, or until a
 * call finds out whether that is so.
 *
 * @returns how long the reset is waited for; 0 when that is still to be seen, or is not so
 */
export function waitForReset(
  state: PaceState,
  {
    resetMs,
    sentAtMs,
    nowMs,
  }: { readonly resetMs: number; readonly sentAtMs: number; readonly nowMs: number },
): number {
  const { usedUp } = state;
  if (isNotEnforced(state)) return 0;
  if (usedUp.untilMs > 0 && sentAtMs >= usedUp.untilMs) usedUp.again += 1;
  const isAgain = usedUp.again >= AGAIN_IN_A_ROW;
  const isInDoubt = !usedUp.isTrue || isAgain || resetMs > LONGEST_WAIT_MS;
  const isTried = isInDoubt && resetMs > (isAgain ? SHORT_RESET_MS : TRIED_FROM_MS);
  const untilMs = nowMs + Math.min(resetMs, LONGEST_RESET_MS);
  // Calls that were under way say the same again.
  const isKnown = usedUp.isTried && usedUp.untilMs > nowMs && sentAtMs <= usedUp.saidAtMs;
  if (isTried && isKnown) return 0;
  usedUp.saidAtMs = nowMs;
  usedUp.untilMs = untilMs;
  usedUp.isTried = isTried;
  usedUp.trialMs = 0;
  if (isTried) {
    closeGate(state, nowMs, nowMs + TRIED_AFTER_MS, true);
    return 0;
  }
  closeUntilReset(state, nowMs, resetMs);
  return resetMs;
}

/** A good answer says that calls are left. */
export function noteCallsLeft({ usedUp }: PaceState): void {
  usedUp.again = Math.min(usedUp.again, 0);
}

/** Whether the one call of a trial is under way. */
export function isTrialOut({ usedUp }: PaceState, nowMs: number): boolean {
  const { isTried, trialMs, untilMs } = usedUp;
  return isTried && untilMs > nowMs && trialMs > 0 && nowMs - trialMs < LOST_TRIAL_MS;
}

/** Whether the next call is a trial. */
export function isTrialDue({ usedUp }: PaceState, nowMs: number): boolean {
  return usedUp.isTried && usedUp.untilMs > nowMs;
}

/** A call was booked, which may be the trial. */
export function noteBooked({ usedUp }: PaceState, atMs: number): void {
  if (usedUp.isTried && atMs < usedUp.untilMs) usedUp.trialMs = atMs;
}

/** Learns from the end of a call whether a limit with nothing left is enforced. */
export function noteEnd(state: PaceState, event: PaceEvent, nowMs: number): void {
  const { usedUp } = state;
  if (usedUp.untilMs === 0 || event.sentAtMs <= usedUp.saidAtMs + BOOKED_BEFORE_MS) return;
  if (event.kind === 'accepted' && event.sentAtMs < usedUp.untilMs) {
    if (nowMs < usedUp.untilMs - EARLY_RESET_MS) usedUp.accepted += 1;
    usedUp.untilMs = 0;
    usedUp.isTried = false;
  } else if (event.kind === 'failed' || event.kind === 'abandoned') usedUp.trialMs = 0;
}

/**
 * A call was refused. While none was left, that shows that the limit is enforced.
 *
 * @returns how long the reset is waited for from now, when the refused call was a trial; otherwise 0
 */
export function noteRefused(state: PaceState, event: PaceEvent, nowMs: number): number {
  const { usedUp } = state;
  const { remaining = 1, resetMs = 0 } = event.limits ?? {};
  const isSaid = usedUp.untilMs > nowMs && event.sentAtMs > usedUp.saidAtMs;
  if (!isSaid && remaining > 0) return 0;
  const leftMs = isSaid ? usedUp.untilMs - nowMs : resetMs;
  usedUp.trialMs = 0;
  // A far shorter wait is about another limit.
  const { retryAfterMs = leftMs } = event;
  if (retryAfterMs > 0 && retryAfterMs < leftMs / 2) return 0;
  const wasTried = isSaid && usedUp.isTried;
  usedUp.isTrue = true;
  usedUp.isTried = false;
  usedUp.accepted = 0;
  if (usedUp.again >= AGAIN_IN_A_ROW) usedUp.again = -RESETS_BETWEEN_TRIALS;
  return wasTried ? leftMs : 0;
}
