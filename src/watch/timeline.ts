import { createHistogram } from 'node:perf_hooks';
import { round } from '../common/format.ts';
import type { PaceDescription } from '../worker/pace-memory.ts';
import type { Progress } from './events.ts';
import type { RunView, Span } from './run-view.ts';

/** What happened over time, in spans of equal width that get wider as the run gets longer. */
export interface Timeline {
  /** Spreads the calls since the previous progress evenly over that time. */
  progress(now: Progress): void;
  /** The spans as they are now. */
  read(): Pick<RunView, 'spanMs' | 'spans'>;
}

/** What is added up in a span; held-up times in milliseconds. */
interface Sums {
  calls: number;
  throttled: number;
  limitPerSecond: number | undefined;
  paused: number;
  outage: number;
  told: number;
}

const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;
/** A shorter hold-up, as a share of its span, cannot be seen in a chart. */
const LEAST_SHARE = 0.2;

export function createTimeline(): Timeline {
  let spanMs = FIRST_SPAN_MS;
  let spans: Sums[] = [];
  let endMs = 0;
  let last = { calls: 0, throttled: 0, elapsedMs: 0 };

  /** Joins spans in pairs until there is one for a moment. */
  function widenTo(atMs: number): void {
    while (atMs >= spanMs * MOST_SPANS) {
      spans = spans.flatMap((one, at) => (at % 2 === 0 ? [join(one, spans[at + 1])] : []));
      spanMs *= 2;
    }
  }

  function spanAt(atMs: number): Sums {
    widenTo(atMs);
    const index = Math.floor(atMs / spanMs);
    for (let span = spans[index]; ; span = spans[index]) {
      if (span) return span;
      spans.push(emptySums());
    }
  }

  /** Calls `add` with each span between two moments, and the share of that time that is in it. */
  function spread(fromMs: number, toMs: number, add: (span: Sums, share: number) => void): void {
    widenTo(toMs);
    if (toMs <= fromMs) return add(spanAt(toMs), 1);
    for (let atMs = fromMs; atMs < toMs; ) {
      const nextMs = Math.min(toMs, (Math.floor(atMs / spanMs) + 1) * spanMs);
      add(spanAt(atMs), (nextMs - atMs) / (toMs - fromMs));
      atMs = nextMs;
    }
  }

  return {
    progress: (now) => {
      const { elapsedMs, calls, throttled } = now;
      endMs = Math.max(endMs, elapsedMs);
      const limit = limitOf(now.pace);
      const heldBy = findHoldUp(now);
      const before = last;
      last = { calls, throttled, elapsedMs };
      const fromMs = Math.min(before.elapsedMs, elapsedMs);
      spread(fromMs, elapsedMs, (span, share) => {
        span.calls += (calls - before.calls) * share;
        span.throttled += (throttled - before.throttled) * share;
        span.limitPerSecond = limit ?? span.limitPerSecond;
        if (heldBy) span[heldBy] += (elapsedMs - fromMs) * share;
      });
    },
    read: () => ({
      spanMs,
      spans: spans.map((sums, at) => {
        const atMs = at * spanMs;
        return toSpan(sums, atMs, Math.max(1, Math.min(spanMs, endMs - atMs)));
      }),
    }),
  };
}

/** The limit that calls are held to, in calls per second, if it is known. */
export function limitOf(pace: PaceDescription | undefined): number | undefined {
  return pace?.limitIs === 'fixed' ? pace.ratePerSecond : pace?.learnedLimitPerSecond;
}

/** What keeps all calls from starting. While somebody has paused them, nothing else is to blame. */
function findHoldUp({ isPaused = false, outage, pace }: Progress): Span['heldBy'] {
  if (isPaused) return 'paused';
  if (outage !== undefined) return 'outage';
  return pace?.why === 'retry_after' || pace?.why === 'backing_off' ? 'told' : undefined;
}

function emptySums(): Sums {
  return { calls: 0, throttled: 0, limitPerSecond: undefined, paused: 0, outage: 0, told: 0 };
}

function join(one: Sums, other: Sums | undefined): Sums {
  if (!other) return one;
  return {
    calls: one.calls + other.calls,
    throttled: one.throttled + other.throttled,
    limitPerSecond: other.limitPerSecond ?? one.limitPerSecond,
    paused: one.paused + other.paused,
    outage: one.outage + other.outage,
    told: one.told + other.told,
  };
}

function toSpan(sums: Sums, atMs: number, lastsMs: number): Span {
  const perSecond = (amount: number): number => round((Math.max(0, amount) / lastsMs) * 1_000, 2);
  const { limitPerSecond: limit } = sums;
  const holdUps = ['paused', 'outage', 'told'] as const;
  const longest = holdUps.reduce((one, other) => (sums[other] > sums[one] ? other : one));
  return {
    atMs,
    callsPerSecond: perSecond(sums.calls),
    throttledPerSecond: perSecond(sums.throttled),
    ...(limit === undefined ? {} : { limitPerSecond: round(limit, 2) }),
    ...(sums[longest] > LEAST_SHARE * lastsMs ? { heldBy: longest } : {}),
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
  const percentile = (percent: number): number => ms(histogram.percentile(percent));
  return {
    add: (latencyMs) => {
      const units = Math.round(latencyMs * UNITS_PER_MS);
      histogram.record(Math.max(1, Math.min(LONGEST_UNITS, units)));
    },
    describe: () =>
      histogram.count === 0
        ? undefined
        : {
            calls: histogram.count,
            p50Ms: percentile(50),
            p95Ms: percentile(95),
            maxMs: ms(histogram.max),
          },
  };
}
