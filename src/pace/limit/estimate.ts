import { FIRST_MARGIN, type PaceState } from '../pace-state.ts';

/**
 * The smallest margin below the limit at which the rate begins again. A smaller one gains no calls,
 * a larger one wastes the limit.
 */
const LEAST_MARGIN = 0.008;
/** The largest margin for a limit that was confirmed at least once. The first margin is wider. */
const MOST_CONFIRMED_MARGIN = 0.02;
/** An epoch with fewer calls measures nothing and is joined with the one before. */
const SHORT_EPOCH_CALLS = 20;
/** A pause this long, in ms or in calls, is the rest of a window that was used up. */
const WINDOW_PAUSE_MS = 1_500;
const WINDOW_PAUSE_CALLS = 20;
/**
 * The first estimate is this share of the latest rate, which a burst that the limit allowed makes
 * too high.
 */
const FIRST_ESTIMATE = 0.92;
/**
 * The weight of the rate at the throttle. The rest is that of the mean since the throttle before,
 * which lags behind.
 */
const LATEST_WEIGHT = 0.6;
/** The most that a confirmed estimate may exceed the accepted rate. */
const MOST_ABOVE_MEASURED = 1.03;
/** The largest step down when the next throttle comes after a few calls. */
const SHORTEST_STEP = 0.75;
/**
 * Estimates that differ by less than the first confirm one another. If they differ by less than the
 * second, they do not contradict.
 */
const CONFIRMS_WITHIN = 0.02;
const AGREES_WITHIN = 0.06;
/**
 * When a throttle comes at this many times the estimate, the limit is a new one. The calls accepted
 * on the way measure neither.
 */
const GROWN_FACTOR = 2;
const MOST_CONFIDENCE = 4;
/** What windows usually last. */
const USUAL_WINDOWS_MS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60].map((s) => s * 1_000);
/** A test comes this much later than a window should end: calls do not arrive evenly. */
const LATE_MS = 40;
/** Between two tests this many calls could have been made, within these shares of the window. */
const TEST_EVERY_CALLS = 15;
const LEAST_SHARE = 0.05;
const MOST_SHARE = 0.15;
const SHORTEST_STEP_MS = 50;
/** A test waits for the usual end of a window for this many of the steps that it would come after. */
const MOST_STEPS_TO_END = 1.5;
/** A window may be this much shorter than it was closed: some servers count refused calls, too. */
const LEAST_OF_CLOSED = 0.8;
/** A window with more calls than this need not pass before the rate is tested again. */
const MOST_WINDOW_CALLS = 20_000;
/** One call in ten minutes. With this floor no estimate, however wrong, stops a run. */
export const SLOWEST_PER_MS: number = 1 / 600_000;

export interface ClosedLimit {
  /** When calls were accepted again. */
  readonly endMs: number;
  /** For how long no call was accepted. */
  readonly closedMs: number;
  /** How uncertain `endMs` is. */
  readonly uncertainMs: number;
}

/**
 * The limit was reached. Estimates it from the calls accepted since it was last reached, and goes
 * on just below.
 */
export function estimateLimit(state: PaceState, closed: ClosedLimit): void {
  const { estimate, throttle, published } = state;
  const isWindow =
    closed.closedMs >= Math.max(WINDOW_PAUSE_MS, WINDOW_PAUSE_CALLS / throttle.ratePerMs);
  if (isWindow && state.measured.block.accepted < SHORT_EPOCH_CALLS) joinWithLast(state, 'block');

  const hasGrown = !isWindow && throttle.ratePerMs > GROWN_FACTOR * estimate.limitPerMs;
  if (estimate.limitPerMs === 0 || hasGrown) {
    makeFirstEstimate(state, closed, isWindow);
  } else if (throttle.shortInARow > 0 && closed.closedMs * throttle.ratePerMs < 5) stepDown(state);
  else refineEstimate(state, closed, isWindow);

  if (isWindow) {
    const { block } = state.measured;
    // One such pause may be an outage; windows come again.
    if (state.measured.lastBlock.accepted > 0) {
      estimate.windowCalls = Math.min(block.accepted, MOST_WINDOW_CALLS);
      estimate.confidence = Math.max(1, estimate.confidence);
    }
    startBlock(state, closed.endMs);
  }
  if (published.ratePerMs > 0) {
    estimate.limitPerMs = Math.min(estimate.limitPerMs, published.ratePerMs);
  }
  startEpoch(state, closed.endMs);
  state.phase = 'cruising';
  returnToEstimate(state);
}

