import type { LimitHints } from '../common/limit-hints.ts';
import { createFixedRate, type FixedRate, type Rate } from './rate.ts';

/**
 * The phase of the pacer.
 *
 * ```text
 * starting ──429──▶ testing ──accepted──▶ cruising ──429──▶ cruising, a little slower
 *     │                ▲                    │    │
 *     │                └──429 again at once─┘    └─429, long wait told─▶ told ──accepted──▶ cruising
 *     └──the API publishes a quota──▶ published ──429s despite it──▶ cruising, never above it
 * ```
 */
export type Phase =
  /** No limit is known yet. The rate grows with every round trip. */
  | 'starting'
  /**
   * The rate is around the estimated limit. It returns to it quickly, and passes it ever more
   * slowly.
   */
  | 'cruising'
  /**
   * The API stated a wait of seconds. The first call accepted after it shows how long the limit was
   * closed.
   */
  | 'told'
  /**
   * Throttled with a stated wait of at most a second. One call at a time is made until one is
   * accepted.
   */
  | 'testing'
  /** The API publishes its limit. The limit is not tested. */
  | 'published';

/** Calls accepted since a point in time. */
export interface Span {
  sinceMs: number;
  accepted: number;
}

/**
 * Everything the pacer knows, as plain data that survives JSON. All times are milliseconds of one
 * clock. All rates are calls per millisecond.
 */
export interface PaceState {
  /** Set for a rate that the user gave. Nothing is learned then. */
  readonly fixed: FixedRate | null;
  phase: Phase;
  /** Whether the state was learned from an API that limits calls with 503 rather than 429. */
  isBy503: boolean;
  /** The latest time seen. */
  latestMs: number;
  /** How fast calls may start at present. */
  ratePerMs: number;
  /** No call starts before this. */
  gateUntilMs: number;
  /** Whether the server stated that time. Otherwise it is our own backoff. */
  gateIsTold: boolean;
  /**
   * The time that the server stated, which may be later than the gate is kept closed. Absent when it
   * named none, or none that can be believed, and in the saved state of an older version.
   */
  statedUntilMs?: number | undefined;
  /** Throttled calls since the latest accepted one. */
  throttledRow: {
    calls: number;
    /** How long calls were refused, up to the latest of them. */
    lastedMs: number;
    /** When the latest of them ended. */
    latestMs: number;
  };
  latency: {
    /** From sending a call until its end is known here: moving average. */
    averageMs: number;
    /** From sending a call to its answer. Workers that share a state report the answer later. */
    callMs: number;
    /** The shortest latency seen; 0 before the first answer. */
    shortestMs: number;
  };
  slots: {
    /** When the next call is due at the present rate. */
    nextMs: number;
    /** The start that the last call was booked for. */
    lastMs: number;
    /** Whether the pacer holds calls back, rather than callers coming late. */
    areAllTaken: boolean;
  };
  slowStart: {
    /** The most calls in flight. */
    mayFly: number;
    /** Calls accepted while that many were in flight. */
    callsAtCap: number;
  };
  throttle: ThrottleState;
  estimate: {
    /** The estimated limit; 0 while unknown. */
    limitPerMs: number;
    /** How far below the limit the rate begins after a throttle, as a share of the limit. */
    margin: number;
    /** How often in a row the estimate was confirmed: 0 to 4. */
    confidence: number;
    /** The accepted rate between the last two throttles; 0 before these. */
    measuredPerMs: number;
    /**
     * The calls that a window of the limit seems to hold; 0 when the limit does not seem to have
     * windows.
     */
    windowCalls: number;
  };
  measured: {
    /** `epoch` is since the last throttle, `lastEpoch` between the two before. */
    epoch: Span;
    lastEpoch: Span;
    /** The same between long pauses, such as follow a window that was used up. */
    block: Span;
    lastBlock: Span;
    /** The count of accepted calls of this epoch at some points in time: [ms, calls]. */
    marks: [number, number][];
  };
  plateau: {
    /** Calls accepted since the last throttle while the rate was tested. */
    accepted: number;
  };
  concurrency: ConcurrencyState;
  published: {
    /** The published rate; 0 when none is published. */
    quotaPerMs: number;
    /** The window of that rate. Not every answer states it. */
    windowMs: number;
    /** The published rate, less the calls that are left unused. */
    ratePerMs: number;
    /** Calls of each window that are left unused. */
    callsLeft: number;
    /** The fewest unused calls that seem to be enough. */
    leastLeft: number;
    /** Calls accepted since `callsLeft` was changed. */
    acceptedInRow: number;
    /** Whether keeping to it has avoided throttles. */
    isTrusted: boolean;
    /** Throttles although calls kept to it. */
    strikes: number;
    acceptedSinceStrike: number;
  };
  usedUp: UsedUpState;
}

