import type { LimitHints } from '../calls/rate.ts';
import {
  CLIMB_CALLS,
  climb,
  climbOn,
  FASTEST_PER_MS,
  SLOWEST_CLIMB_PER_MS,
  SLOWEST_PER_MS,
} from './climb.ts';

/**
 * How fast calls may start, and how many may be under way: learned from answers alone. Pure: state
 * and time come in, and nothing is read elsewhere. Times are milliseconds, rates calls per
 * millisecond.
 *
 * ```text
 *   flowing ──refused──▶ slower ──good──▶ flowing
 *      │                    │ refused again
 *      │ a wait is stated,  ▼
 *      └─ or little known ─▶ testing ──good──▶ flowing
 *                           ▲    │ refused: a longer pause
 *                           └────┘
 * ```
 *
 * | phase | the rate is |
 * |---|---|
 * | starting | looked for: more calls under way with each round trip, evenly, while latency holds |
 * | cruising | around the limit, which is known within a range |
 * | published | what headers state, without a trial, until it proves wrong |
 * | given | the user's (`rate.ts` keeps it), without a trial, until it proves wrong |
 *
 * Where calls fail for another reason than the rate, or are suspected to, the rate is taken down
 * and climbs back by doubling (`slow`, `climb`), unless a refusal shows a limit on the way.
 *
 * A refusal tells a range for the limit: from what was accepted since the last one, over the time
 * that took, to the rate that was refused. What agrees with the range that was known makes it
 * narrower, and the next trial later; what does not takes its place. A time in which all was
 * refused is part of a window, or of what a bucket saves, if as much was accepted before it as
 * before the last one; one that is stated, or long, may be a penalty. A refusal while calls that
 * were sent later are served is by chance, and undone.
 */
export type Pace = ReturnType<typeof createPace>;

/** One call that has ended. */
export interface PacedCall {
  readonly sentAtMs: number;
  readonly latencyMs: number;
  /** Calls under way when it was sent, itself included. */
  readonly inFlight: number;
  readonly retryAfterMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
  /** Why it failed or was refused. */
  readonly reason?: string | undefined;
}

const LONG_AGO_MS = -1e15; // plain data, as JSON has no infinity
const FIRST_WINDOW = 4;
/** Near servers are not asked twice as much any sooner. */
const LEAST_ROUND_MS = 40;
/** Latency holds up to twice that of so few calls under way, and this. */
const FEW_UNDER_WAY = 16;
const SLACK_MS = 100;
/**
 * The rate rises by a share in a round trip, and in this time, that what a refusal tells comes in
 * time.
 */
const LEAST_RISE_MS = 400;
/** It rises to so much more than calls start at. */
const MOST_AHEAD = 1.5;
const MOST_MARGIN = 0.15;
const LEAST_MARGIN = 0.01;
/** An estimate of fewer calls than this is none. */
const FEW_CALLS = 15;
/** Accepted calls until more than the range is tried, by how sure it is. */
const UNSURE_CALLS = 40;
const SURE_CALLS = 80;
const MOST_CALLS = 160;
const MOST_WINDOW_CALLS = 320;
const FIRST_PAUSE_MS = 50;
const FIRST_AWAY_MS = 1_000;
/** After calls that failed, the rate begins at this share of what it was. */
const CLIMB_FROM = 1 / 8;
const AT_ONCE_PER_MS = 20 / 1_000;
/** So long without a refusal, and something faster is tried, however sure the limit is. */
const HEALTHY_MS = 60_000;
/** After a start it is tried sooner, however sure what was remembered is. */
const AT_START_MS = 10_000;
const MOST_PATIENCE_MS = 240_000;
const LONGEST_PAUSE_MS = 60_000;
/**
 * The first test comes after such a part of the time for which all was refused before. Of a window
 * that was used evenly, far less is left than of one that was used up in a moment.
 */
