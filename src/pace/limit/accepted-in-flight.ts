import type { PaceState } from '../pace-state.ts';

/** What was accepted long before a throttle counts for so much less with each throttle since. */
const KEPT_SHARE = 0.5;
/** Fewer calls than this are forgotten. */
const LEAST_KEPT = 0.5;

/** Counts an accepted call by how many were in flight with it. */
export function countAcceptedAt({ concurrency }: PaceState, inFlight: number): void {
  const { acceptedAt } = concurrency;
  acceptedAt[inFlight] = (acceptedAt[inFlight] ?? 0) + 1;
  concurrency.acceptedInAll += 1;
}

/** The share of accepted calls that were sent with fewer in flight. */
export function shareBelow({ concurrency }: PaceState, inFlight: number): number {
  let fewer = 0;
  for (const [at, calls] of Object.entries(concurrency.acceptedAt)) {
    if (Number(at) < inFlight) fewer += calls;
  }
  return fewer / concurrency.acceptedInAll;
}

/** The rate is another one from now on. What was accepted before says less of how many are in flight at it. */
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
