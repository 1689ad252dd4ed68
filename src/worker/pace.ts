import type { LimitHints } from '../common/calls.ts';

/**
 * How fast calls may start, and how many may be under way: learned from answers alone. Pure: state and
 * time come in, and nothing is read elsewhere. Times are milliseconds, rates calls per millisecond.
 *
 * ```text
 *   starting ──refused──▶ shut ──time──▶ testing ──good──▶ cruising ──refused──▶ slower
 *                          ▲                │                 │                    │
 *                          └────refused─────┘◀──stated wait───┴◀──refused again────┘
 * ```
 *
 * | part | rule |
 * |---|---|
 * | starting | more calls under way with each round trip, evenly, while latency holds |
 * | estimate | what was accepted from one reopening to the next, or from one refusal to the next |
 * | gap | a time in which all is refused ends a window if as much was accepted before it as before the last one; one that is stated may be a penalty, so twice that is tried first |
 * | rise | cubic: quickly back to the estimate, flat around it, then past it, more slowly the surer it is; while the rate is made use of |
 * | decrease | a refusal is a new estimate; its neighbours under way say it once more and are ignored |
 * | at once | refused with more under way than was ever accepted since the last refusal: a cap on those |
 * | stated | a wait shuts for all; a quota is kept to without a trial, until it proves wrong |
 */
export interface Pace {
  phase: 'starting' | 'cruising' | 'published' | 'fixed';
  ratePerMs: number;
  /** The estimate, or the quota that headers state; 0 while not known. */
  limitPerMs: number;
  /** How far below the estimate the rate begins, as a share. */
  margin: number;
  /** How often estimates agreed: an index into `RISE_CALLS`. */
  confidence: number;
  /** Calls that were accepted since the last refusal. */
  accepted: number;
  /** Between the last two refusals. */
  before: number;
  /** When what is estimated began, and what was accepted since. */
  epochMs: number;
  epochAccepted: number;
  /** What the last estimate was made of. */
  estimatedFrom: number;
  /** When the refused call was sent that a slower pace is checked after; 0 while none is. */
  checkMs: number;
  /** What was accepted of the calls sent after it. */
  nextAccepted: number;
  /** Calls that may be under way; 0 for no bound. */
  cap: number;
  /** The calls under way of accepted ones: mean and variance; and refusals in a row far above them. */
  flown: number;
  flownVariance: number;
  crowded: number;
  /** Accepted with the cap reached, and how many of those raise it. */
  atCap: number;
  capCalls: number;
  /** Whether the cap was just raised, to see whether that holds. */
  isTrial: boolean;
  /** While starting: calls that may be under way, and answers until that doubles. */
  window: number;
  windowLeft: number;
  windowMs: number;
  windowAccepted: number;
  latencyMs: number;
  /** While few were under way. */
  fewLatencyMs: number;
  /** The rate at which calls started, over the last moment. */
  flowPerMs: number;
  /** No call starts before this; then one at a time, while testing. */
  shutUntilMs: number;
  isStated: boolean;
  isTesting: boolean;
  /** When the test under way began; 0 while there is none. */
  testMs: number;
  /** Whether calls fail rather than being refused. */
  isAway: boolean;
  /** What was accepted before the last gap: an outage, or so long a wait that it may end a window. */
  gapAccepted: number;
  /** Whether the limit supposes that a stated wait ended a window, which the next gap shows. */
  isGuess: boolean;
  /** Pauses in a row. */
  pauses: number;
  /** When calls were last refused for the first time, and when that made the pace slower. */
  refusedMs: number;
  cutMs: number;
  /** The length of the last time in which all was refused. */
  deadMs: number;
  /** The last pause between two tests. */
  pauseMs: number;
  /** While starting: when the last round but one began, and what was accepted since. */
  roundMs: number;
  roundAccepted: number;
  nextMs: number;
  lastMs: number;
}