const DEAD_PARTS = 16;
const LONGEST_STATED_MS = 3_600_000;
/** A shorter stated wait may be a rounded second. */
const SHORT_MS = 3_000;
const ROUNDED_MS = 1_000;
/** All that is refused for so long after a moment's calls is a penalty rather than a window. */
const PENALTY_MS = 30_000;
const PENALTY_MOMENTS = 10;
/** Calls that fail for so long, however slowly, do not fail for the rate. */
const OUTAGE_MS = 5_000;
/** Calls at the cap until it is raised, and while that may prove wrong. */
const CAP_CALLS = 300;
const TRIAL_CALLS = 50;
/** In standard deviations. */
const FAR = 1.3;
/** So many calls that are served beside each that is refused show that it is by chance. */
const SERVED = 8;
/** What a given rate is here, so that it is `rate.ts` that keeps it. */
const KEPT_ELSEWHERE = 1.05;

type Phase = 'starting' | 'cruising' | 'published' | 'given';

/** What is known before the first call. */
interface Known {
  /** 0 for none. */
  readonly limitPerMs: number;
  /** Whether headers stated that. @default false */
  readonly isPublished?: boolean | undefined;
  /** 0 for none. */
  readonly cap: number;
  /** @default none */
  readonly windowCalls?: number | undefined;
  /** Whether it was found by so few refusals that it may be none. @default false */
  readonly isUnsure?: boolean | undefined;
}

function phaseOf({ isPublished, limitPerMs }: Known): Phase {
  if (limitPerMs === 0) return 'starting';
  return isPublished ? 'published' : 'cruising';
}

export function createPace(nowMs: number, known: Known) {
  const { limitPerMs, cap, windowCalls = 0 } = known;
  const isKnown = limitPerMs > 0;
  const isUnsure = isKnown && known.isUnsure === true;
  return {
    phase: phaseOf(known),
    state: 'flowing' as 'flowing' | 'slower' | 'testing',
    ratePerMs: isKnown
      ? Math.max(limitPerMs * 0.98, isUnsure ? SLOWEST_CLIMB_PER_MS : 0)
      : FIRST_WINDOW / LEAST_ROUND_MS,
    /** The middle of the range of the limit, or the quota that headers state; 0 while not known. */
    limitPerMs,
    /** Half of the range, as a share. */
    margin: 0.02,
    /** Accepted calls until more is tried. */
    riseCalls: isKnown ? SURE_CALLS : UNSURE_CALLS,
    /** Calls that were accepted since the last refusal. */
    accepted: 0,
    /**
     * When what is estimated began, what was accepted since, and what was before; few do not make
     * that forgotten.
     */
    epochMs: nowMs,
    epochAccepted: 0,
    lastAccepted: 0,
    /** Calls that may be under way; 0 for no bound. */
    cap,
    /** Accepted with the cap reached, since that was raised. */
    atCap: 0,
    /**
     * The calls under way of accepted ones: mean and variance; and refusals in a row far above
     * them.
     */
    flown: 0,
    flownVariance: 0,
    crowded: 0,
    /** While starting: calls that may be under way, and answers until those are more. */
    window: FIRST_WINDOW,
    windowLeft: FIRST_WINDOW,
    windowMs: nowMs,
    latencyMs: 0,
    /** While few were under way. */
    fewLatencyMs: 0,
    /** The rate at which calls started, over the last moment. */
    flowPerMs: 0,
    /** No call starts before this; then one at a time, while testing. */
    shutUntilMs: 0,
    isStated: false,
    /** When the test under way began; 0 while there is none. */
    testMs: 0,
    /** Whether calls fail rather than being refused, and whether the last test began for that. */
    isAway: false,
    isFailing: false,
    /**
     * The rate to climb back to; 0 while the rate is not taken down. Accepted calls until it
     * doubles; 0: it is held.
     */
    climbToPerMs: isUnsure ? FASTEST_PER_MS : 0,
    climbLeft: isUnsure ? CLIMB_CALLS : 0,
    climbMs: nowMs,
    /** Whether it climbs because the limit may be none, and how often calls were refused so far. */
    isDoubted: false,
    refusals: 0,
    /**
     * Since when nothing was refused at the present rate, and for how long that is to last until
     * more is tried.
     */
    healthyMs: nowMs,
    patienceMs: isKnown ? AT_START_MS * (windowCalls > 0 ? 3 : 1) : HEALTHY_MS,
    /** When calls were last refused for the first time, and when that made the pace slower. */
    refusedMs: 0,
    cutMs: LONG_AGO_MS,
    /** How long all was refused; 0 where that cost nothing. */
    deadMs: 0,
    /** Calls that a window holds; 0 where the limit is counted in none. */
    windowCalls,
    /** The last refusal, while it may turn out to be one by chance. */
    undo: undefined as Undo | undefined,
    nextMs: nowMs,
    lastMs: LONG_AGO_MS,
  };
}

