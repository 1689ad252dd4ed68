import { findLongestHoldUp, type HoldUp } from '../watch/waits.ts';
import type { RatePoint } from './board.ts';

/** The current figures of a run. */
export interface RateSample {
  /** Since the first lookup, in milliseconds. */
  readonly elapsedMs: number;
  /** Number of calls made so far. */
  readonly calls: number;
  /** In calls per second, if it is known. */
  readonly limitPerSecond: number | undefined;
  /** Whether calls are reported by the chunk, not as they are made. @default false */
  readonly comesInBursts?: boolean;
  /** What holds calls up now, and has done so since the previous sample. */
  readonly heldBy?: HoldUp | undefined;
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
/** The current rate covers this much time, or the time since the start. */
const NOW_MS = 2_500;
/** The same for calls that are reported by the chunk, which rarely takes longer. */
const BURST_MS = 10_000;

/** What happened since the previous span. */
interface Span {
  readonly endMs: number;
  readonly calls: number;
  readonly limit: number | null;
  readonly heldMs: Record<HoldUp, number>;
  readonly lastedMs: number;
}

/**
 * When there are too many points, each two become one: a long run has coarser points, never more of
 * them.
 */
export function createRateHistory(mostPoints: number = MOST_POINTS): RateHistory {
  let spans: readonly Span[] = [];
  let points: readonly RatePoint[] = [];
  let intervalMs = FIRST_INTERVAL_MS;
  let last: RateSample = { elapsedMs: 0, calls: 0, limitPerSecond: undefined };
  let recent: RateSample[] = [last];
  let heldMs = createHeldMs();

  function thin(): void {
    intervalMs *= 2;
    const pairs: Span[] = [];
    for (let at = 0; at < spans.length; at += 2) {
      const [one, other] = [spans[at], spans[at + 1]];
      if (one) pairs.push(other ? join(one, other) : one);
    }
    spans = pairs;
    points = spans.map(toPoint);
  }

  return {
    add: (sample) => {
      const { comesInBursts = false, elapsedMs, calls, limitPerSecond, heldBy } = sample;
      const nowMs = comesInBursts ? BURST_MS : NOW_MS;
      const before = recent.at(-1) ?? last;
      if (heldBy) heldMs[heldBy] += Math.max(0, elapsedMs - before.elapsedMs);
      recent.push(sample);
      recent = recent.filter(
        (one, at) => elapsedMs - one.elapsedMs <= nowMs || at === recent.length - 1,
      );
      const lastedMs = elapsedMs - last.elapsedMs;
      const isHalfTold = comesInBursts && calls === last.calls && lastedMs < BURST_MS / 2;
      if (lastedMs < intervalMs || isHalfTold) return;
      const span: Span = {
        endMs: elapsedMs,
        calls: Math.max(0, calls - last.calls),
        limit: limitPerSecond === undefined ? null : round(limitPerSecond),
        heldMs,
        lastedMs,
      };
      spans = [...spans, span];
      points = [...points, toPoint(span)];
      last = sample;
      heldMs = createHeldMs();
      if (points.length > mostPoints) thin();
    },
    get points() {
      return points;
    },
    get nowPerSecond() {
      const [first] = recent;
      const newest = recent.at(-1);
      if (!first || !newest) return 0;
      return rateOf(newest.calls - first.calls, newest.elapsedMs - first.elapsedMs);
    },
  };
}

function createHeldMs(): Record<HoldUp, number> {
  return { paused: 0, outage: 0, told: 0 };
}

function join(one: Span, other: Span): Span {
  const { endMs, limit } = other;
  const heldMs = {
    paused: one.heldMs.paused + other.heldMs.paused,
    outage: one.heldMs.outage + other.heldMs.outage,
    told: one.heldMs.told + other.heldMs.told,
  };
  const lastedMs = one.lastedMs + other.lastedMs;
  return { endMs, limit, heldMs, lastedMs, calls: one.calls + other.calls };
}

function toPoint({ endMs, calls, limit, heldMs, lastedMs }: Span): RatePoint {
  const point = [round(endMs / 1_000), rateOf(calls, lastedMs), limit] as const;
  const heldBy = findLongestHoldUp(heldMs, lastedMs);
  return heldBy ? [...point, heldBy] : point;
}

function rateOf(calls: number, ms: number): number {
  return ms > 0 ? round(Math.max(0, calls) / (ms / 1_000)) : 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
