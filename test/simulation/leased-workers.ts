import {
  type EndedCall,
  LEASE_MS,
  type Lease,
  NO_LEASE,
  takeLease,
} from '../../src/pace/shared/lease.ts';
import { readSharedPace } from '../../src/pace/shared/state.ts';
import type { World } from './simulate.ts';

/** A worker comes for more this often: a little earlier than it has to. */
const EXCHANGE_MS = 0.9 * LEASE_MS;
/** To the shared state and back. */
const ROUND_TRIP_MS = 1;

interface Worker {
  readonly name: string;
  inFlight: number;
  lease: Lease;
  startsMs: number[];
  /** What happened since it came last. */
  events: EndedCall[];
  used: number;
  unused: number;
  isComing: boolean;
}

/** So many processes that share one state: each hears and tells of it only when it comes for start times. */
export function leasedWorkers({ workers, callers }: { workers: number; callers: number }) {
  return (world: World): void => {
    const { time } = world;
    const shared = readSharedPace(undefined, { nowMs: 0, rate: undefined });
    const all = Array.from(
      { length: workers },
      (_, index): Worker => ({
        name: `w${index}`,
        inFlight: 0,
        lease: NO_LEASE,
        startsMs: [],
        events: [],
        used: 0,
        unused: 0,
        isComing: false,
      }),
    );

    function exchange(worker: Worker): void {
      const { name, inFlight, events, startsMs, used, unused } = worker;
      const nowMs = time.nowMs();
      const lease = takeLease(
        shared,
        {
          worker: name,
          callers,
          inFlight,
          waiting: world.isDone() ? 0 : callers - inFlight,
          isBusy: used > 0,
          startsMs,
          hasUsedAll: worker.lease.isRateBound && unused <= 0.05 * used,
          events,
          verdicts: [],
          isLeaving: false,
        },
        nowMs,
      );
      worker.events = [];
      worker.used = 0;
      worker.unused = 0;
      worker.lease = lease;
      worker.startsMs = [...lease.startsMs];
      for (const atMs of lease.startsMs.slice(lease.kept)) {
        time.at(Math.max(atMs, nowMs + ROUND_TRIP_MS), () => start(worker, atMs));
      }
    }

    function start(worker: Worker, atMs: number): void {
      const index = worker.startsMs.indexOf(atMs);
      if (index < 0) return; // void
      worker.startsMs.splice(index, 1);
      if (worker.inFlight >= Math.min(callers, worker.lease.permits) || !world.take()) {
        worker.unused += 1;
        return;
      }
      worker.used += 1;
      worker.inFlight += 1;
      const here = worker.inFlight;
      world.send((event) => {
        worker.inFlight -= 1;
        const { elsewhere, permits, mostInFlight } = worker.lease;
        const flying = here + elsewhere;
        const inFlight = here >= permits ? Math.max(flying, mostInFlight) : flying;
        worker.events.push({ ...event, inFlight, random: world.random(), endedAtMs: time.nowMs() });
        if (event.kind !== 'throttled') return;
        // It is told at once, and start times of before are no good any more.
        worker.startsMs = [];
        comeSoon(worker);
      });
    }

    function comeSoon(worker: Worker): void {
      if (worker.isComing) return;
      worker.isComing = true;
      time.at(time.nowMs() + ROUND_TRIP_MS, () => {
        worker.isComing = false;
        exchange(worker);
      });
    }

    for (const worker of all) {
      const again = (): void => {
        if (world.isDone()) return;
        exchange(worker);
        time.at(time.nowMs() + EXCHANGE_MS * (0.95 + 0.1 * world.random()), again);
      };
      time.at(world.random() * EXCHANGE_MS, again);
    }
  };
}
