import { book, createPaceState, nextStart, type PaceState, report } from '../../src/pace/pacer.ts';
import { createFindings } from './read-headers.ts';
import type { World } from './simulate.ts';

/** One process that keeps the state to itself, with so many callers. */
export function oneProcess(callers: number, state: PaceState = createPaceState({}, 0)) {
  return (world: World): void => {
    const { time } = world;
    let inFlight = 0;
    let wakesAtMs = -1;
    const findings = createFindings();

    function pump(): void {
      while (inFlight < callers && !world.isDone()) {
        const nowMs = time.nowMs();
        const next = nextStart(state, { nowMs, inFlight });
        if (next === 'wait_for_answer') return;
        if (next.atMs > nowMs) return wakeAt(next.atMs);
        if (!world.take()) return;
        book(state, nowMs);
        start();
      }
    }

    function start(): void {
      inFlight += 1;
      const inFlightThen = inFlight;
      world.send(findings, (event) => {
        inFlight -= 1;
        report(state, { ...event, inFlight: inFlightThen, random: world.random() }, time.nowMs());
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
