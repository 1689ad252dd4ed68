import type { RatePoint } from './board.ts';

/** What is measured now. */
export interface RateSample {
  /** Since the first lookup, in milliseconds. */
  readonly elapsedMs: number;
  /** Calls made until now. */
  readonly calls: number;
  /** In calls per second, where one is known. */
  readonly limitPerSecond: number | undefined;
  /** Whether calls are told by the chunk, and not as they are made. @default false */
  readonly comesInBursts?: boolean;
}

/** Calls per second over the whole of a run, in a bounded number of points. */
export interface RateHistory {
  add(sample: RateSample): void;
  readonly points: readonly RatePoint[];
  /** Calls per second in the last seconds. */
  readonly nowPerSecond: number;
}

const MOST_POINTS = 300;
const FIRST_INTERVAL_MS = 1_000;
/** The rate of now is that of so long, or since the start. */
const NOW_MS = 2_500;
/** Of calls that are told by the chunk, which takes so long at most as a rule. */
const BURST_MS = 10_000;

/** When there are too many points, each two become one: a long run has coarse points, never more of them. */
export function createRateHistory(mostPoints: number = MOST_POINTS): RateHistory {
  let points: readonly RatePoint[] = [];
  let intervalMs = FIRST_INTERVAL_MS;
  let last: RateSample = { elapsedMs: 0, calls: 0, limitPerSecond: undefined };
  let recent: RateSample[] = [last];

  function thin(): void {
    intervalMs *= 2;
    const pairs: RatePoint[] = [];
    for (let at = 0; at + 1 < points.length; at += 2) {
      const [, first = 0] = points[at] ?? [];
      const [seconds = 0, second = 0, limit = null] = points[at + 1] ?? [];
      pairs.push([seconds, round((first + second) / 2), limit]);
    }
    points = pairs;
  }

  return {
    add: (sample) => {
      const { comesInBursts = false } = sample;
      const nowMs = comesInBursts ? BURST_MS : NOW_MS;
      recent.push(sample);
      recent = recent.filter(
        ({ elapsedMs }, at) => sample.elapsedMs - elapsedMs <= nowMs || at === recent.length - 1,
      );
      const sinceMs = sample.elapsedMs - last.elapsedMs;
      const isHalfTold = comesInBursts && sample.calls === last.calls && sinceMs < BURST_MS / 2;
      if (sinceMs < intervalMs || isHalfTold) return;
      const { limitPerSecond } = sample;
      const limit = limitPerSecond === undefined ? null : round(limitPerSecond);
      const point: RatePoint = [round(sample.elapsedMs / 1_000), rateOf(last, sample), limit];
      points = [...points, point];
      last = sample;
      if (points.length > mostPoints) thin();
    },
    get points() {
      return points;
    },
    get nowPerSecond() {
      const [first] = recent;
      const newest = recent.at(-1);
      return first && newest ? rateOf(first, newest) : 0;
    },
  };
}

function rateOf(from: RateSample, to: RateSample): number {
  const seconds = (to.elapsedMs - from.elapsedMs) / 1_000;
  return seconds > 0 ? round(Math.max(0, to.calls - from.calls) / seconds) : 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