/** A refusal: what it changed, and what became of calls that were sent after the refused one. */
interface Undo {
  readonly before: object;
  readonly ratePerMs: number;
  readonly sentMs: number;
  served: number;
  refused: number;
}

function createUndo(pace: Pace, sentMs: number): Undo {
  const { phase, ratePerMs, limitPerMs, margin, riseCalls } = pace;
  const { windowCalls, deadMs, climbToPerMs, isDoubted } = pace;
  const learned = { phase, ratePerMs, limitPerMs, margin, riseCalls, windowCalls };
  const before = { ...learned, deadMs, climbToPerMs, isDoubted };
  return { before, ratePerMs, sentMs, served: 0, refused: 0 };
}

/**
 * Whether the limit was found by so few refusals that it may be none: those of a window show one.
 */
export function isLimitUnsure({ phase, riseCalls, windowCalls }: Pace): boolean {
  return phase === 'cruising' && riseCalls <= UNSURE_CALLS && windowCalls < FEW_CALLS;
}

export function accepted(pace: Pace, call: PacedCall, nowMs: number): void {
  const { sentAtMs, latencyMs, inFlight, limits } = call;
  if (latencyMs > 0) {
    pace.latencyMs += (latencyMs - pace.latencyMs) * (pace.latencyMs === 0 ? 1 : 0.1);
  }
  pace.epochAccepted += 1;
  if (limits?.quota) publish(pace, limits.quota, nowMs);
  const { undo, cutMs } = pace;
  if (undo && sentAtMs > undo.sentMs && sentAtMs <= cutMs) servedBeside(pace, undo, nowMs);
  if (isOld(pace, sentAtMs)) return;
  if (pace.state !== 'flowing') reopen(pace, sentAtMs, nowMs);
  pace.accepted += 1;
  const off = inFlight - pace.flown;
  pace.flown += off * 0.05;
  pace.flownVariance += (off * off - pace.flownVariance) * 0.05;
  if (pace.climbToPerMs > 0) climbOn(pace, sentAtMs, nowMs);
  else if (pace.phase === 'starting') widen(pace, sentAtMs, nowMs);
  else if (pace.phase === 'cruising') rise(pace, nowMs);
  if (pace.cap === 0 || inFlight < pace.cap) return;
  pace.atCap += 1;
  if (pace.atCap < CAP_CALLS) return;
  pace.cap += 1;
  pace.atCap = 0;
}

/**
 * A call was served that was sent after one that was refused, before that was known. A limit that
 * refuses one call refuses most that come next: where nearly all are served, it was by chance.
 */
function servedBeside(pace: Pace, undo: Undo, nowMs: number): void {
  undo.served += 1;
  if (undo.served < SERVED * (undo.refused + 1)) {
    if (pace.state === 'flowing') learnServed(pace, undo);
    return;
  }
  Object.assign(pace, undo.before);
  pace.undo = undefined;
  pace.state = 'flowing';
  pace.isStated = false;
  pace.isAway = false;
  pace.testMs = 0;
  pace.cutMs = undo.sentMs;
  pace.shutUntilMs = Math.min(pace.shutUntilMs, nowMs);
  pace.nextMs = Math.min(pace.nextMs, nowMs);
}