/** One call that has ended. */
export interface PacedCall {
  readonly sentAtMs: number;
  readonly latencyMs: number;
  /** Calls under way when it was sent, itself included. */
  readonly inFlight: number;
  readonly retryAfterMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
}

/** A time before all others: plain data, as JSON has no infinity. */
const LONG_AGO_MS = -1e15;
const FIRST_WINDOW = 4;
/** Near servers are not asked twice as much any sooner. */
const LEAST_ROUND_MS = 40;
/** The rate rises by so much in a round trip, and in this time, that what a refusal tells comes in time. */
const LEAST_RISE_MS = 400;
/** Latency holds up to twice that of so few calls under way, and this. */
const FEW_UNDER_WAY = 16;
const SLACK_MS = 100;
/** The rate rises to so much more than calls start at, over this time or ten calls. */
const MOST_AHEAD = 1.5;
const FLOW_MS = 500;
const FIRST_MARGIN = 0.15;
const LEAST_MARGIN = 0.008;
/** Accepted calls until the rate is back at the estimate, by confidence. */
const RISE_CALLS = [40, 150, 300, 500, 700] as const;
const SLOWEST_PER_MS = 1 / 3_600_000;
const FASTEST_PER_MS = 1_000;
/** An estimate of fewer calls than this is none. */
const FEW_CALLS = 15;
const FIRST_PAUSE_MS = 50;
const FIRST_AWAY_MS = 1_000;
/** Calls that fail for so long, however slowly, do not fail for the rate. */
const OUTAGE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const LONGEST_STATED_MS = 3_600_000;
/** A test that did not end within this time never will. */
const LOST_MS = 300_000;
/** A stated wait up to this may be a rounded second. */
const SHORT_MS = 3_000;
const CAP_CALLS = 100;
/** In standard deviations. */
const FAR = 1.3;
const MOST_CAP_CALLS = 16_000;

/** @param known the limit and the cap that were learned before; 0 for none */
export function createPace(
  nowMs: number,
  { limitPerMs, cap, isFixed }: { limitPerMs: number; cap: number; isFixed: boolean },
): Pace {
  return {
    phase: isFixed ? 'fixed' : limitPerMs > 0 ? 'cruising' : 'starting',
    ratePerMs: limitPerMs > 0 ? limitPerMs * 0.98 : FIRST_WINDOW / LEAST_ROUND_MS,
    limitPerMs,
    margin: 0.02,
    confidence: limitPerMs > 0 ? 1 : 0,
    accepted: 0,
    before: 0,
    epochMs: nowMs,
    epochAccepted: 0,
    estimatedFrom: 0,
    checkMs: 0,
    nextAccepted: 0,
    cap,
    flown: 0,
    flownVariance: 0,
    crowded: 0,
    atCap: 0,
    capCalls: CAP_CALLS,
    isTrial: false,
    window: FIRST_WINDOW,
    windowLeft: FIRST_WINDOW,
    windowMs: nowMs,
    windowAccepted: 0,
    latencyMs: 0,
    fewLatencyMs: 0,
    flowPerMs: 0,
    shutUntilMs: 0,
    isStated: false,
    isTesting: false,
    testMs: 0,
    isAway: false,
    gapAccepted: 0,
    isGuess: false,
    pauses: 0,
    refusedMs: 0,
    cutMs: LONG_AGO_MS,
    deadMs: 0,
    pauseMs: 0,
    roundMs: nowMs,
    roundAccepted: 0,
    nextMs: nowMs,
    lastMs: LONG_AGO_MS,
  };
}

/** When the next call may start; Infinity: once one of those under way has ended. */
export function nextStartMs(pace: Pace, nowMs: number, inFlight: number): number {
  if (pace.isTesting) {
    const isOut = pace.testMs > 0 && nowMs - pace.testMs < LOST_MS;
    return isOut ? Number.POSITIVE_INFINITY : Math.max(nowMs, pace.shutUntilMs);
  }
  if (inFlight > 0 && inFlight >= mostUnderWay(pace)) return Number.POSITIVE_INFINITY;
  if (pace.phase === 'fixed') return Math.max(nowMs, pace.shutUntilMs);
  return Math.max(nowMs, pace.shutUntilMs, slotMs(pace, nowMs));
}

