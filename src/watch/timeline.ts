import { createHistogram } from 'node:perf_hooks';
import { round } from '../common/format.ts';
import type { Progress } from './events.ts';
import type { Limit, RunView, Span } from './run-view.ts';

/** What happened over time, in spans of equal width that get wider as the run gets longer. */
export interface Timeline {
  /** Spreads the calls since the previous progress evenly over that time. */
  progress(now: Progress, held: Held): void;
  /** The spans as they are now. */
  read(): Pick<RunView, 'spanMs' | 'spans'>;
}

interface Held {
  readonly heldBy?: Span['heldBy'];
  readonly limit?: Limit | undefined;
}

const HOLD_UPS = ['paused', 'outage', 'told'] as const;

/** What is added up in a span; held-up times in milliseconds. */
type Sums = Record<'calls' | 'throttled' | (typeof HOLD_UPS)[number], number> & { limit?: number };

const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;
/** A shorter hold-up, as a share of its span, cannot be seen in a chart. */
const LEAST_SHARE = 0.2;

export function createTimeline(): Timeline {
  let spanMs = FIRST_SPAN_MS;
  let spans: Sums[] = [];
  let last = { calls: 0, throttled: 0, lookupMs: 0 };

  function spanAt(atMs: number): Sums {
    const index = Math.floor(atMs / spanMs);
    while (spans.length <= index) {
      spans.push({ calls: 0, throttled: 0, paused: 0, outage: 0, told: 0 });
    }
    return spans[index] as Sums;
  }

  return {
    progress: ({ calls, throttled, lookupMs }, { heldBy, limit }) => {
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
        if (limit?.limitPerSecond !== undefined) span.limit = limit.limitPerSecond;
        if (heldBy) span[heldBy] += nextMs - atMs;
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

function join(one: Sums, other: Sums = one): Sums {
  if (other === one) return one;
  const sums = { ...one };
  for (const of of ['calls', 'throttled', ...HOLD_UPS] as const) sums[of] += other[of];
  return other.limit === undefined ? sums : { ...sums, limit: other.limit };
}

function toSpan(sums: Sums, atMs: number, lastsMs: number): Span {
  const perSecond = (amount: number): number => round((Math.max(0, amount) / lastsMs) * 1_000, 2);
  const longest = HOLD_UPS.reduce((one, other) => (sums[other] > sums[one] ? other : one));
  return {
    atMs,
    callsPerSecond: perSecond(sums.calls),
    throttledPerSecond: perSecond(sums.throttled),
    ...(sums.limit !== undefined && { limitPerSecond: round(sums.limit, 2) }),
    ...(sums[longest] > LEAST_SHARE * lastsMs && { heldBy: longest }),
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
  const ms = (units: number): number => round(units / UNITS_PER_MS, 1);
  return {
    add: (latencyMs) => {
      const units = Math.round(latencyMs * UNITS_PER_MS);
      histogram.record(Math.max(1, Math.min(LONGEST_UNITS, units)));
    },
    describe: () => {
      const { count: calls, max } = histogram;
      const [p50Ms = 0, p95Ms = 0] = [50, 95].map((percent) => ms(histogram.percentile(percent)));
      return calls === 0 ? undefined : { calls, p50Ms, p95Ms, maxMs: ms(max) };
    },
  };
}
