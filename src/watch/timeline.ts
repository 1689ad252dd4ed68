import { createHistogram } from 'node:perf_hooks';
import { round } from '../common/format.ts';
import type { Progress } from './events.ts';
import type { Limit, RunView, Span } from './run-view.ts';

/** What happened over time, in spans of equal width that get wider as the run gets longer. */
export interface Timeline {
  /** Spreads the calls since the previous progress evenly over that time. */
  progress(now: Progress, limit: Limit | undefined): void;
  /** The spans as they are now. */
  read(): Pick<RunView, 'spanMs' | 'spans'>;
}

/** What is added up in a span. */
interface Sums {
  calls: number;
  throttled: number;
  limit?: number | undefined;
}

const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;

export function createTimeline(): Timeline {
  let spanMs = FIRST_SPAN_MS;
  let spans: Sums[] = [];
  let last = { calls: 0, throttled: 0, lookupMs: 0 };

  function spanAt(atMs: number): Sums {
    const index = Math.floor(atMs / spanMs);
    while (spans.length <= index) spans.push({ calls: 0, throttled: 0 });
    return spans[index] as Sums;
  }

  return {
    progress: ({ calls, throttled, lookupMs }, limit) => {
      while (lookupMs >= spanMs * MOST_SPANS) {
        spans = spans.flatMap((one, at) => (at % 2 === 0 ? [join(one, spans[at + 1])] : []));
        spanMs *= 2;
      }
      const fromMs = Math.min(last.lookupMs, lookupMs);
      for (let atMs = fromMs; ; ) {
        const nextMs = Math.min(lookupMs, (Math.floor(atMs / spanMs) + 1) * spanMs);
        const share = lookupMs === fromMs ? 1 : (nextMs - atMs) / (lookupMs - fromMs);
        const span = spanAt(atMs);
        span.calls += (calls - last.calls) * share;
        span.throttled += (throttled - last.throttled) * share;
        span.limit = limit?.limitPerSecond ?? span.limit;
        if (nextMs >= lookupMs) break;
        atMs = nextMs;
      }
      last = { calls, throttled, lookupMs };
    },
    read: () => ({
      spanMs,
      spans: spans.map((sums, at) => {
        const lastsMs = Math.max(1, Math.min(spanMs, last.lookupMs - at * spanMs));
        return toSpan(sums, at * spanMs, lastsMs);
      }),
    }),
  };
}

function join(one: Sums, other: Sums | undefined): Sums {
  if (!other) return one;
  return {
    calls: one.calls + other.calls,
    throttled: one.throttled + other.throttled,
    limit: other.limit ?? one.limit,
  };
}

function toSpan(sums: Sums, atMs: number, lastsMs: number): Span {
  const perSecond = (amount: number): number => round((Math.max(0, amount) / lastsMs) * 1_000, 2);
  return {
    atMs,
    callsPerSecond: perSecond(sums.calls),
    throttledPerSecond: perSecond(sums.throttled),
    ...(sums.limit !== undefined && { limitPerSecond: round(sums.limit, 2) }),
  };
}

/** How long calls took, without keeping each. */
interface Latencies {
  add(latencyMs: number): void;
  /** Undefined when there were none. */
  describe(): RunView['latency'];
}

/** Calls to a server on the same machine take less than a millisecond. */
const UNITS_PER_MS = 10;
const LONGEST_UNITS = 60 * 60_000 * UNITS_PER_MS;

export function createLatencies(): Latencies {
  // HdrHistogram, which Node.js includes.
  const histogram = createHistogram({ lowest: 1, highest: LONGEST_UNITS, figures: 3 });
  return {
    add: (latencyMs) => {
      const units = Math.round(latencyMs * UNITS_PER_MS);
      histogram.record(Math.max(1, Math.min(LONGEST_UNITS, units)));
    },
    describe: () => {
      const [p50Ms = 0, p95Ms = 0] = [50, 95].map((percent) =>
        round(histogram.percentile(percent) / UNITS_PER_MS, 1),
      );
      return histogram.count === 0 ? undefined : { calls: histogram.count, p50Ms, p95Ms };
    },
  };
}