/** How many calls may be under way; Infinity without a bound. */
function mostUnderWay({ phase, cap, window }: Pace): number {
  const most = cap > 0 ? cap : Number.POSITIVE_INFINITY;
  return phase === 'starting' ? Math.min(most, window) : most;
}

const TIMER_MS = 5;
const CATCH_UP_MS = 20;
const CATCH_UP_FACTOR = 1.5;

/** The next slot at the present rate. What a timer was late is made up for, a little at a time. */
function slotMs({ nextMs, lastMs, ratePerMs }: Pace, nowMs: number): number {
  const gapMs = 1 / ratePerMs;
  if (gapMs < TIMER_MS) return Math.max(nextMs, nowMs - CATCH_UP_MS) - TIMER_MS;
  const dueMs = Math.max(Math.min(nextMs, lastMs + gapMs + CATCH_UP_MS), nowMs - CATCH_UP_MS);
  return Math.max(dueMs, lastMs + gapMs / CATCH_UP_FACTOR);
}

/** A call starts at `atMs`. */
export function start(pace: Pace, atMs: number): void {
  if (pace.isTesting) pace.testMs = atMs;
  if (pace.phase !== 'fixed') {
    const gapMs = 1 / pace.ratePerMs;
    pace.nextMs = Math.max(pace.nextMs, atMs - Math.min(gapMs, CATCH_UP_MS)) + gapMs;
  }
  const spanMs = pace.ratePerMs > 0 ? Math.max(FLOW_MS, 10 / pace.ratePerMs) : FLOW_MS;
  const sinceMs = Math.max(0, atMs - Math.max(pace.lastMs, pace.shutUntilMs));
  pace.flowPerMs = pace.flowPerMs * Math.exp(-sinceMs / spanMs) + 1 / spanMs;
  pace.lastMs = Math.max(pace.lastMs, atMs);
}

export function accepted(pace: Pace, call: PacedCall, nowMs: number): void {
  noteLatency(pace, call);
  if (pace.checkMs > 0 && call.sentAtMs > pace.checkMs) pace.nextAccepted += 1;
  else pace.epochAccepted += 1;
  pace.roundAccepted += 1;
  const { limits } = call;
  if (limits) obey(pace, limits, nowMs);
  if (call.sentAtMs <= pace.cutMs) return;
  if (pace.pauses > 0) reopen(pace, call, nowMs);
  else if (pace.checkMs > 0) estimate(pace, pace.checkMs, 0);
  pace.accepted += 1;
  const off = call.inFlight - pace.flown;
  pace.flown += off * 0.05;
  pace.flownVariance += (off * off - pace.flownVariance) * 0.05;
  if (pace.phase === 'starting') widen(pace, call, nowMs);
  else if (pace.phase === 'cruising') rise(pace);
  if (pace.cap > 0 && call.inFlight >= pace.cap) {
    pace.atCap += 1;
    if (pace.atCap > CAP_CALLS / 2) pace.isTrial = false;
    if (pace.atCap < pace.capCalls) return;
    pace.cap += 1;
    pace.atCap = 0;
    pace.isTrial = true;
  }
}

/** A call ended that says nothing of the pace. */
export function ended(pace: Pace, sentAtMs: number): void {
  if (pace.testMs > 0 && sentAtMs >= pace.testMs) pace.testMs = 0;
}

function noteLatency(pace: Pace, { latencyMs }: PacedCall): void {
  const weight = pace.latencyMs === 0 ? 1 : 0.1;
  pace.latencyMs += (latencyMs - pace.latencyMs) * weight;
}

