import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** How long calls took, without keeping each. */
export interface Latencies {
  add(latencyMs: number): void;
  merge(other: Latencies): void;
  /** Undefined when there were none. */
  describe(): LatencyFigures | undefined;
  readonly histogram: RecordableHistogram;
}

/** In milliseconds; each percentile is what that share of the calls took at most. */
export interface LatencyFigures {
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