/** So much was served while some was refused: the limit is no less. */
function learnServed(pace: Pace, { ratePerMs, served, refused }: Undo): void {
  const all = served + refused;
  const leastPerMs = (ratePerMs * served) / (all + 1);
  if (pace.phase !== 'cruising' || all < SERVED || leastPerMs < pace.limitPerMs) return;
  learn(pace, leastPerMs, MOST_MARGIN, UNSURE_CALLS);
}

/** Sent before the last refusal, or by somebody who did not know of it: it says nothing new. */
function isOld({ state, cutMs, testMs }: Pace, sentAtMs: number): boolean {
  return sentAtMs <= cutMs || (state === 'testing' && (testMs === 0 || sentAtMs < testMs - 20));
}

/** A call ended that says nothing of the pace. */
export function ended(pace: Pace, sentAtMs: number): void {
  if (sentAtMs >= pace.testMs) pace.testMs = 0;
}

/**
 * Keeps to a quota that headers state, unless it proves wrong, and to another one that they state
 * later.
 */
function publish(pace: Pace, quota: { count: number; perMs: number }, nowMs: number): void {
  const limitPerMs = quota.count / quota.perMs;
  const isNews = pace.phase === 'published' && Math.abs(limitPerMs / pace.limitPerMs - 1) > 0.001;
  if (pace.phase !== 'starting' && pace.phase !== 'given' && !isNews) return;
  pace.phase = 'published';
  pace.limitPerMs = limitPerMs;
  pace.ratePerMs = pace.limitPerMs * 0.995;
  pace.nextMs = nowMs;
}

/**
 * The user gives a rate, in calls per millisecond: it is trusted more than a lower limit that was
 * found. A higher one is not forgotten for it.
 */
export function give(pace: Pace, givenPerMs: number): void {
  if (pace.phase !== 'given' && pace.limitPerMs > givenPerMs) return;
  pace.phase = 'given';
  pace.limitPerMs = givenPerMs * KEPT_ELSEWHERE;
  pace.ratePerMs = pace.limitPerMs;
  pace.windowCalls = 0;
  pace.climbToPerMs = 0;
}

/**
 * starting: more under way after each round trip. Those that are refused at its end were few, then.
 */
function widen(pace: Pace, sentAtMs: number, nowMs: number): void {
  const { window, windowMs, latencyMs } = pace;
  if (sentAtMs < windowMs) return;
  pace.windowLeft -= 1;
  if (pace.windowLeft > 0 || nowMs - windowMs < LEAST_ROUND_MS) return;
  if (window <= FEW_UNDER_WAY) pace.fewLatencyMs = latencyMs;
  // More under way only wait for each other, there or here.
  const isHolding = latencyMs < 2 * pace.fewLatencyMs + SLACK_MS;
  beginRound(pace, isHolding ? Math.min(window + Math.max(8, window / 3), 1_024) : window, nowMs);
}

/** So many calls in a round trip, evenly. */
function beginRound(pace: Pace, window: number, nowMs: number): void {
  pace.window = window;
  pace.ratePerMs = window / Math.max(LEAST_ROUND_MS, pace.latencyMs);
  pace.windowLeft = window / 4;
  pace.windowMs = nowMs;
}

/**
 * cruising: up to the middle of the range, or to its top while unsure, and past it the later, the
 * surer it is.
 */