/** starting: more under way after each round trip. Those that are refused at its end were few, then. */
function widen(pace: Pace, { sentAtMs }: PacedCall, nowMs: number): void {
  if (sentAtMs < pace.windowMs) return;
  pace.windowLeft -= 1;
  pace.windowAccepted += 1;
  if (pace.windowLeft > 0 || nowMs - pace.windowMs < LEAST_ROUND_MS) return;
  // More under way only wait for each other, there or here.
  if (pace.window <= FEW_UNDER_WAY) pace.fewLatencyMs = pace.latencyMs;
  const isHolding = pace.latencyMs < 2 * pace.fewLatencyMs + SLACK_MS;
  if (isHolding) pace.window = Math.min(pace.window + Math.max(8, pace.window / 3), 1_024);
  pace.roundMs = pace.windowMs;
  pace.roundAccepted = pace.windowAccepted;
  beginRound(pace, nowMs);
}

/** So many calls in a round trip, evenly. */
function beginRound(pace: Pace, nowMs: number): void {
  pace.ratePerMs = pace.window / Math.max(LEAST_ROUND_MS, pace.latencyMs);
  pace.windowLeft = pace.window / 4;
  pace.windowAccepted = 0;
  pace.windowMs = nowMs;
}

function rise(pace: Pace): void {
  const { limitPerMs, margin } = pace;
  const share = pace.accepted / riseCalls(pace);
  const target = limitPerMs * (1 + margin * (share - 1) ** 3);
  const speed = pace.confidence > 0 ? 0.05 : 0.25;
  const soonMs = Math.max(pace.latencyMs, LEAST_RISE_MS);
  const most = pace.ratePerMs * (1 + speed / Math.max(1, pace.ratePerMs * soonMs));
  // A rate that nobody makes use of proves nothing.
  const used = pace.flowPerMs * MOST_AHEAD;
  pace.ratePerMs = Math.min(FASTEST_PER_MS, Math.max(pace.ratePerMs, Math.min(target, most, used)));
}

function riseCalls(pace: Pace): number {
  const { confidence, ratePerMs, latencyMs, deadMs, isStated, isGuess, gapAccepted } = pace;
  const isSure = confidence > 0;
  // A test that fails costs a window; the first estimate is too uncertain to be spared it.
  const isDear = isStated && (confidence > 1 || (!isSure && deadMs > SHORT_MS && !isGuess));
  const least = isGuess ? gapAccepted : Math.min(40, ratePerMs * 10_000);
  return Math.max(
    isSure ? (RISE_CALLS[confidence] ?? 0) : Math.max(10, least),
    (isSure ? 20 : 2) * ratePerMs * latencyMs,
    isDear ? (isSure ? 20 : 5) * deadMs * ratePerMs : 0,
  );
}

/** `failing`: calls fail, which may be how a limit is told; `away`: no rate is to blame. */
export type Refusal = 'refused' | 'failing' | 'away';

export function refused(
  pace: Pace,
  call: PacedCall,
  nowMs: number,
  how: Refusal = 'refused',
): void {
  const { limits, retryAfterMs = 0, inFlight } = call;
  const statedMs = Math.min(
    Math.max(retryAfterMs, limits?.remaining === 0 ? (limits.resetMs ?? 0) : 0),
    LONGEST_STATED_MS,
  );
  if (call.sentAtMs <= pace.cutMs || (pace.isTesting && call.sentAtMs < pace.testMs)) {
    if (statedMs > 0 && pace.isStated)
      pace.shutUntilMs = Math.max(pace.shutUntilMs, nowMs + statedMs);
    return;
  }
  const { accepted: before } = pace;
  const isAgain = pace.pauses > 0 || pace.checkMs > 0;
  if (!isAgain) pace.refusedMs = nowMs;
  pace.cutMs = nowMs;
  pace.accepted = 0;
  if (!isAgain) pace.before = before;
  const isLasting = how === 'failing' && isAgain && nowMs - pace.refusedMs > OUTAGE_MS;
  const isAway = how === 'away' || isLasting;
  const isLearning = pace.phase === 'cruising' || pace.phase === 'published';
  if (!isAgain && !isAway && isLearning && isOfCap(pace, inFlight)) {
    pace.cap = Math.max(1, inFlight - 1);
    pace.atCap = 0;
    pace.isStated = statedMs > 0;
    pace.shutUntilMs = nowMs + statedMs;
    return;
  }
  pace.isAway = isAway;
  if (statedMs > 0) return shut(pace, nowMs, statedMs, true);
  if (isLearning && before >= 3 && !isAgain && !isAway) {
    pace.checkMs = call.sentAtMs;
    pace.ratePerMs *= 1 - Math.max(pace.margin, 0.02);
    pace.shutUntilMs = nowMs + Math.min(pace.latencyMs, 2 / pace.ratePerMs);
    pace.nextMs = pace.shutUntilMs;
    pace.isStated = false;
    return;
  }
  const firstMs = isAway
    ? FIRST_AWAY_MS
    : pace.phase === 'fixed'
      ? 10 * FIRST_PAUSE_MS
      : FIRST_PAUSE_MS;
  const pauseMs = Math.max(firstMs, (nowMs - pace.refusedMs) / 3, isAway ? 0 : pace.deadMs / 4);
  shut(pace, nowMs, Math.min(LONGEST_PAUSE_MS, pauseMs), false);
}