export interface ThrottleState {
  /** Answers to calls that were sent before this time say nothing new. */
  cutMs: number;
  /** When the limit was hit. */
  hitAtMs: number;
  /** The rate at that time. */
  ratePerMs: number;
  /** Calls accepted in a row before it. */
  acceptedBefore: number;
  /** The same, plus the calls that were sent before the last throttle and accepted after it. */
  acceptedInEpoch: number;
  /** Calls accepted since the cut. */
  accepted: number;
  /** When the latest accepted call was sent. Absent in the saved state of an older version. */
  acceptedSentMs?: number;
  /** The time from that call to the first one accepted after a throttle; absent before that. */
  gapMs?: number | undefined;
  /** Throttled calls of this throttle. */
  calls: number;
  /** Throttles in a row that each came after only a few accepted calls. */
  shortInARow: number;
  /** Tests in a row that failed. */
  failedTests: number;
  /** How long the last throttle kept the limit closed. */
  closedMs: number;
  /** How long calls paused because of it. */
  pauseMs: number;
}

export interface ConcurrencyState {
  /** The most calls in flight, or 0 for no cap. */
  cap: number;
  /** Whether the API published the cap, which is then not tested. */
  isPublished: boolean;
  /** Throttles in a row that look like a limit on concurrency. */
  suspicion: number;
  /** The smallest number of calls in flight at one of those throttles; 0 for none. */
  suspectedAt: number;
  /**
   * How many calls were accepted at each number of calls in flight. Calls before the last throttles
   * have less weight.
   */
  acceptedAt: Record<string, number>;
  acceptedInAll: number;
  /** Calls accepted while the cap was reached. */
  callsAtCap: number;
  /** Calls at the cap before a higher cap is tried. */
  nextTrialAfter: number;
  /** Whether the cap is higher than the one that is known to be good. */
  isTrying: boolean;
  /** By how much the next trial raises the cap. */
  step: number;
  /** Throttles at the cap: `strikes` shortly after one another, `stepsDown` in a row. */
  strikes: number;
  stepsDown: number;
  trial: CapTrialState;
}

/** A trial of whether the limit is on calls in flight. */
export interface CapTrialState {
  isOn: boolean;
  sinceMs: number;
  /** Calls accepted in the trial. */
  accepted: number;
  stepsDown: number;
  /**
   * `throttles` counts throttles that were put down to the rate. At `nextAfter` of them the next
   * trial is due.
   */
  throttles: number;
  nextAfter: number;
  /** How long the limit was closed: the longest of late, which decays. */
  closedMs: number;
  /** The rate that was accepted before the last throttle. */
  hitPerMs: number;
}

/** What good answers said about a limit that is used up, and what came of it. */
export interface UsedUpState {
  /** When the latest of them came. */
  saidAtMs: number;
  /** The reset that it named; 0 when no answer counts any more. */
  untilMs: number;
  /** Whether a call is made before the reset. */
  isTried: boolean;
  /** When that call was booked for; 0 before. */
  trialMs: number;
  /** Calls accepted although none was left. */
  accepted: number;
  /** Whether a call was refused while none was left. */
  isTrue: boolean;
  /** Resets in a row that were waited for and left no call. */
  again: number;
}

/** The end of one call. */
export interface PaceEvent {
  /**
   * `throttled`: 429, or 503 when the API uses that to limit calls; `failed`: no answer, or one
   * that says nothing about the pace; `abandoned`: given up before there was an answer; `accepted`:
   * any other answer.
   */
  readonly kind: 'accepted' | 'throttled' | 'failed' | 'abandoned';
  readonly sentAtMs: number;
  readonly latencyMs: number;
  /** Calls in flight when it was sent, itself included. */
  readonly inFlight: number;
  /** How long the server said to wait, if it did. */
  readonly retryAfterMs?: number | undefined;
  /** The same when only a part of it is kept, which `retryAfterMs` is then. */
  readonly statedMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
  /** From 0 to 1. Spreads the backoffs of several processes. */
  readonly random: number;
}

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

/** Moves all times of a state, because its clock was set or because another clock kept it. */
export function moveInTime(state: PaceState, byMs: number): void {
  const { fixed, slots, throttle, throttledRow, measured, concurrency, usedUp } = state;
  if (fixed) {
    if (fixed.lastSlotMs !== null) fixed.lastSlotMs += byMs;
    fixed.recentStartsMs = fixed.recentStartsMs.map((startMs) => startMs + byMs);
  }
  state.latestMs += byMs;
  state.gateUntilMs += byMs;
  if (state.statedUntilMs !== undefined) state.statedUntilMs += byMs;
  slots.nextMs += byMs;
  slots.lastMs += byMs;
  throttledRow.latestMs += byMs;
  for (const time of ['saidAtMs', 'untilMs', 'trialMs'] as const) {
    if (usedUp[time] > 0) usedUp[time] += byMs; // 0 stands for none
  }
  throttle.cutMs += byMs;
  throttle.hitAtMs += byMs;
  if (throttle.acceptedSentMs !== undefined) throttle.acceptedSentMs += byMs;
  for (const span of ['epoch', 'lastEpoch', 'block', 'lastBlock'] as const) {
    measured[span].sinceMs += byMs;
  }
  concurrency.trial.sinceMs += byMs;
  for (const mark of measured.marks) mark[0] += byMs;
}