function rise(pace: Pace, nowMs: number): void {
  const { limitPerMs, margin, riseCalls, ratePerMs, latencyMs, deadMs, isStated } = pace;
  if (nowMs - pace.healthyMs > pace.patienceMs && pace.accepted > CLIMB_CALLS) {
    return climb(pace, FASTEST_PER_MS, nowMs);
  }
  const isSure = riseCalls > UNSURE_CALLS;
  // A test that fails costs the wait, or the penalty.
  const isDear = (isStated && deadMs > 0) || deadMs > PENALTY_MS;
  const calls = Math.max(
    isSure ? riseCalls : Math.max(10, Math.min(riseCalls, ratePerMs * 10_000)),
    (isSure ? 10 : 1.5) * ratePerMs * latencyMs,
    isDear && isSure ? 10 * deadMs * ratePerMs : 0,
  );
  // Sooner than in a window more of them shows nothing.
  const span = Math.max(calls, pace.accepted > calls ? pace.windowCalls : 0);
  const share = ((pace.accepted - calls) / span) ** 3;
  const isCareful = isDear || riseCalls > SURE_CALLS;
  const target = limitPerMs * (1 + margin * (isCareful ? share : Math.max(1, share)));
  const speed = isSure ? 0.05 : 0.25;
  const soon = ratePerMs * Math.max(latencyMs, LEAST_RISE_MS);
  const most = ratePerMs * (1 + speed / Math.max(1, soon));
  // A rate that nobody makes use of proves nothing.
  const used = pace.flowPerMs * MOST_AHEAD;
  pace.ratePerMs = Math.min(FASTEST_PER_MS, Math.max(ratePerMs, Math.min(target, most, used)));
  if (!isSure || pace.accepted < calls + 2 * span) return;
  // So much more is not refused: the limit is another one.
  pace.limitPerMs = pace.ratePerMs;
  pace.margin = MOST_MARGIN;
  pace.riseCalls = UNSURE_CALLS;
  pace.accepted = 2 * UNSURE_CALLS;
}

/** `failing`: calls fail, which may be how a limit is told; `away`: no rate is to blame. */
export type Refusal = 'refused' | 'failing' | 'away';

export function refused(
  pace: Pace,
  call: PacedCall,
  nowMs: number,
  how: Refusal = 'refused',
): void {
  const { limits, retryAfterMs = 0, inFlight, sentAtMs } = call;
  const resetMs = limits?.remaining === 0 ? (limits.resetMs ?? 0) : 0;
  const statedMs = Math.min(Math.max(retryAfterMs, resetMs), LONGEST_STATED_MS);
  if (isOld(pace, sentAtMs)) {
    if (pace.undo) pace.undo.refused += 1;
    if (statedMs > 0 && pace.isStated)
      pace.shutUntilMs = Math.max(pace.shutUntilMs, nowMs + statedMs);
    return;
  }
  const isAgain = pace.state !== 'flowing';
  if (!isAgain) {
    // A limit that is sure is expected to refuse a call now and then.
    const isSure = pace.phase === 'cruising' && pace.riseCalls > UNSURE_CALLS;
    const mayBeChance = (!isSure && pace.phase === 'cruising') || pace.phase === 'starting';
    pace.undo = mayBeChance ? createUndo(pace, sentAtMs) : undefined;
    pace.refusedMs = nowMs;
    if (how === 'refused') pace.refusals += 1;
  }
  const lastedMs = nowMs - pace.refusedMs;
  pace.cutMs = nowMs;
  pace.healthyMs = nowMs;
  pace.isFailing = how !== 'refused';
  pace.isAway = how === 'away' || (how === 'failing' && lastedMs > OUTAGE_MS);
  pace.isStated = statedMs > 0;
  const isLearning = pace.phase !== 'starting';
  const isNew = !isAgain && !pace.isFailing && isLearning;
  if (!isAgain && !pace.isFailing && pace.climbToPerMs > 0) return endClimb(pace, nowMs, statedMs);
  const isCrowd = isNew && isOfCap(pace, inFlight);
  const isKnown = isNew && pace.accepted >= 3;
  pace.accepted = 0;
  if (isCrowd) {
    pace.cap = Math.max(1, inFlight - 1);
    pace.atCap = TRIAL_CALLS;
    pace.shutUntilMs = nowMs + statedMs;
  } else if (statedMs === 0 && isKnown) {
    pace.state = 'slower';
    estimate(pace, nowMs, 0);
    pace.shutUntilMs = nowMs + Math.min(pace.latencyMs, 2 / pace.ratePerMs);
    pace.nextMs = pace.shutUntilMs;
  } else {
    const leastMs = pace.isAway
      ? FIRST_AWAY_MS
      : Math.max(FIRST_PAUSE_MS, pace.deadMs / DEAD_PARTS);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(leastMs, lastedMs / 3));
    pace.shutUntilMs = nowMs + (statedMs > 0 ? statedMs : pauseMs);
    pace.state = 'testing';
    pace.testMs = 0;
  }
}

