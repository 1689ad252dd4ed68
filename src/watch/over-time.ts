import { round } from '../common/format.ts';
import { isStalled, type RunView, type Span } from './run-view.ts';

type Figures = Pick<
  RunView,
  'due' | 'lookups' | 'calls' | 'throttled' | 'lookupMs' | 'limit' | 'wait'
>;

/** What was counted until then. */
interface Point extends Pick<RunView, 'lookups' | 'calls' | 'throttled'> {
  /** Since the lookups began. */
  readonly atMs: number;
  /** The part of it in which calls were let through. */
  readonly workedMs: number;
  readonly limitPerSecond?: number | undefined;
}

const START: Point = { atMs: 0, workedMs: 0, lookups: 0, calls: 0, throttled: 0 };
const RATE_WINDOW_MS = 5_000;
/** The rest is assumed to go as fast as the lookups of this much time. */
const LEFT_WINDOW_MS = 30_000;
/** With fewer counts a rate looks back further. */
const LEAST = 10;
const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;
/** Points of so long ago are kept however long the run is. */
const RECENT_MS = 60_000;

/**
 * The speed of a run: now, over its time, and how long it still takes. The time left goes by the
 * lookups of the last half minute in which calls were let through. A wait counts only with what is
 * left of it: an hour that the API asked to wait does not make everything after it slow.
 */
export function createSpeed() {
  /** A span apart: of too many every second one goes, and spans are twice as long. */
  let points: readonly Point[] = [START];
  /** All of the last minute. */
  let recent: readonly Point[] = [];
  let spanMs = FIRST_SPAN_MS;
  let leftMs: number | undefined;
  return {
    add: ({ due, lookups, calls, throttled, lookupMs: atMs, limit, wait }: Figures): void => {
      const [before = START, newest = before] = points.slice(-2);
      const isWork = !wait || wait.why === 'rate';
      const workedMs = newest.workedMs + (isWork ? atMs - newest.atMs : 0);
      const { limitPerSecond } = limit ?? {};
      const point = { atMs, workedMs, lookups, calls, throttled, limitPerSecond };
      recent = [...recent.filter((old) => atMs - old.atMs <= RECENT_MS), point];
      // The newest point moves on until it is a span away from the one before.
      const isNear = newest !== before && newest.atMs - before.atMs < spanMs;
      points = [...(isNear ? points.slice(0, -1) : points), point];
      if (points.length > MOST_SPANS) {
        points = points.filter((_, at) => at % 2 === 0);
        spanMs *= 2;
      }
      const perSecond = rateOf([...points, ...recent], 'lookups', 'workedMs', LEFT_WINDOW_MS);
      const workMs = ((due - lookups) / perSecond) * 1_000;
      const isOpen = wait && (isStalled(wait) || wait.why === 'backing_off');
      const isKnown = perSecond > 0 && !isOpen;
      leftMs = isKnown ? Math.round(workMs + (wait?.leftMs ?? 0)) : undefined;
    },
    read: () => ({
      ratePerSecond: round(rateOf([...points, ...recent], 'calls', 'atMs', RATE_WINDOW_MS), 1),
      leftMs,
      spanMs,
      spans: points.slice(1).map((end, at) => spanBetween(points[at] ?? end, end)),
    }),
  };
}

/**
 * How fast a count grows, per second, over a window. Where little happens, such as at six calls a
 * minute, it looks back further: otherwise it would jump between nothing and far too much.
 */
function rateOf(
  points: readonly Point[],
  count: 'calls' | 'lookups',
  time: 'atMs' | 'workedMs',
  windowMs: number,
): number {
  const newest = points.at(-1) ?? START;
  const isFarEnough = (point: Point): boolean =>
    newest[time] - point[time] >= windowMs && newest[count] - point[count] >= LEAST;
  const from = points.findLast(isFarEnough) ?? START;
  const ms = newest[time] - from[time];
  return ms > 0 ? ((newest[count] - from[count]) / ms) * 1_000 : 0;
}

function spanBetween(start: Point, end: Point): Span {
  const seconds = Math.max(1, end.atMs - start.atMs) / 1_000;
  const { limitPerSecond: limit } = end;
  return {
    atMs: Math.round(start.atMs),
    callsPerSecond: round((end.calls - start.calls) / seconds, 2),
    throttledPerSecond: round((end.throttled - start.throttled) / seconds, 2),
    limitPerSecond: limit === undefined ? undefined : round(limit, 2),
  };
}