/** Whether a refusal is about the calls under way: one more was tried, or it had far more, repeatedly. */
function isOfCap(pace: Pace, inFlight: number): boolean {
  const isTrial = pace.isTrial && inFlight >= pace.cap;
  if (isTrial) pace.capCalls = Math.min(pace.capCalls * 2, MOST_CAP_CALLS);
  pace.isTrial = false;
  const far = (inFlight - pace.flown) / Math.sqrt(Math.max(1, pace.flownVariance));
  pace.crowded = far > FAR && pace.before >= FEW_CALLS ? pace.crowded + 1 : 0;
  return isTrial || pace.crowded >= 2;
}

function shut(pace: Pace, nowMs: number, pauseMs: number, isStated: boolean): void {
  pace.shutUntilMs = nowMs + pauseMs;
  pace.pauseMs = pauseMs;
  pace.isStated = isStated;
  pace.isTesting = true;
  pace.testMs = 0;
  pace.pauses += 1;
}

/** shut, testing → cruising: the first call was accepted again. */
function reopen(pace: Pace, call: PacedCall, nowMs: number): void {
  const endMs = pace.isStated ? pace.shutUntilMs : call.sentAtMs - pace.pauseMs / 2;
  pace.deadMs = endMs - pace.refusedMs;
  pace.isTesting = false;
  pace.pauses = 0;
  pace.epochAccepted += pace.nextAccepted - 1;
  pace.nextAccepted = 1;
  estimate(pace, endMs, pace.deadMs);
  const gapMs = pace.ratePerMs > 0 ? 1 / pace.ratePerMs : 0;
  pace.nextMs = Math.max(nowMs, call.sentAtMs + gapMs);
}

