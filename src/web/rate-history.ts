import type { Progress } from '../watch/events.ts';
import { createTimeline, type Span } from '../watch/timeline.ts';
import { findLongestHoldUp } from '../watch/waits.ts';
import type { RatePoint } from './board.ts';

/** Calls per second over the whole of a run, in a bounded number of points. */
export interface RateHistory {
  add(progress: Progress): void;
  readonly points: readonly RatePoint[];
  /** Calls per second in the last seconds. */
  readonly nowPerSecond: number;
}

const MOST_POINTS = 300;
const FIRST_INTERVAL_MS = 1_000;
/** The current rate covers this much time, or the time since the start. */
const NOW_MS = 2_500;
/** The same for calls that are reported by the chunk, which rarely takes longer. */
const BURST_MS = 10_000;

/** Draws the record of a run as far as it is known. A long run has coarser points, never more. */
export function createRateHistory(mostPoints: number = MOST_POINTS): RateHistory {
  const timeline = createTimeline({ mostSpans: mostPoints, firstSpanMs: FIRST_INTERVAL_MS });
  let recent: Pick<Progress, 'elapsedMs' | 'calls'>[] = [{ elapsedMs: 0, calls: 0 }];
  return {
    add: (progress) => {
      timeline.progress(progress);
      const { elapsedMs, calls, comesInBursts = false, isPaused = false } = progress;
      const nowMs = comesInBursts && !isPaused ? BURST_MS : NOW_MS;
      recent = [...recent, { elapsedMs, calls }].filter(
        (one, at) => elapsedMs - one.elapsedMs <= nowMs || at === recent.length,
      );
    },
    get points() {
      const { spans, spanMs, knownMs } = timeline;
      return spans
        .slice(0, Math.floor(knownMs / spanMs))
        .map((span, at) => toPoint(span, at, spanMs));
    },
    get nowPerSecond() {
      const [first] = recent;
      const newest = recent.at(-1);
      if (!first || !newest) return 0;
      return rateOf(newest.calls - first.calls, newest.elapsedMs - first.elapsedMs);
    },
  };
}

function toPoint(span: Span, at: number, spanMs: number): RatePoint {
  const { calls, limitPerSecond, pausedMs, outageMs, toldMs, backingOffMs } = span;
  const limit = limitPerSecond === undefined ? null : round(limitPerSecond);
  const point = [round(((at + 1) * spanMs) / 1_000), rateOf(calls, spanMs), limit] as const;
  const heldMs = { paused: pausedMs, outage: outageMs, told: toldMs + backingOffMs };
  const heldBy = findLongestHoldUp(heldMs, spanMs);
  return heldBy ? [...point, heldBy] : point;
}

function rateOf(calls: number, ms: number): number {
  return ms > 0 ? round(Math.max(0, calls) / (ms / 1_000)) : 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
