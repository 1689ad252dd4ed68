import {
  accepted,
  createPace,
  ended,
  nextStartMs,
  type Pace,
  type PacedCall,
  type Refusal,
  refused,
  start as startCall,
} from '../../src/worker/pace.ts';
import type { World } from './simulate.ts';

/** What one process told its pace, and was told by it, at one time. */
export interface Step {
  readonly nowMs: number;
  /** A call that has ended. */
  readonly end?: { readonly how: 'good' | Refusal | 'none'; readonly call: PacedCall } | undefined;
  /** Calls under way after that, and how many were started, if any could. */
  readonly inFlight: number;
  readonly started: number;
}

export interface ProcessOptions {
  /** What a refusal is taken for. @default 'refused' */
  readonly how?: Refusal;
  onStep?(step: Step): void;
}

/** One process that keeps the state to itself, with so many callers. */
export function oneProcess(
  callers: number,
  state: Pace = createPace(0, { limitPerMs: 0, cap: 0, isFixed: false }),
  { how: refusal = 'refused', onStep }: ProcessOptions = {},
) {
  return (world: World): void => {
    const { time } = world;
    let inFlight = 0;
    let wakesAtMs = -1;

    function pump(end?: Step['end']): void {
      const before = inFlight;
      const nextMs = startAll();
      const started = inFlight - before;
      onStep?.({ nowMs: time.nowMs(), end, inFlight: before, started });
      if (nextMs !== Number.POSITIVE_INFINITY) wakeAt(nextMs);
    }

    /** @returns when the next one may start; Infinity: once one has ended */
    function startAll(): number {
      const nowMs = time.nowMs();
      while (inFlight < callers && !world.isDone()) {
        const nextMs = nextStartMs(state, nowMs, inFlight);
        if (nextMs > nowMs) return nextMs;
        if (!world.take()) break;
        startCall(state, nowMs);
        start();
      }
      return Number.POSITIVE_INFINITY;
    }

    function start(): void {
      inFlight += 1;
      const inFlightThen = inFlight;
      world.send((event) => {
        inFlight -= 1;
        const { kind, ...told } = event;
        const call = { ...told, inFlight: inFlightThen };
        const how = HOW[kind] ?? refusal;
        if (how === 'good') accepted(state, call, time.nowMs());
        else if (how === 'none') ended(state, call.sentAtMs);
        else refused(state, call, time.nowMs(), how);
        pump({ how, call });
      });
    }

    function wakeAt(atMs: number): void {
      if (wakesAtMs > time.nowMs() && wakesAtMs <= atMs) return;
      wakesAtMs = atMs;
      time.at(atMs, () => {
        if (wakesAtMs !== atMs) return;
        wakesAtMs = -1;
        pump();
      });
    }

    pump();
  };
}

const HOW = { accepted: 'good', failed: 'none', throttled: undefined } as const;
