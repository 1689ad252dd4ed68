import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { PaceDescription } from '../pace/pacer.ts';
import type { Progress } from './events.ts';
import { findHoldUp } from './waits.ts';

/** What happened over time, in spans of equal width that get wider as the run gets longer. */
export interface Timeline {
  /** Spreads the calls and lookups since the previous progress evenly over that time. */
  progress(now: Progress): void;
  /** @param atMs when the answer came, since the lookups began */
  answered(atMs: number, latencyMs: number): void;
  /** How wide each span is, in milliseconds. */
  readonly spanMs: number;
  readonly spans: readonly Span[];
  /** The last known moment, in milliseconds since the lookups began. */
  readonly endMs: number;
  /** The moment up to which all is known; what is before it does not change any more. */
  readonly knownMs: number;
}

/** One span of time. */
export interface Span {
  calls: number;
  lookups: number;
  throttled: number;
  retries: number;
  /** The limit as it was known at its end, in calls per second. */
  limitPerSecond: number | undefined;
  /** For how long no call could start, by cause. */
  toldMs: number;
  backingOffMs: number;
  outageMs: number;
  /** For how long somebody had paused the run; no other cause counts then. */
  pausedMs: number;
  /** Latencies of the calls whose answers came in this span; undefined for none. */
  latencies: Latencies | undefined;
}

/** A chunk may be looked up for this long before anything is reported of it. */
const BURST_MS = 5_000;

/** How finely a timeline is kept. */
export interface TimelineOptions {
  /** @default as many as can be told apart on a screen */
  readonly mostSpans?: number;
  /** @default half a minute fits without widening */
  readonly firstSpanMs?: number;
}

/** Makes the record that the report's chart and the live one are drawn from. */
export function createTimeline({
  mostSpans = 120,
  firstSpanMs = 250,
}: TimelineOptions = {}): Timeline {
  let spanMs = firstSpanMs;
  let spans: Span[] = [];
  let endMs = 0;
  let last = { calls: 0, done: 0, throttled: 0, retries: 0, elapsedMs: 0 };

  /** The span that a moment is in. The end of one span is the beginning of the next. */
  function indexOf(atMs: number): number {
    while (atMs >= spanMs * mostSpans) widen();
    return Math.floor(atMs / spanMs);
  }

  function widen(): void {
    const halves = spans;
    spans = [];
    for (let at = 0; at < halves.length; at += 2) {
      const [one, other] = [halves[at], halves[at + 1]];
      if (one) spans.push(other ? join(one, other) : one);
    }
    spanMs *= 2;
  }

  function spanAt(index: number): Span {
    while (spans.length <= index) spans.push(emptySpan());
    return spans[index] as Span;
  }

  /**
   * Calls `add` with each span between two moments, and with the share of that time that is in the
   * span.
   */
  function spread(fromMs: number, toMs: number, add: (span: Span, share: number) => void): void {
    const lastIndex = indexOf(toMs); // comes first, since it may widen the spans
    const lastedMs = toMs - fromMs;
    for (let index = indexOf(fromMs); index <= lastIndex; index += 1) {
      const begin = Math.max(fromMs, index * spanMs);
      const end = Math.min(toMs, (index + 1) * spanMs);
      const share = lastedMs > 0 ? (end - begin) / lastedMs : 1;
      if (share > 0) add(spanAt(index), share);
    }
  }

  /** Whether more will be reported about this time. */
  function isHalfReported({ comesInBursts = false, isPaused = false, ...now }: Progress): boolean {
    const isNothing = now.calls === last.calls && now.done === last.done;
    return comesInBursts && isNothing && !isPaused && now.elapsedMs - last.elapsedMs < BURST_MS;
  }

  return {
    progress: (now) => {
      const { elapsedMs, pace } = now;
      endMs = Math.max(endMs, elapsedMs);
      if (isHalfReported(now)) return;
      const since = {
        calls: now.calls - last.calls,
        done: Math.max(0, now.done - last.done), // lower when failures are asked again
        throttled: now.throttled - last.throttled,
        retries: now.retries - last.retries,
        elapsedMs: Math.max(0, elapsedMs - last.elapsedMs),
      };
      const limit = limitOf(pace);
      const holdUp = findHoldUp(now);
      spread(Math.min(last.elapsedMs, elapsedMs), elapsedMs, (span, share) => {
        span.calls += since.calls * share;
        span.lookups += since.done * share;
        span.throttled += since.throttled * share;
        span.retries += since.retries * share;
        span.limitPerSecond = limit ?? span.limitPerSecond;
        const lastedMs = since.elapsedMs * share;
        if (holdUp === 'paused') span.pausedMs += lastedMs;
        else if (holdUp === 'outage') span.outageMs += lastedMs;
        else if (holdUp === 'told' && pace?.why === 'backing_off') span.backingOffMs += lastedMs;
        else if (holdUp === 'told') span.toldMs += lastedMs;
      });
      const { calls, done, throttled, retries } = now;
      last = { calls, done, throttled, retries, elapsedMs };
    },
    answered: (atMs, latencyMs) => {
      const span = spanAt(indexOf(atMs));
      span.latencies ??= createLatencies(2);
      span.latencies.add(latencyMs);
      endMs = Math.max(endMs, atMs);
    },
    get spanMs() {
      return spanMs;
    },
    get spans() {
      return spans;
    },
    get endMs() {
      return endMs;
    },
    get knownMs() {
      return last.elapsedMs;
    },
  };
}

