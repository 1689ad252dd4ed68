import type { RunView, Wait } from './run-view.ts';

/** Estimates how long the lookups of a run still take. */
export interface TimeLeft {
  look(progress: Pick<RunView, 'due' | 'lookups' | 'lookupMs'>, wait: Wait | undefined): void;
  /** In milliseconds; undefined while there is nothing to estimate it from. */
  readonly leftMs: number | undefined;
}

/** The rest is assumed to go as fast as the lookups of this much time. */
const WINDOW_MS = 30_000;

/**
 * Goes by the lookups of the last half minute in which calls were let through. A wait counts only
 * with what is left of it: an hour that the API asked to wait does not make everything after it
 * slow.
 */
export function createTimeLeft(): TimeLeft {
  const rate = createRecentRate(WINDOW_MS);
  let workedMs = 0;
  let lookedAtMs = 0;
  let leftMs: number | undefined;
  return {
    look: ({ due, lookups, lookupMs }, wait) => {
      if (!wait || wait.why === 'rate') workedMs += lookupMs - lookedAtMs;
      lookedAtMs = lookupMs;
      rate.add({ atMs: workedMs, count: lookups });
      const isHeld = wait?.why === 'paused' || wait?.why === 'no_worker';
      const isKnown = rate.perSecond > 0 && !isHeld;
      leftMs = isKnown
        ? ((due - lookups) / rate.perSecond) * 1_000 + (wait?.leftMs ?? 0)
        : undefined;
    },
    get leftMs() {
      return leftMs;
    },
  };
}

/** How fast a count grows at the moment. */
interface RecentRate {
  add(sample: RateSample): void;
  /** Per second; 0 before there are two samples. */
  readonly perSecond: number;
}

interface RateSample {
  /** Since any fixed moment; never decreases. */
  readonly atMs: number;
  /** The count at that time. */
  readonly count: number;
}

const LONGEST_MS = 60_000;
/** With fewer counts it looks back further, up to a minute. */
const LEAST = 10;
/** A silence longer than this many usual ones is not a pause between two counts. */
const USUAL_SILENCES = 3;

/**
 * The rate over the last seconds. Where little happens, such as at six calls a minute, it looks
 * back further: otherwise it would jump between nothing and far too much.
 */
export function createRecentRate(windowMs = 5_000): RecentRate {
  let samples: readonly RateSample[] = [];
  return {
    add: (sample) => {
      const isKept = ({ atMs }: RateSample): boolean =>
        atMs < sample.atMs && sample.atMs - atMs <= LONGEST_MS;
      samples = [...samples.filter(isKept), sample];
    },
    get perSecond() {
      const newest = samples.at(-1);
      if (!newest) return 0;
      const isFarEnough = ({ atMs, count }: RateSample): boolean =>
        newest.atMs - atMs >= windowMs && newest.count - count >= LEAST;
      const start = samples.findLast(isFarEnough) ?? samples[0] ?? newest;
      const counted = newest.count - start.count;
      if (counted <= 0) return 0;
      const lastMs = samples.find(({ count }) => count >= newest.count)?.atMs ?? newest.atMs;
      const usualMs = (lastMs - start.atMs) / counted;
      if (newest.atMs - lastMs > Math.max(windowMs, USUAL_SILENCES * usualMs)) return 0;
      return (counted / (newest.atMs - start.atMs)) * 1_000;
    },
  };
}
