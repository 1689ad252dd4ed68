import type { PaceState } from '../pace-state.ts';

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
  // Every second mark is dropped, so that a long epoch is covered from its beginning.
  if (marks.length > MOST_MARKS) measured.marks = marks.filter((_, index) => index % 2 === 0);
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
export function startEpoch({ measured }: PaceState, atMs: number): void {
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
export function startBlock({ measured }: PaceState, atMs: number): void {
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
export function fadeAccepted({ concurrency }: PaceState): void {
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