/** The limit to draw beside the calls, in calls per second, if it is known. */
export function limitOf(pace: PaceDescription | undefined): number | undefined {
  if (pace?.limitIs === 'fixed') return pace.ratePerSecond;
  return pace?.learnedLimitPerSecond;
}

function emptySpan(): Span {
  return {
    calls: 0,
    lookups: 0,
    throttled: 0,
    retries: 0,
    limitPerSecond: undefined,
    toldMs: 0,
    backingOffMs: 0,
    outageMs: 0,
    pausedMs: 0,
    latencies: undefined,
  };
}

function join(one: Span, other: Span): Span {
  if (one.latencies && other.latencies) one.latencies.merge(other.latencies);
  return {
    calls: one.calls + other.calls,
    lookups: one.lookups + other.lookups,
    throttled: one.throttled + other.throttled,
    retries: one.retries + other.retries,
    limitPerSecond: other.limitPerSecond ?? one.limitPerSecond,
    toldMs: one.toldMs + other.toldMs,
    backingOffMs: one.backingOffMs + other.backingOffMs,
    outageMs: one.outageMs + other.outageMs,
    pausedMs: one.pausedMs + other.pausedMs,
    latencies: one.latencies ?? other.latencies,
  };
}

/** How long calls took, without keeping each. */
export interface Latencies {
  add(latencyMs: number): void;
  merge(other: Latencies): void;
  /** Undefined when there were none. */
  describe(): LatencyFigures | undefined;
  readonly histogram: RecordableHistogram;
}

/** In milliseconds; each percentile is what that share of the calls took at most. */
interface LatencyFigures {
  readonly calls: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Calls to a server on the same machine take less than a millisecond. */
const UNITS_PER_MS = 10;
const LONGEST_UNITS = 60 * 60_000 * UNITS_PER_MS;

/** @param figures how many significant figures are exact: 2 take 20 KB, 3 take seven times that */
export function createLatencies(figures: 2 | 3): Latencies {
  // HdrHistogram, which Node.js includes.
  const histogram = createHistogram({ lowest: 1, highest: LONGEST_UNITS, figures });
  const ms = (units: number): number => units / UNITS_PER_MS;
  const percentile = (percent: number): number => ms(histogram.percentile(percent));
  return {
    add: (latencyMs) => {
      const units = Math.round(latencyMs * UNITS_PER_MS);
      histogram.record(Math.max(1, Math.min(LONGEST_UNITS, units)));
    },
    merge: (other) => histogram.add(other.histogram),
    describe: () =>
      histogram.count === 0
        ? undefined
        : {
            calls: histogram.count,
            meanMs: ms(histogram.mean),
            p50Ms: percentile(50),
            p90Ms: percentile(90),
            p95Ms: percentile(95),
            p99Ms: percentile(99),
            maxMs: ms(histogram.max),
          },
    histogram,
  };
}
