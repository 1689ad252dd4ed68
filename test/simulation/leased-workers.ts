import type { PaceEvent } from '../../src/pace/pace-event.ts';
import { book, createPaceState, nextStart, report } from '../../src/pace/pacer.ts';
import type { World } from './simulate.ts';

/** Start times are given out this far ahead. */
const LEASE_MS = 100;
/** A worker comes for more this often: a little earlier than it has to. */
const EXCHANGE_MS = 80;
/** To the shared state and back. */
const ROUND_TRIP_MS = 1;
/** Who waits for an answer comes again with one, but no sooner than this. */
const LEAST_EXCHANGE_MS = 2;

interface Worker {
  /** Its calls in flight. */
  inFlight: number;
  /** What the shared state knows of that. */
  reported: number;
  /** Start times that it has taken and not used yet. */
  startsMs: number[];
  /** What happened since it came last. */
  events: PaceEvent[];
  /** Calls in flight of the others, as it was told last. */
  others: number;
  isWaitingForAnswer: boolean;
  isComing: boolean;
  /** Start times of an earlier lease are void. */
  lease: number;
}

/** So many processes that share one state: each hears and tells of it only when it comes for start times. */
export function leasedWorkers({ workers, callers }: { workers: number; callers: number }) {
  return (world: World): void => {
    const { time } = world;
    const state = createPaceState({}, 0);
    const all = Array.from(
      { length: workers },
      (): Worker => ({
        inFlight: 0,
        reported: 0,
        startsMs: [],
        events: [],
        others: 0,
        isWaitingForAnswer: false,
        isComing: false,
        lease: 0,
      }),
    );
    /** Calls in flight as far as the shared state knows: start times given out count at once. */
    const knownInFlight = (): number =>
      all.reduce((sum, worker) => sum + worker.reported + worker.startsMs.length, 0);

    function exchange(worker: Worker): void {
      const nowMs = time.nowMs();
      worker.reported = worker.inFlight;
      for (const event of worker.events) report(state, event, nowMs);
      worker.events = [];
      worker.isWaitingForAnswer = false;
      while (worker.inFlight + worker.startsMs.length < callers) {
        const next = nextStart(state, { nowMs, inFlight: knownInFlight() });
        if (next === 'wait_for_answer') worker.isWaitingForAnswer = true;
        if (next === 'wait_for_answer' || next.atMs > nowMs + LEASE_MS) break;
        if (!world.take()) break;
        book(state, next.atMs);
        worker.startsMs.push(next.atMs);
        const { lease } = worker;
        time.at(next.atMs + ROUND_TRIP_MS / 2, () => {
          if (worker.lease === lease) start(worker);
        });
      }
      worker.others = all.reduce((sum, { reported }) => sum + reported, 0) - worker.inFlight;
    }

    function start(worker: Worker): void {
      worker.startsMs.shift();
      worker.inFlight += 1;
      worker.reported += 1;
      const inFlight = worker.inFlight + worker.others;
      world.send((event) => {
        worker.inFlight -= 1;
        worker.events.push({ ...event, inFlight, random: world.random() });
        // A 429 is told at once, and start times of before are no good any more.
        if (event.kind === 'throttled') dropStarts(worker);
        if (event.kind === 'throttled' || worker.isWaitingForAnswer) comeSoon(worker);
      });
    }

    function dropStarts(worker: Worker): void {
      world.giveBack(worker.startsMs.length);
      worker.startsMs = [];
      worker.lease += 1;
    }

    function comeSoon(worker: Worker): void {
      if (worker.isComing) return;
      worker.isComing = true;
      time.at(time.nowMs() + LEAST_EXCHANGE_MS * world.random() + ROUND_TRIP_MS / 2, () => {
        worker.isComing = false;
        exchange(worker);
      });
    }

    for (const worker of all) {
      const again = (): void => {
        if (world.isDone()) return;
        exchange(worker);
        time.at(time.nowMs() + EXCHANGE_MS * (0.9 + 0.2 * world.random()), again);
      };
      time.at(world.random() * EXCHANGE_MS, again);
    }
  };
}