/** Sets the rate just below the estimated limit. */
export function returnToEstimate(state: PaceState): void {
  const { estimate, plateau } = state;
  estimate.limitPerMs = Math.max(SLOWEST_PER_MS, estimate.limitPerMs);
  state.ratePerMs = Math.max(SLOWEST_PER_MS, estimate.limitPerMs * (1 - estimate.margin));
  plateau.accepted = 0;
  fadeAccepted(state);
}

function makeFirstEstimate(state: PaceState, closed: ClosedLimit, isWindow: boolean): void {
  const { estimate, throttle, measured } = state;
  if (isWindow) {
    const { spanMs } = measure(state, closed, 'block');
    estimate.limitPerMs = measured.block.accepted / firstWindowMs(state, closed);
    estimate.margin = clamp(closed.uncertainMs / 2 / spanMs, 0.04, FIRST_MARGIN);
    estimate.confidence = 0;
  } else {
    const { epoch } = measured;
    const recent = recentRatePerMs(state, { calls: 15, ms: 1_000 });
    // Calls that were under way at the throttle count too, because they had been let in.
    const sinceStart = epoch.accepted / Math.max(200, throttle.hitAtMs - epoch.sinceMs);
    estimate.limitPerMs =
      recent > 0
        ? FIRST_ESTIMATE * recent
        : Math.max(FIRST_ESTIMATE * sinceStart, rateOfGap(state));
    estimate.margin = FIRST_MARGIN;
    estimate.confidence = 0;
  }
  estimate.measuredPerMs = 0;
}

/** The rate when the limit let one call through during the gap; 0 while the gap is unknown. */
function rateOfGap({ throttle }: PaceState): number {
  const { gapMs, ratePerMs } = throttle;
  return gapMs === undefined ? 0 : Math.min(ratePerMs, 1 / gapMs);
}

/**
 * Throttled soon after the last throttle. The estimate was too high, and nothing new was measured.
 */
function stepDown({ estimate, throttle }: PaceState): void {
  const { acceptedBefore, ratePerMs } = throttle;
  const below = ratePerMs * (1 - LEAST_MARGIN);
  const step = ratePerMs * Math.max(SHORTEST_STEP, acceptedBefore / (acceptedBefore + 1));
  // The first time, the last measurement may still be right; the second time it is not.
  const fallBack = throttle.shortInARow === 1 ? estimate.measuredPerMs : 0;
  estimate.limitPerMs = Math.min(below, Math.max(step, fallBack));
  estimate.margin = 0.02;
  estimate.confidence = 0;
}

