import {
  accepted,
  createPace,
  ended,
  nextStartMs,
  type Pace,
  refused,
  start as startCall,
} from '../../src/worker/pace.ts';
import type { World } from './simulate.ts';

/** One process that keeps the state to itself, with so many callers. */
export function oneProcess(
  callers: number,
  state: Pace = createPace(0, { limitPerMs: 0, cap: 0, isFixed: false }),
) {
  return (world: World): void => {
    const { time } = world;
    let inFlight = 0;
    let wakesAtMs = -1;

    function pump(): void {
      while (inFlight < callers && !world.isDone()) {
        const nowMs = time.nowMs();
        const nextMs = nextStartMs(state, nowMs, inFlight);
        if (nextMs === Number.POSITIVE_INFINITY) return;
        if (nextMs > nowMs) return wakeAt(nextMs);
        if (!world.take()) return;
        startCall(state, nowMs);
        start();
      }
    }

    function start(): void {
      inFlight += 1;
      const inFlightThen = inFlight;
      world.send((event) => {
        inFlight -= 1;
        const call = { ...event, inFlight: inFlightThen };
        if (event.kind === 'accepted') accepted(state, call, time.nowMs());
        else if (event.kind === 'throttled') refused(state, call, time.nowMs());
        else ended(state, call.sentAtMs);
        pump();
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