/** Refused on the way up: the limit lies between the last two steps, or is what it was. */
function endClimb(pace: Pace, nowMs: number, statedMs: number): void {
  const { ratePerMs, limitPerMs, margin, riseCalls } = pace;
  const isAsBefore =
    pace.phase === 'cruising' && ratePerMs >= limitPerMs && ratePerMs < 2.1 * limitPerMs;
  pace.phase = 'cruising';
  pace.climbToPerMs = 0;
  pace.isDoubted = false;
  if (isAsBefore) {
    pace.patienceMs = Math.min(Math.max(HEALTHY_MS, 2 * pace.patienceMs), MOST_PATIENCE_MS);
    learn(pace, limitPerMs, margin, riseCalls);
  } else {
    pace.patienceMs = HEALTHY_MS;
    learn(pace, ratePerMs * 0.7, MOST_MARGIN, UNSURE_CALLS);
  }
  pace.state = 'slower';
  pace.accepted = 0;
  pace.epochAccepted = 0;
  pace.epochMs = nowMs;
  const pauseMs = Math.min(pace.latencyMs, 2 / pace.ratePerMs);
  pace.shutUntilMs = nowMs + (statedMs > 0 ? statedMs : pauseMs);
  pace.nextMs = pace.shutUntilMs;
}

/**
 * Whether a refusal is about the calls under way: one more was tried, or it had far more,
 * repeatedly.
 */
function isOfCap(pace: Pace, inFlight: number): boolean {
  const { cap, atCap, flown, flownVariance } = pace;
  const far = (inFlight - flown) / Math.sqrt(Math.max(1, flownVariance));
  pace.crowded = far > FAR && pace.accepted >= FEW_CALLS ? pace.crowded + 1 : 0;
  return pace.crowded > 1 || (cap > 0 && inFlight >= cap && atCap < TRIAL_CALLS);
}

/** slower, testing → flowing: a call is accepted again. */
function reopen(pace: Pace, sentAtMs: number, nowMs: number): void {
  if (pace.state === 'testing' && pace.isFailing) {
    // It was not refused for the rate, as far as is known: back to speed, but not at once.
    pace.climbToPerMs = Math.max(pace.climbToPerMs, pace.ratePerMs);
    const least = Math.max(pace.climbToPerMs * CLIMB_FROM, AT_ONCE_PER_MS);
    pace.ratePerMs = Math.min(pace.climbToPerMs, least);
    climb(pace, 0, nowMs);
    pace.nextMs = nowMs;
  } else if (pace.state === 'testing') {
    estimate(pace, nowMs, Math.max(0, sentAtMs - pace.refusedMs));
    pace.nextMs = Math.max(nowMs, sentAtMs + 1 / pace.ratePerMs);
  }
  // What lasts is a limit, whatever was served just after its first refusal.
  const isShort = nowMs - pace.refusedMs <= 2 * (pace.latencyMs + FIRST_PAUSE_MS);
  if (!isShort) pace.undo = undefined;
  else if (pace.undo) learnServed(pace, pace.undo);
  pace.state = 'flowing';
  pace.isAway = false;
  pace.lastAccepted = Math.max(pace.epochAccepted, pace.lastAccepted / 8);
  pace.epochMs = nowMs;
  pace.epochAccepted = 0;
}

/**
 * What was accepted since the last estimate tells the limit, of which the last `deadMs` were
 * refused.
 */
