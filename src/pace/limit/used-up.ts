import { closeGate, closeUntilReset, LONGEST_WAIT_MS, SHORT_RESET_MS } from '../gate.ts';
import type { PaceEvent } from '../pace-event.ts';
import type { PaceState } from '../pace-state.ts';

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
const ROUNDED_MS = 1_500;
/** The state survives JSON, which has no infinite numbers. */
const LONGEST_RESET_MS = 366 * 86_400_000;
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
    if (nowMs < usedUp.untilMs - ROUNDED_MS) usedUp.accepted += 1;
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