function refineEstimate(state: PaceState, closed: ClosedLimit, isWindow: boolean): void {
  const { estimate, throttle } = state;
  if (!isWindow && state.measured.epoch.accepted < SHORT_EPOCH_CALLS) joinWithLast(state, 'epoch');
  const { callsPerMs, spanMs } = measure(state, closed, isWindow ? 'block' : 'epoch');
  let latest = throttle.ratePerMs;
  if (closed.closedMs > 0.2 * spanMs) latest = callsPerMs;
  else if (estimate.confidence === 0) {
    latest = recentRatePerMs(state, { calls: 20, ms: 1_500 }) || callsPerMs;
  }
  latest = Math.min(latest, Math.max(throttle.ratePerMs, callsPerMs));
  let limit = callsPerMs + LATEST_WEIGHT * (latest - callsPerMs);
  if (estimate.confidence > 0 && !isWindow)
    limit = Math.min(limit, callsPerMs * MOST_ABOVE_MEASURED);
  limit = Math.max(limit, SLOWEST_PER_MS);

  const change = Math.abs(limit - estimate.limitPerMs) / estimate.limitPerMs;
  const spread = Math.abs(latest - callsPerMs) / limit / 2;
  // A rate that rose until the throttle is above the mean. That does not contradict a confirmed
  // estimate.
  const mostSpread = estimate.confidence > 0 && !isWindow ? CONFIRMS_WITHIN : 1;
  estimate.limitPerMs = limit;
  estimate.measuredPerMs = callsPerMs;
  estimate.confidence = nextConfidence(
    estimate.confidence,
    Math.max(change, Math.min(spread, mostSpread)),
  );
  const doubt = Math.max(
    Math.min(spread, estimate.confidence > 0 ? MOST_CONFIRMED_MARGIN : 1),
    change / 4,
    closed.uncertainMs / 2 / spanMs,
  );
  estimate.margin = clamp(doubt, LEAST_MARGIN, FIRST_MARGIN);
}

function nextConfidence(confidence: number, difference: number): number {
  if (difference < CONFIRMS_WITHIN) return Math.min(confidence + 1, MOST_CONFIDENCE);
  if (difference < AGREES_WITHIN) return clamp(confidence, 1, 2);
  return 0;
}

