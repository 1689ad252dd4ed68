import type { Progress } from './events.ts';

/** Estimates how long the lookups of a run still take. */
export interface TimeLeft {
  look(progress: Progress): void;
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
  const rate = createRecentRate({ windowMs: WINDOW_MS, longestMs: 2 * WINDOW_MS });
  let workedMs = 0;
  let lookedAtMs = 0;
  let leftMs: number | undefined;
  return {
    look: (progress) => {
      const { lookups, done, elapsedMs, waitMs, outage, pace } = progress;
      const isShut = pace?.why === 'retry_after' || pace?.why === 'backing_off';
      const isWaiting = isShut || outage !== undefined || isHeld(progress);
      if (!isWaiting) workedMs += elapsedMs - lookedAtMs;
      lookedAtMs = elapsedMs;
      rate.add({ atMs: workedMs, count: done });
      const { perSecond } = rate;
      const isKnown = perSecond > 0 && !isHeld(progress);
      leftMs = isKnown ? ((lookups - done) / perSecond) * 1_000 + waitMs : undefined;
    },
    get leftMs() {
      return leftMs;
    },
  };
}

/** Whether calls are held up for an unknown time. */
function isHeld({ isPaused, hasNoWorker }: Progress): boolean {
  return isPaused === true || hasNoWorker === true;
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

interface RecentRateOptions {
  /** How far it looks back. @default 5 s */
  readonly windowMs?: number;
  /**
   * The least count to look back over: with fewer since, it looks back further, up to `longestMs`.
   * @default 10
   */
  readonly least?: number;
  /** @default 60 s */
  readonly longestMs?: number;
}

/** A silence longer than this many usual ones is not a pause between two counts. */
const USUAL_SILENCES = 3;

/**
 * The rate over the last seconds. Where little happens, such as at six calls a minute, it looks
 * back further: otherwise it would jump between nothing and far too much.
 */
export function createRecentRate({
  windowMs = 5_000,
  least = 10,
  longestMs = 60_000,
}: RecentRateOptions = {}): RecentRate {
  let samples: readonly RateSample[] = [];

  /** The last sample that is far enough back, both in time and in what was counted since. */
  function findStart(newest: RateSample): RateSample | undefined {
    return (
      samples.findLast(
        ({ atMs, count }) => newest.atMs - atMs >= windowMs && newest.count - count >= least,
      ) ?? samples[0]
    );
  }

  function hasStopped({ start, newest }: Record<'start' | 'newest', RateSample>): boolean {
    const last = samples.find(({ count }) => count >= newest.count) ?? newest;
    const silenceMs = newest.atMs - last.atMs;
    const usualMs = (last.atMs - start.atMs) / (newest.count - start.count);
    return silenceMs > windowMs && silenceMs > USUAL_SILENCES * usualMs;
  }

  return {
    add: (sample) => {
      const isKept = ({ atMs }: RateSample): boolean =>
        atMs < sample.atMs && sample.atMs - atMs <= longestMs;
      samples = [...samples.filter(isKept), sample];
    },
    get perSecond() {
      const newest = samples.at(-1);
      const start = newest && findStart(newest);
      if (!newest || !start || newest.atMs <= start.atMs) return 0;
      const counted = newest.count - start.count;
      if (counted <= 0 || hasStopped({ start, newest })) return 0;
      return (counted / (newest.atMs - start.atMs)) * 1_000;
    },
  };
}
