import {
  accepted,
  createPace,
  ended,
  nextStartMs,
  type Pace,
  type PacedCall,
  refused,
  start,
} from '../../src/worker/pace.ts';
import type { CallEnd, World } from './simulate.ts';

/** A worker comes for start times this often at the soonest, and they are for this long. */
const GAP_MS = 20;
const SPAN_MS = 100;
/** To the shared state and back. */
const ROUND_TRIP_MS = 1;

interface Shared {
  readonly pace: Pace;
  /** Calls under way and starts held, by worker, as each said last. */
  readonly busy: number[];
}

/** So many processes that share one pace, each of which comes for it as `redis-pace.ts` does. */
export function leasedWorkers({ workers, callers }: { workers: number; callers: number }) {
  return (world: World): void => {
    const pace = createPace(0, { limitPerMs: 0, cap: 0, isFixed: false });
    const shared: Shared = { pace, busy: Array<number>(workers).fill(0) };
    for (let index = 0; index < workers; index += 1) startWorker(world, { shared, callers, index });
  };
}

interface Setting {
  readonly shared: Shared;
  readonly callers: number;
  readonly index: number;
}

function startWorker(world: World, { shared, callers, index }: Setting): void {
  const { time } = world;
  const { pace, busy } = shared;
  let inFlight = 0;
  let starts: number[] = [];
  /** What ended since it came last. */
  let events: {
    readonly kind: CallEnd['kind'];
    readonly call: PacedCall;
    readonly atMs: number;
  }[] = [];
  let knownCutMs = pace.cutMs;
  let comesAtMs = Number.POSITIVE_INFINITY;
  let cameMs = Number.NEGATIVE_INFINITY;

  const others = (): number => busy.reduce((sum, count, at) => sum + (at === index ? 0 : count), 0);

  function exchange(): void {
    const nowMs = time.nowMs();
    cameMs = nowMs;
    for (const { kind, call, atMs } of events) {
      const seen = { ...call, inFlight: call.inFlight + others() };
      if (kind === 'accepted') accepted(pace, seen, atMs);
      else if (kind === 'throttled') refused(pace, seen, atMs);
      else ended(pace, call.sentAtMs);
    }
    events = [];
    if (pace.cutMs > knownCutMs) drop();
    knownCutMs = pace.cutMs;
    const want = callers - inFlight - starts.length;
    const fromMs = nowMs + ROUND_TRIP_MS;
    for (let granted = 0; granted < want; granted += 1) {
      const atMs = nextStartMs(pace, fromMs, others() + inFlight + starts.length);
      if (atMs > fromMs + SPAN_MS) break;
      start(pace, atMs);
      starts.push(atMs);
    }
    busy[index] = inFlight + starts.length;
    time.at(fromMs, letThrough);
    if (!world.isDone()) comeAt(nowMs + SPAN_MS * (0.45 + 0.1 * world.random()));
  }

  function drop(): void {
    for (const atMs of starts) ended(pace, atMs);
    starts = [];
  }

  function letThrough(): void {
    const nowMs = time.nowMs();
    while ((starts[0] ?? Number.POSITIVE_INFINITY) <= nowMs) {
      const sentAtMs = starts.shift() ?? nowMs;
      if (inFlight < callers && world.take()) send();
      else ended(pace, sentAtMs);
    }
    const next = starts[0];
    if (next !== undefined) time.at(next, letThrough);
    else if (inFlight < callers && !world.isDone()) comeAt(Math.max(nowMs, cameMs + GAP_MS));
  }

  function send(): void {
    inFlight += 1;
    const here = inFlight;
    world.send(({ kind, ...call }) => {
      inFlight -= 1;
      const atMs = time.nowMs();
      events.push({ kind, call: { ...call, inFlight: here }, atMs });
      if (kind === 'throttled') drop();
      comeAt(kind === 'throttled' ? atMs + ROUND_TRIP_MS : Math.max(atMs, cameMs + GAP_MS));
    });
  }

  function comeAt(atMs: number): void {
    if (comesAtMs > time.nowMs() && comesAtMs <= atMs) return;
    comesAtMs = atMs;
    time.at(atMs, () => {
      if (comesAtMs !== atMs || world.isDone()) return;
      comesAtMs = Number.POSITIVE_INFINITY;
      exchange();
    });
  }

  comeAt(world.random() * SPAN_MS);
}
