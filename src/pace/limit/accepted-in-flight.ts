import type { PaceState } from '../pace-state.ts';

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
