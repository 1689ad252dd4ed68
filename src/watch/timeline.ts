import { round } from '../common/format.ts';
import type { Limit } from '../worker/pace-memory.ts';
import type { Progress } from './events.ts';
import type { RunView, Span } from './run-view.ts';

/** What happened over time, in spans that get wider as the run gets longer. */
export interface Timeline {
  progress(now: Pick<Progress, 'calls' | 'throttled' | 'lookupMs'>, limit?: Limit): void;
  /** The spans as they are now. */
  read(): Pick<RunView, 'spanMs' | 'spans'>;
}

/** What was counted until then. */
interface Point {
  readonly atMs: number;
  readonly calls: number;
  readonly throttled: number;
  readonly limitPerSecond?: number | undefined;
}

const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;

/** Keeps points that are a span apart; of too many every second one goes, and spans are twice as long. */
export function createTimeline(): Timeline {
  let spanMs = FIRST_SPAN_MS;
  let points: Point[] = [{ atMs: 0, calls: 0, throttled: 0 }];
  return {
    progress: ({ calls, throttled, lookupMs: atMs }, limit) => {
      const [before, newest] = points.slice(-2);
      // The newest point moves on until it is a span away from the one before.
      if (before && newest && newest.atMs - before.atMs < spanMs) points.pop();
      points.push({ atMs, calls, throttled, limitPerSecond: limit?.limitPerSecond });
      if (points.length <= MOST_SPANS) return;
      points = points.filter((_, at) => at % 2 === 0);
      spanMs *= 2;
    },
    read: () => ({
      spanMs,
      spans: points.slice(1).map((end, at) => spanBetween(points[at] ?? end, end)),
    }),
  };
}

function spanBetween(start: Point, end: Point): Span {
  const seconds = Math.max(1, end.atMs - start.atMs) / 1_000;
  const { limitPerSecond: limit } = end;
  return {
    atMs: Math.round(start.atMs),
    callsPerSecond: round((end.calls - start.calls) / seconds, 2),
    throttledPerSecond: round((end.throttled - start.throttled) / seconds, 2),
    ...(limit !== undefined && { limitPerSecond: round(limit, 2) }),
  };
}