function estimate(pace: Pace, nowMs: number, deadMs: number): void {
  const { phase, isStated, epochAccepted: count, lastAccepted: last, latencyMs, ratePerMs } = pace;
  const lastedMs = Math.max(1, nowMs - pace.epochMs);
  const activeMs = Math.max(1, lastedMs - deadMs);
  const most = Math.max(1, (0.1 * last * deadMs) / lastedMs);
  const isAlike = deadMs > 0 && count >= 3 && Math.abs(count - last) <= most;
  const leastGapMs = isStated ? SHORT_MS : 0.2 * lastedMs + 3 * latencyMs;
  const isPenalty =
    !isAlike && !isStated && deadMs > Math.max(PENALTY_MS, PENALTY_MOMENTS * activeMs);
  const isWindow = isAlike || (!isStated && !isPenalty && deadMs > leastGapMs);
  if (deadMs > 0) {
    pace.deadMs = isStated && isWindow ? 0 : Math.max(deadMs, isStated ? 0 : pace.deadMs / 2);
  }
  if (phase === 'published' || phase === 'given') {
    pace.ratePerMs *= 0.98;
    if (pace.ratePerMs < pace.limitPerMs * 0.85) pace.phase = 'cruising';
  } else if (phase === 'starting' && count <= 1) {
    beginRound(pace, FIRST_WINDOW, nowMs); // it was shut before anything was accepted
  } else if (isPenalty && count >= 3) {
    pace.phase = 'cruising';
    // In a short time much of it was what a bucket had saved up.
    const part = activeMs < SHORT_MS ? 0.5 : 0.9;
    learn(pace, part * Math.min(ratePerMs, count / activeMs), 0.02, SURE_CALLS);
  } else if (phase === 'starting' && !isWindow) {
    pace.phase = 'cruising';
    const fast = Math.min(count / activeMs, ratePerMs / 3);
    learn(pace, Math.sqrt((count / lastedMs) * fast), MOST_MARGIN, UNSURE_CALLS);
  } else if (phase === 'cruising' && count < FEW_CALLS && !isAlike) {
    // So few change little of what many have shown.
    const slower = ratePerMs * Math.max(0.75, last / (last + FEW_CALLS), count / (count + 1));
    if (last >= FEW_CALLS) pace.ratePerMs = slower;
    else learn(pace, slower, 0.02, UNSURE_CALLS);
  } else if (isWindow) {
    pace.phase = 'cruising';
    pace.windowCalls = Math.min(count, MOST_WINDOW_CALLS);
    const lateMs = Math.min(isStated ? ROUNDED_MS : deadMs / 4, lastedMs / 2);
    narrow(pace, count / lastedMs, count / (lastedMs - lateMs), count);
  } else if (deadMs > leastGapMs) {
    narrow(pace, count / lastedMs, Math.min(ratePerMs, count / activeMs), count);
  } else {
    const top = ratePerMs * (lastedMs < SHORT_MS + latencyMs ? 0.95 : 1);
    const mean = Math.min(top, count / activeMs);
    // The less is known, the more of the time was spent on the way up.
    const ahead = pace.riseCalls > UNSURE_CALLS ? 1.1 : 1.3;
    narrow(pace, mean, Math.min(top, mean * ahead), 0);
  }
}

/**
 * The limit is in a range: what agrees with the one that was known makes that narrower, and surer.
 */
function narrow(pace: Pace, low: number, high: number, count: number): void {
  const { limitPerMs, margin, riseCalls } = pace;
  const from = Math.max(low, limitPerMs * (1 - margin));
  const to = Math.min(high, limitPerMs * (1 + margin));
  const isAgreed = from <= to * 1.02;
  const least = isAgreed ? Math.min(from, to) : low;
  const most = isAgreed ? Math.max(from, to) : high;
  const middle = Math.sqrt(least * most);
  const isNear = Math.abs(middle / limitPerMs - 1) < 0.06;
  const calls = isAgreed ? 2 * riseCalls : isNear ? SURE_CALLS : UNSURE_CALLS;
  const half = (most - least) / 2 / middle;
  const share = Math.min(MOST_MARGIN, Math.max(LEAST_MARGIN, half));
  learn(pace, middle, share, Math.max(calls, Math.min(count, SURE_CALLS)));
}

function learn(pace: Pace, limitPerMs: number, margin: number, riseCalls: number): void {
  pace.limitPerMs = Math.max(SLOWEST_PER_MS, limitPerMs);
  pace.margin = margin;
  pace.riseCalls = Math.min(riseCalls, MOST_CALLS);
  pace.ratePerMs = pace.limitPerMs * (1 - margin);
}
