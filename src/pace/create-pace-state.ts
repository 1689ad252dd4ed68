import { createFixedRate } from './fixed-rate.ts';
import type { PaceState } from './pace-state.ts';
import type { Rate } from './rate.ts';

/**
 * Slow start begins with this rate, in calls per ms. A higher one would exceed small limits before
 * anything is known.
 */
const FIRST_RATE_PER_MS = 10 / 1_000;
/** The most calls in flight at first. Each may be answered 429 when slow start finds the limit. */
const FIRST_MAY_FLY = 16;
/** The latency assumed before the first answer. */
const FIRST_LATENCY_MS = 200;
/** How far below a first estimate the rate begins, as a share. The estimate may be this wrong. */
export const FIRST_MARGIN = 0.15;

/**
 * The state of a pacer that has seen no call yet. It finds the limit, or keeps to the rate given.
 */
export function createPaceState(
  { rate }: { readonly rate?: Rate | undefined },
  nowMs: number,
): PaceState {
  return {
    fixed: rate ? createFixedRate(rate) : null,
    phase: 'starting',
    isBy503: false,
    latestMs: nowMs,
    ratePerMs: FIRST_RATE_PER_MS,
    gateUntilMs: nowMs,
    gateIsTold: false,
    throttledRow: { calls: 0, lastedMs: 0, latestMs: nowMs },
    latency: { averageMs: FIRST_LATENCY_MS, callMs: FIRST_LATENCY_MS, shortestMs: 0 },
    slots: { nextMs: nowMs, lastMs: nowMs - 10_000, areAllTaken: false },
    slowStart: { mayFly: FIRST_MAY_FLY, callsAtCap: 0 },
    throttle: {
      cutMs: nowMs - 1,
      hitAtMs: nowMs,
      ratePerMs: FIRST_RATE_PER_MS,
      acceptedBefore: 0,
      acceptedInEpoch: 0,
      accepted: 0,
      calls: 0,
      shortInARow: 0,
      failedTests: 0,
      closedMs: 0,
      pauseMs: 0,
    },
    estimate: {
      limitPerMs: 0,
      margin: FIRST_MARGIN,
      confidence: 0,
      measuredPerMs: 0,
      windowCalls: 0,
    },
    measured: {
      epoch: { sinceMs: nowMs, accepted: 0 },
      lastEpoch: { sinceMs: nowMs, accepted: 0 },
      block: { sinceMs: nowMs, accepted: 0 },
      lastBlock: { sinceMs: nowMs, accepted: 0 },
      marks: [[nowMs, 0]],
    },
    plateau: { accepted: 0 },
    concurrency: {
      cap: 0,
      isPublished: false,
      suspicion: 0,
      suspectedAt: 0,
      acceptedAt: {},
      acceptedInAll: 0,
      callsAtCap: 0,
      nextTrialAfter: 0,
      isTrying: false,
      step: 1,
      strikes: 0,
      stepsDown: 0,
      trial: {
        isOn: false,
        sinceMs: nowMs,
        accepted: 0,
        stepsDown: 0,
        throttles: 0,
        nextAfter: 0,
        closedMs: 0,
        hitPerMs: 0,
      },
    },
    published: {
      quotaPerMs: 0,
      windowMs: 0,
      ratePerMs: 0,
      callsLeft: 0,
      leastLeft: 0,
      acceptedInRow: 0,
      isTrusted: false,
      strikes: 0,
      acceptedSinceStrike: 0,
    },
    usedUp: {
      saidAtMs: 0,
      untilMs: 0,
      isTried: false,
      trialMs: 0,
      accepted: 0,
      isTrue: false,
      again: 0,
    },
  };
}
