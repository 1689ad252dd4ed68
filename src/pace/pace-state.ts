import type { LimitHints } from '../common/calls.ts';
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
 * Everything the pacer knows, as plain data that survives JSON. All times are milliseconds of one
 * clock. All rates are calls per millisecond.
 */
export type PaceState = ReturnType<typeof createStateAtZero>;

/**
 * The state of a pacer that has seen no call yet. It finds the limit, or keeps to the rate given.
 */
export function createPaceState(
  { rate }: { readonly rate?: Rate | undefined },
  nowMs: number,
): PaceState {
  const state = createStateAtZero();
  state.ratePerMs = FIRST_RATE_PER_MS;
  state.throttle.ratePerMs = FIRST_RATE_PER_MS;
  state.latency.averageMs = FIRST_LATENCY_MS;
  state.latency.callMs = FIRST_LATENCY_MS;
  state.slowStart.mayFly = FIRST_MAY_FLY;
  state.estimate.margin = FIRST_MARGIN;
  if (rate) state.fixed = createFixedRate(rate);
  moveInTime(state, nowMs);
  return state;
}

/** Types of declarations can be inferred from literals only: what is not 0 at first is set above. */
function createStateAtZero() {
  return {
    /** Set for a rate that the user gave. Nothing is learned then. */
    fixed: null as FixedRate | null,
    phase: 'starting' as Phase,
    /** Whether the state was learned from an API that limits calls with 503 rather than 429. */
    isBy503: false,
    /** The latest time seen. */
    latestMs: 0,
    /** How fast calls may start at present. */
    ratePerMs: 0,
    /** No call starts before this. */
    gateUntilMs: 0,
    /** Whether the server stated that time. Otherwise it is our own backoff. */
    gateIsTold: false,
    /**
     * The time that the server stated, which may be later than the gate is kept closed. Undefined
     * when it named none, or none that can be believed, and in the saved state of an older version.
     */
    statedUntilMs: undefined as number | undefined,
    /** Throttled calls since the latest accepted one. */
    throttledRow: {
      calls: 0,
      /** How long calls were refused, up to the latest of them. */
      lastedMs: 0,
      /** When the latest of them ended. */
      latestMs: 0,
    },
    latency: {
      /** From sending a call until its end is known here: moving average. */
      averageMs: 0,
      /** From sending a call to its answer. Workers that share a state report the answer later. */
      callMs: 0,
      /** The shortest latency seen; 0 before the first answer. */
      shortestMs: 0,
    },
    slots: {
      /** When the next call is due at the present rate. */
      nextMs: 0,
      /** The start that the last call was booked for. */
      lastMs: -10_000,
      /** Whether the pacer holds calls back, rather than callers coming late. */
      areAllTaken: false,
    },
    slowStart: {
      /** The most calls in flight. */
      mayFly: 0,
      /** Calls accepted while that many were in flight. */
      callsAtCap: 0,
    },
    throttle: {
      /** Answers to calls that were sent before this time say nothing new. */
      cutMs: -1,
      /** When the limit was hit. */
      hitAtMs: 0,
      /** The rate at that time. */
      ratePerMs: 0,
      /** Calls accepted in a row before it. */
      acceptedBefore: 0,
      /** The same, plus the calls that were sent before the last throttle and accepted after it. */
      acceptedInEpoch: 0,
      /** Calls accepted since the cut. */
      accepted: 0,
      /** Throttled calls of this throttle. */
      calls: 0,
      /** Throttles in a row that each came after only a few accepted calls. */
      shortInARow: 0,
      /** Tests in a row that failed. */
      failedTests: 0,
      /** How long the last throttle kept the limit closed. */
      closedMs: 0,
      /** How long calls paused because of it. */
      pauseMs: 0,
      /** When the latest accepted call was sent. Absent in the saved state of an older version. */
      acceptedSentMs: undefined as number | undefined,
      /** The time from that call to the first one accepted after a throttle; absent before that. */
      gapMs: undefined as number | undefined,
    },
    estimate: {
      /** The estimated limit; 0 while unknown. */
      limitPerMs: 0,
      /** How far below the limit the rate begins after a throttle, as a share of the limit. */
      margin: 0,
      /** How often in a row the estimate was confirmed: 0 to 4. */
      confidence: 0,
      /** The accepted rate between the last two throttles; 0 before these. */
      measuredPerMs: 0,
      /**
       * The calls that a window of the limit seems to hold; 0 when the limit does not seem to have
       * windows.
       */
      windowCalls: 0,
    },
    measured: {
      /** `epoch` is since the last throttle, `lastEpoch` between the two before. */
      epoch: { sinceMs: 0, accepted: 0 },
      lastEpoch: { sinceMs: 0, accepted: 0 },
      /** The same between long pauses, such as follow a window that was used up. */
      block: { sinceMs: 0, accepted: 0 },
      lastBlock: { sinceMs: 0, accepted: 0 },
      /** The count of accepted calls of this epoch at some points in time: [ms, calls]. */
      marks: [[0, 0]] as [atMs: number, accepted: number][],
    },
    plateau: {
      /** Calls accepted since the last throttle while the rate was tested. */
      accepted: 0,
    },
    concurrency: {
      /** The most calls in flight, or 0 for no cap. */
      cap: 0,
      /** Whether the API published the cap, which is then not tested. */
      isPublished: false,
      /** Throttles in a row that look like a limit on concurrency. */
      suspicion: 0,
      /** The smallest number of calls in flight at one of those throttles; 0 for none. */
      suspectedAt: 0,
      /**
       * How many calls were accepted at each number of calls in flight. Calls before the last throttles
       * have less weight.
       */
      acceptedAt: {} as Record<string, number>,
      acceptedInAll: 0,
      /** Calls accepted while the cap was reached. */
      callsAtCap: 0,
      /** Calls at the cap before a higher cap is tried. */
      nextTrialAfter: 0,
      /** Whether the cap is higher than the one that is known to be good. */
      isTrying: false,
      /** By how much the next trial raises the cap. */
      step: 1,
      /** Throttles at the cap: `strikes` shortly after one another, `stepsDown` in a row. */
      strikes: 0,
      stepsDown: 0,
      /** A trial of whether the limit is on calls in flight. */
      trial: {
        isOn: false,
        sinceMs: 0,
        /** Calls accepted in the trial. */
        accepted: 0,
        stepsDown: 0,
        /**
         * `throttles` counts throttles that were put down to the rate. At `nextAfter` of them the next
         * trial is due.
         */
        throttles: 0,
        nextAfter: 0,
        /** How long the limit was closed: the longest of late, which decays. */
        closedMs: 0,
        /** The rate that was accepted before the last throttle. */
        hitPerMs: 0,
      },
    },
    published: {
      /** The published rate; 0 when none is published. */
      quotaPerMs: 0,
      /** The window of that rate. Not every answer states it. */
      windowMs: 0,
      /** The published rate, less the calls that are left unused. */
      ratePerMs: 0,
      /** Calls of each window that are left unused. */
      callsLeft: 0,
      /** The fewest unused calls that seem to be enough. */
      leastLeft: 0,
      /** Calls accepted since `callsLeft` was changed. */
      acceptedInRow: 0,
      /** Whether keeping to it has avoided throttles. */
      isTrusted: false,
      /** Throttles although calls kept to it. */
      strikes: 0,
      acceptedSinceStrike: 0,
    },
    /** What good answers said about a limit that is used up, and what came of it. */
    usedUp: {
      /** When the latest of them came. */
      saidAtMs: 0,
      /** The reset that it named; 0 when no answer counts any more. */
      untilMs: 0,
      /** Whether a call is made before the reset. */
      isTried: false,
      /** When that call was booked for; 0 before. */
      trialMs: 0,
      /** Calls accepted although none was left. */
      accepted: 0,
      /** Whether a call was refused while none was left. */
      isTrue: false,
      /** Resets in a row that were waited for and left no call. */
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
