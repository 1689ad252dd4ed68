import type { FixedRate } from './fixed-rate.ts';

/**
 * Where the pacer stands.
 *
 * ```text
 * starting ──429──▶ testing ──accepted──▶ cruising ──429──▶ cruising, a little slower
 *     │                ▲                    │    │
 *     │                └──429 again at once─┘    └─429, long wait told─▶ told ──accepted──▶ cruising
 *     └──the API publishes a quota──▶ published ──429s despite it──▶ cruising, never above it
 * ```
 */
export type Phase =
  /** No limit is known yet: faster with every round trip. */
  | 'starting'
  /** Around the estimated limit: back to it quickly, past it ever more slowly. */
  | 'cruising'
  /** Told to wait for seconds. The first call that is accepted afterwards says how long the limit was closed. */
  | 'told'
  /** Throttled, and told to wait for a second at most: one call at a time, until one is accepted. */
  | 'testing'
  /** The API says its limit itself. Nothing is tried out. */
  | 'published';

/** Calls that were accepted since a moment. */
export interface Span {
  sinceMs: number;
  accepted: number;
}

/**
 * Everything the pacer knows, as plain data that survives JSON. All times are milliseconds of one
 * clock, all rates are calls per millisecond.
 */
export interface PaceState {
  /** Set for a rate that the user gave; then nothing is learned. */
  readonly fixed: FixedRate | null;
  phase: Phase;
  /** Whether what was learned goes for an API that limits calls with 503 rather than 429. */
  isBy503: boolean;
  /** The latest time seen. */
  latestMs: number;
  /** How fast calls may start now. */
  ratePerMs: number;
  /** No call starts before this. */
  gateUntilMs: number;
  /** Whether the server named that time, or it is our own backoff. */
  gateIsTold: boolean;
  latency: {
    /** From sending a call to knowing of its answer: moving average. */
    averageMs: number;
    /** The same to the answer itself: workers that share a state tell of it later. */
    callMs: number;
    /** The shortest one seen; 0 before the first answer. */
    shortestMs: number;
  };
  slots: {
    /** When the next call is due at the present rate. */
    nextMs: number;
    /** When the last call was booked for. */
    lastMs: number;
    /** Whether it is the pacer that holds calls back, not the callers who come late. */
    areAllTaken: boolean;
  };
  slowStart: {
    /** Most calls in flight. */
    mayFly: number;
    /** Calls accepted while that many were in flight. */
    callsAtCap: number;
  };
  throttle: ThrottleState;
  estimate: {
    /** The limit as it is thought to be; 0 while unknown. */
    limitPerMs: number;
    /** How far below the limit to begin after a throttle, as a share of it. */
    margin: number;
    /** How often in a row the estimate came out the same: 0 to 4. */
    confidence: number;
    /** The accepted rate between the last two throttles; 0 before. */
    measuredPerMs: number;
    /** Calls that a window of the limit seems to hold; 0 when it does not look like windows. */
    windowCalls: number;
  };
  measured: {
    /** Since the last throttle, and between the two before. */
    epoch: Span;
    lastEpoch: Span;
    /** The same between long pauses, as windows that are used up make them. */
    block: Span;
    lastBlock: Span;
    /** Accepted calls of this epoch at some times since: [ms, calls]. */
    marks: [number, number][];
  };
  plateau: {
    /** Calls accepted since the last throttle that tested the rate. */
    accepted: number;
  };
  concurrency: ConcurrencyState;
  published: {
    /** The rate as it is published; 0 when none is. */
    quotaPerMs: number;
    /** The window that it is for, which answers need not all tell. */
    windowMs: number;
    /** The same, less the calls that are left. */
    ratePerMs: number;
    /** Calls of each window that are left. */
    callsLeft: number;
    /** The fewest of those that seem enough. */
    leastLeft: number;
    /** Calls accepted since `callsLeft` was changed. */
    acceptedInRow: number;
    /** Whether it has kept throttles away. */
    isTrusted: boolean;
    /** Throttles despite it. */
    strikes: number;
    acceptedSinceStrike: number;
  };
}

export interface ThrottleState {
  /** Answers to calls that were sent before this say nothing new. */
  cutMs: number;
  /** When the limit was hit. */
  hitAtMs: number;
  /** The rate at that time. */
  ratePerMs: number;
  /** Calls accepted in a row before it. */
  acceptedBefore: number;
  /** The same, with those that were sent before the last throttle and answered after it. */
  acceptedInEpoch: number;
  /** Calls accepted since the cut. */
  accepted: number;
  /** When the latest call was sent that was accepted. Absent in what an older version kept. */
  acceptedSentMs?: number;
  /** How long it took from that one to the first that was accepted after a throttle; absent before that. */
  gapMs?: number | undefined;
  /** Throttled calls of this one event. */
  calls: number;
  /** Throttles in a row that came after only a few calls. */
  shortInARow: number;
  /** Tests in a row that failed. */
  failedTests: number;
  /** How long the last event kept the limit closed. */
  closedMs: number;
  /** How long calls paused for it. */
  pauseMs: number;
}

export interface ConcurrencyState {
  /** Most calls in flight, or 0 for no cap. */
  cap: number;
  /** Whether the API published it; then it is not tried out. */
  isPublished: boolean;
  /** Throttles in a row that look like a limit on concurrency. */
  suspicion: number;
  /** The smallest number of calls in flight at which one of those came; 0 for none. */
  suspectedAt: number;
  /** How many calls were accepted at each number of calls in flight; those before the last throttles count for less. */
  acceptedAt: Record<string, number>;
  acceptedInAll: number;
  /** Calls accepted at the cap. */
  callsAtCap: number;
  /** Calls at the cap before one more is tried. */
  nextTrialAfter: number;
  /** Whether the cap is higher than what is known to be good. */
  isTrying: boolean;
  /** By how much the next trial raises the cap. */
  step: number;
  /** Throttles at the cap: soon after one another, and in a row. */
  strikes: number;
  stepsDown: number;
  trial: CapTrialState;
}

/** Whether the limit is on calls in flight is tried out. */
export interface CapTrialState {
  isOn: boolean;
  sinceMs: number;
  /** Calls accepted at the cap that is tried. */
  accepted: number;
  stepsDown: number;
  /** Throttles put down to the rate so far, and at how many the next trial is due. */
  throttles: number;
  nextAfter: number;
  /** For how long the limit was closed, lately at the longest. */
  closedMs: number;
  /** The rate that was accepted before the last one. */
  hitPerMs: number;
}