/** A new estimate of the limit, at the end of an epoch in which a limit was reached. */
function estimate(pace: Pace, endMs: number, deadMs: number): void {
  const lastedMs = Math.max(1, endMs - pace.epochMs);
  const isGap = deadMs > (pace.isStated ? SHORT_MS : 0.2 * lastedMs + 3 * pace.latencyMs);
  // As many were accepted before the last one: it is what is allowed in a minute, say.
  const isAlike = Math.abs(pace.epochAccepted / pace.gapAccepted - 1) < 0.1;
  const isOutage = pace.isAway && !isAlike;
  // A stated wait that no such count precedes may be a penalty. At twice the rate, the next one shows.
  const wasGuess = pace.isGuess;
  pace.isGuess = isGap && pace.isStated && !isAlike && pace.gapAccepted === 0;
  const isWindow = isGap && (!pace.isStated || isAlike || pace.isGuess);
  const toMs = isWindow ? endMs : endMs - deadMs;
  const counted = pace.epochAccepted / Math.max(1, toMs - pace.epochMs);
  const measured = pace.isGuess ? Math.min(2 * counted, pace.ratePerMs) : counted;
  const isSure = isWindow && deadMs > 1_500 && !pace.isGuess;
  if (isGap || pace.isAway) pace.gapAccepted = pace.epochAccepted;
  pace.isAway = false;
  if (pace.phase === 'fixed') {
    pace.deadMs = 0;
  } else if (isOutage) {
    // It was not refused for the rate, as far as is known: back to speed, but not at once.
    if (pace.phase === 'starting') {
      pace.window = Math.max(FIRST_WINDOW, pace.window / 2);
      beginRound(pace, endMs);
    } else learn(pace, Math.max(pace.ratePerMs / 2, 1 / 1_000), FIRST_MARGIN, 0);
  } else if (pace.phase === 'published') {
    pace.ratePerMs *= 0.98;
    if (pace.ratePerMs < pace.limitPerMs * 0.85) pace.phase = 'cruising';
  } else if (pace.phase === 'starting' && pace.epochAccepted === 0) {
    // It was shut before anything was accepted: that says nothing of a rate.
    pace.window = FIRST_WINDOW;
    beginRound(pace, endMs);
  } else if (pace.phase === 'starting') {
    pace.phase = 'cruising';
    const recent = pace.roundAccepted / Math.max(1, toMs - pace.roundMs);
    // Before anything was accepted, only the time without an answer says something.
    const least = 1 / Math.max(100, deadMs);
    learn(
      pace,
      Math.max(least, isWindow ? measured : recent / 2),
      isSure ? 0.04 : FIRST_MARGIN,
      isSure ? 1 : 0,
    );
  } else if (pace.epochAccepted < FEW_CALLS) {
    // So few change little of what many have shown.
    const trust = pace.estimatedFrom / (pace.estimatedFrom + FEW_CALLS);
    learn(pace, pace.ratePerMs * Math.max(0.75, trust, pace.before / (pace.before + 1)), 0.02, 0);
  } else {
    const isQuick = toMs - pace.epochMs < SHORT_MS + pace.latencyMs;
    const { confidence } = pace;
    // The less is known, the more of the epoch was spent on the way up.
    const ahead = wasGuess ? 2 : confidence > 0 ? 1.1 : 1.3;
    const most = pace.ratePerMs * (isQuick ? 0.95 : 1);
    const middle = (measured + Math.min(most, measured * ahead)) / 2;
    const next = isWindow ? measured : Math.min(most, middle);
    const off = Math.abs(next - pace.limitPerMs) / pace.limitPerMs;
    const isCounted = isWindow && isAlike;
    const alike = Math.max(1, Math.min(confidence, 2));
    const surer = off < 0.02 ? confidence + 1 : off < 0.06 || isCounted ? alike : 0;
    const doubt = Math.min(FIRST_MARGIN, Math.max(LEAST_MARGIN, off / 4));
    learn(pace, next, isCounted ? 0.02 : doubt, surer);
  }
  pace.estimatedFrom = pace.epochAccepted;
  pace.epochMs = endMs;
  pace.epochAccepted = pace.nextAccepted;
  pace.nextAccepted = 0;
  pace.checkMs = 0;
}

function learn(pace: Pace, limitPerMs: number, margin: number, confidence: number): void {
  pace.limitPerMs = Math.max(SLOWEST_PER_MS, limitPerMs);
  pace.margin = margin;
  pace.confidence = Math.min(confidence, RISE_CALLS.length - 1);
  pace.ratePerMs = Math.max(SLOWEST_PER_MS, pace.limitPerMs * (1 - margin));
}

/** Keeps to a quota that headers state, unless it proves wrong. */
function obey(pace: Pace, { quota }: LimitHints, nowMs: number): void {
  if (!quota || pace.phase !== 'starting') return;
  pace.phase = 'published';
  pace.limitPerMs = quota.count / quota.perMs;
  pace.ratePerMs = pace.limitPerMs * 0.995;
  pace.nextMs = nowMs;
}