function measure(
  { measured }: PaceState,
  { endMs, uncertainMs }: ClosedLimit,
  span: 'epoch' | 'block',
): { callsPerMs: number; spanMs: number } {
  const { sinceMs, accepted } = measured[span];
  const spanMs = Math.max(endMs - uncertainMs / 2 - sinceMs, 1);
  return { callsPerMs: accepted / spanMs, spanMs };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/**
 * When calls are tried next while the limit may have windows: as the used up one may well end, if it
 * lasts as long as windows usually do, or else a share of it later. What a window holds many calls
 * of is lost soon, so the more calls it held, the sooner it is tried.
 */
export function nextWindowTestMs({ measured: { block } }: PaceState, nowMs: number): number {
  const lastedMs = Math.max(0, nowMs - block.sinceMs);
  const share = clamp(TEST_EVERY_CALLS / Math.max(1, block.accepted), LEAST_SHARE, MOST_SHARE);
  const stepMs = Math.max(SHORTEST_STEP_MS, lastedMs * share);
  const ends = USUAL_WINDOWS_MS.map((windowMs) => block.sinceMs + windowMs + LATE_MS);
  const end = ends.find((endMs) => endMs >= nowMs + stepMs);
  return end !== undefined && end <= nowMs + MOST_STEPS_TO_END * stepMs ? end : nowMs + stepMs;
}

/**
 * How long the first window lasts that was used up: as windows usually do, within what was measured
 * or a little below, or else no longer than it certainly was closed. For a limit that is taken too
 * high shows soon, and one that is taken too low is slow to be seen.
 */
function firstWindowMs({ measured }: PaceState, { endMs, uncertainMs }: ClosedLimit): number {
  const mostMs = Math.max(1, endMs - measured.block.sinceMs);
  const leastMs = Math.max(1, mostMs - uncertainMs);
  const isWithin = (ms: number): boolean =>
    ms > leastMs - LATE_MS / 2 && ms <= mostMs + LATE_MS / 2;
  const below = USUAL_WINDOWS_MS.findLast((ms) => ms <= leastMs && ms >= LEAST_OF_CLOSED * leastMs);
  return USUAL_WINDOWS_MS.find(isWithin) ?? below ?? leastMs;
}

const MARK_EVERY_MS = 250;
const MARK_EVERY_CALLS = 10;
const MOST_MARKS = 64;

/** Counts an accepted call in all current spans. */
export function countAccepted(
  { measured }: PaceState,
  { sentAtMs, nowMs }: { readonly sentAtMs: number; readonly nowMs: number },
): void {
  const { epoch, block, lastBlock, marks } = measured;
  // A window begins with the first call, however long that was waited for.
  const isFirst = block.accepted + lastBlock.accepted === 0;
  if (isFirst) block.sinceMs = Math.max(block.sinceMs, sentAtMs);
  epoch.accepted += 1;
  block.accepted += 1;
  const last = marks.at(-1);
  if (last && (epoch.accepted - last[1] < MARK_EVERY_CALLS || nowMs - last[0] < MARK_EVERY_MS)) {
    return;
  }
  marks.push([nowMs, epoch.accepted]);
  if (marks.length > MOST_MARKS) marks.shift();
}

/**
 * The rate of the last calls before a throttle, over at least so many calls and ms; 0 when there
 * were fewer.
 */
export function recentRatePerMs(
  { measured, throttle }: PaceState,
  atLeast: { readonly calls: number; readonly ms: number },
): number {
  for (let index = measured.marks.length - 1; index >= 0; index -= 1) {
    const [markMs, accepted] = measured.marks[index] ?? [0, 0];
    const calls = throttle.acceptedInEpoch - accepted;
    const spanMs = throttle.hitAtMs - markMs;
    if (calls >= atLeast.calls && spanMs >= atLeast.ms) return calls / spanMs;
  }
  return 0;
}

/** Ends the epoch. Calls from now on are measured separately. */
function startEpoch({ measured }: PaceState, atMs: number): void {
  measured.lastEpoch = measured.epoch;
  measured.epoch = { sinceMs: atMs, accepted: 0 };
  measured.marks = [[atMs, 0]];
}

/** Moves the begin of the epoch that has just started. */
export function startEpochLater({ measured }: PaceState, atMs: number): void {
  measured.epoch.sinceMs = atMs;
  measured.marks = [[atMs, measured.epoch.accepted]];
}

/** Ends the block at the end of a long pause. */
function startBlock({ measured }: PaceState, atMs: number): void {
  measured.lastBlock = measured.block;
  measured.block = { sinceMs: atMs, accepted: 0 };
}

/** Joins the epoch or block with the one before it, because it was too short to measure. */
export function joinWithLast({ measured }: PaceState, span: 'epoch' | 'block'): void {
  const last = span === 'epoch' ? measured.lastEpoch : measured.lastBlock;
  const now = measured[span];
  now.sinceMs = last.sinceMs;
  now.accepted += last.accepted;
  last.accepted = 0; // these calls must not be counted twice
}

/** The weight that earlier accepted calls keep at each throttle. */
const KEPT_SHARE = 0.5;
/** Counts smaller than this are dropped. */
const LEAST_KEPT = 0.5;

/** Counts an accepted call by the number of calls that were in flight with it. */
export function countAcceptedAt({ concurrency }: PaceState, inFlight: number): void {
  const { acceptedAt } = concurrency;
  acceptedAt[inFlight] = (acceptedAt[inFlight] ?? 0) + 1;
  concurrency.acceptedInAll += 1;
}

/** The share of accepted calls that were sent with fewer calls in flight. */
export function shareBelow({ concurrency }: PaceState, inFlight: number): number {
  let fewer = 0;
  for (const [at, calls] of Object.entries(concurrency.acceptedAt)) {
    if (Number(at) < inFlight) fewer += calls;
  }
  return fewer / concurrency.acceptedInAll;
}

/**
 * Fades the counts when the rate changes. Calls accepted before say less about the number in flight
 * at the new rate.
 */
function fadeAccepted({ concurrency }: PaceState): void {
  const faded: Record<string, number> = {};
  concurrency.acceptedInAll = 0;
  for (const [at, calls] of Object.entries(concurrency.acceptedAt)) {
    const kept = calls * KEPT_SHARE;
    if (kept < LEAST_KEPT) continue;
    faded[at] = kept;
    concurrency.acceptedInAll += kept;
  }
  concurrency.acceptedAt = faded;
}
