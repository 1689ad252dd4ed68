import { nextFixedStartMs } from './fixed-rate.ts';
import { LONGEST_TOLD_MS, onlyThrottledMs } from './gate.ts';
import { isNotEnforced } from './limit/used-up.ts';
import type { PaceState } from './pace-state.ts';

/** The present pace and the reason for it, for people. */
export interface PaceDescription {
  /** Calls per second that may start now. */
  readonly ratePerSecond: number;
  /**
   * The source of the limit that is kept to: `fixed` was given by the user, `published` is in the
   * API's headers, `learned` was found, `unknown` was not reached yet.
   */
  readonly limitIs: 'fixed' | 'published' | 'learned' | 'unknown';
  /** The limit as estimated, or as the API publishes it. */
  readonly learnedLimitPerSecond?: number;
  /** The most calls in flight, if the API limits them. */
  readonly concurrencyLimit?: number;
  /** How long no call may start, in milliseconds; 0 when calls may start. */
  readonly waitMs: number;
  /**
   * How long the API itself said to wait, when that is why no call may start, and it named a time.
   * It may be longer than `waitMs`, because no wait is kept for ever.
   */
  readonly statedMs?: number;
  /**
   * How long calls have been refused with no accepted one between them, in milliseconds. Absent when
   * the last call was accepted.
   */
  readonly onlyThrottledMs?: number;
  /**
   * Present when the headers of good answers say that no calls are left, and are no longer waited
   * for, because calls were accepted nevertheless.
   */
  readonly ignoresUsedUp?: true;
  /**
   * `open`: nothing holds calls back; `told_to_wait`: the API stated a wait; `backing_off`: it
   * stated none; `starting`: no limit is known yet; `holding`: just under the limit; `probing`:
   * above it, to see whether it is still there.
   */
  readonly why: 'open' | 'told_to_wait' | 'backing_off' | 'probing' | 'starting' | 'holding';
}

export function describePace(state: PaceState, nowMs: number): PaceDescription {
  const { fixed, estimate, concurrency, published } = state;
  const ratePerMs = fixed ? fixed.rate.count / fixed.rate.perMs : state.ratePerMs;
  const throttledMs = onlyThrottledMs(state, nowMs);
  const limitPerMs = published.isTrusted ? published.ratePerMs : estimate.limitPerMs;
  const why = whyOf(state, nowMs);
  const { statedUntilMs } = state;
  return {
    ratePerSecond: ratePerMs * 1_000,
    limitIs: limitSourceOf(state),
    ...(!fixed && limitPerMs > 0 ? { learnedLimitPerSecond: limitPerMs * 1_000 } : {}),
    ...(concurrency.cap > 0 ? { concurrencyLimit: concurrency.cap } : {}),
    waitMs: waitMsOf(state, nowMs),
    ...(why === 'told_to_wait' && statedUntilMs ? { statedMs: statedUntilMs - nowMs } : {}),
    ...(throttledMs > 0 ? { onlyThrottledMs: throttledMs } : {}),
    ...(isNotEnforced(state) ? { ignoresUsedUp: true as const } : {}),
    why,
  };
}

function limitSourceOf({ fixed, published, estimate }: PaceState): PaceDescription['limitIs'] {
  if (fixed) return 'fixed';
  if (published.isTrusted) return 'published';
  return estimate.limitPerMs > 0 ? 'learned' : 'unknown';
}

function waitMsOf({ fixed, gateUntilMs }: PaceState, nowMs: number): number {
  const gateMs = Math.min(Math.max(0, gateUntilMs - nowMs), LONGEST_TOLD_MS);
  return fixed ? Math.max(gateMs, nextFixedStartMs(fixed) - nowMs) : gateMs;
}

function whyOf(state: PaceState, nowMs: number): PaceDescription['why'] {
  const { fixed, phase, slots, estimate } = state;
  if (state.gateUntilMs > nowMs) return state.gateIsTold ? 'told_to_wait' : 'backing_off';
  if (fixed) return 'holding';
  switch (phase) {
    case 'starting':
      return slots.areAllTaken ? 'starting' : 'open';
    case 'testing':
      return 'backing_off';
    case 'cruising':
    case 'told':
      if (!slots.areAllTaken) return 'open';
      return state.ratePerMs > estimate.limitPerMs ? 'probing' : 'holding';
    case 'published':
      return slots.areAllTaken ? 'holding' : 'open';
  }
}
