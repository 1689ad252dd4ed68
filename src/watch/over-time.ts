import { round } from '../common/format.ts';
import type { RunView, Span } from './run-view.ts';

/** The speed of a run: now, over its time, and how long it still takes. */
export interface Speed {
  add(now: Figures): void;
  read(): Pick<RunView, 'ratePerSecond' | 'leftMs' | 'spanMs' | 'spans'>;
}

type Figures = Pick<
  RunView,
  'due' | 'lookups' | 'calls' | 'throttled' | 'lookupMs' | 'limit' | 'wait'
>;

const RATE_WINDOW_MS = 5_000;
/** The rest is assumed to go as fast as the lookups of this much time. */
const LEFT_WINDOW_MS = 30_000;

/**
 * The time left goes by the lookups of the last half minute in which calls were let through. A wait
 * counts only with what is left of it: an hour that the API asked to wait does not make everything
 * after it slow.
 */
export function createSpeed(): Speed {
  const calls = createRecentRate(RATE_WINDOW_MS);
  const lookups = createRecentRate(LEFT_WINDOW_MS);
  const timeline = createTimeline();
  let workedMs = 0;
  let lookedAtMs = 0;
  let leftMs: number | undefined;
  return {
    add: ({ due, lookups: done, calls: made, throttled, lookupMs: atMs, limit, wait }) => {
      if (!wait || wait.why === 'rate') workedMs += atMs - lookedAtMs;
      lookedAtMs = atMs;
      calls.add({ atMs, count: made });
      lookups.add({ atMs: workedMs, count: done });
      timeline.add({ atMs, calls: made, throttled, limitPerSecond: limit?.limitPerSecond });
      const isKnown = lookups.perSecond > 0 && wait?.why !== 'no_worker';
      const workMs = ((due - done) / lookups.perSecond) * 1_000;
      leftMs = isKnown ? Math.round(workMs + (wait?.leftMs ?? 0)) : undefined;
    },
    read: () => ({ ratePerSecond: round(calls.perSecond, 1), leftMs, ...timeline.read() }),
  };
}

/** A count at a time since any fixed moment, which never decreases. */
interface Sample {
  readonly atMs: number;
  readonly count: number;
}

const LONGEST_MS = 60_000;
/** With fewer counts it looks back further, up to a minute. */
const LEAST = 10;

/**
 * How fast a count grows, per second, over the last seconds; 0 before there are two samples. Where
 * little happens, such as at six calls a minute, it looks back further: otherwise it would jump
 * between nothing and far too much.
 */
function createRecentRate(windowMs: number) {
  let samples: readonly Sample[] = [];
  return {
    add: (sample: Sample): void => {
      const isKept = ({ atMs }: Sample): boolean =>
        atMs < sample.atMs && sample.atMs - atMs <= LONGEST_MS;
      samples = [...samples.filter(isKept), sample];
    },
    get perSecond(): number {
      const newest = samples.at(-1) ?? { atMs: 0, count: 0 };
      const isFarEnough = ({ atMs, count }: Sample): boolean =>
        newest.atMs - atMs >= windowMs && newest.count - count >= LEAST;
      const { atMs, count } = samples.findLast(isFarEnough) ?? samples[0] ?? newest;
      return newest.atMs > atMs ? ((newest.count - count) / (newest.atMs - atMs)) * 1_000 : 0;
    },
  };
}

/** What was counted until then, and the limit. */
type Point = Pick<RunView, 'calls' | 'throttled'> & Pick<Span, 'atMs' | 'limitPerSecond'>;

const MOST_SPANS = 120;
const FIRST_SPAN_MS = 250;

/** Keeps points that are a span apart; of too many every second one goes, and spans are twice as long. */
function createTimeline() {
  let spanMs = FIRST_SPAN_MS;
  let points: Point[] = [{ atMs: 0, calls: 0, throttled: 0 }];
  return {
    add: (point: Point): void => {
      const [before, newest] = points.slice(-2);
      // The newest point moves on until it is a span away from the one before.
      if (before && newest && newest.atMs - before.atMs < spanMs) points.pop();
      points.push(point);
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
    limitPerSecond: limit === undefined ? undefined : round(limit, 2),
  };
}
