import { LEASE_MS, type Lease, NO_LEASE, takeLease } from '../../src/pace/shared/lease.ts';
import { HeldStarts, type StartCounts } from '../../src/pace/shared/rate-limiter.ts';
import { type EndedCall, readSharedPace, type SharedPace } from '../../src/pace/shared/state.ts';
import { createFindings } from './read-headers.ts';
import type { World } from './simulate.ts';

/** A worker comes for more this often: a little earlier than it has to. */
const EXCHANGE_MS = 0.94 * LEASE_MS;
/** To the shared state and back. */
const ROUND_TRIP_MS = 1;
/** Out of turn, because there is nothing left to start, it comes after this time at the soonest… */
const LEAST_EXCHANGE_MS = 50;
/** …and so often in a row; one more for so many exchanges in turn. */
const MOST_EXTRA = 4;
const EXTRA_EVERY = 16;
const UNUSED_SHARE = 0.05;
const HELD_UP_SHARE = 0.1;

/**
 * So many processes that share one state: each hears and tells of it only when it comes for start
 * times. They keep those, and come, as the shared rate limiter does.
 */
export function leasedWorkers({ workers, callers }: { workers: number; callers: number }) {
  return (world: World): void => {
    const shared = readSharedPace(undefined, { nowMs: 0, rate: undefined });
    for (let index = 0; index < workers; index += 1) {
      startWorker(world, { shared, callers, name: `w${index}` });
    }
  };
}

interface Setting {
  readonly shared: SharedPace;
  readonly callers: number;
  readonly name: string;
}

function startWorker(world: World, { shared, callers, name }: Setting): void {
  const { time } = world;
  const findings = createFindings();
  let inFlight = 0;
  let lease: Lease = NO_LEASE;
  const starts = new HeldStarts();
  /** What happened since it came last. */
  let events: EndedCall[] = [];
  let extra = MOST_EXTRA;
  let lastExchangeMs = 0;
  let nextExchangeMs = Number.POSITIVE_INFINITY;
  let wakesAtMs = -1;

  function exchange(): void {
    const nowMs = time.nowMs();
    lastExchangeMs = nowMs;
    extra = Math.min(MOST_EXTRA, extra + 1 / EXTRA_EVERY);
    dropLate();
    const { counts } = starts;
    lease = takeLease(
      shared,
      {
        worker: name,
        callers,
        // When they were sent only counts at a fixed rate.
        sentAtMs: Array<number>(inFlight).fill(nowMs),
        waiting: world.isDone() ? 0 : callers - inFlight,
        isBusy: counts.used > 0,
        startsMs: starts.all,
        hasUsedAll:
          counts.unused <= UNUSED_SHARE * counts.used && (lease.isRateBound || isHeldUp(counts)),
        events,
        verdicts: [],
        isLeaving: false,
      },
      nowMs,
    );
    events = [];
    starts.renew(lease.startsMs, lease.kept, counts);
    comeAt(nowMs + EXCHANGE_MS * (0.95 + 0.1 * world.random()));
    time.at(nowMs + ROUND_TRIP_MS, letThrough);
  }

  const isHeldUp = ({ used, delayed }: StartCounts): boolean =>
    shared.pace.phase === 'starting' && delayed > HELD_UP_SHARE * used;

  function dropLate(): void {
    const nowMs = time.nowMs();
    if (!lease.isRateBound && nowMs <= lease.untilMs) return;
    starts.dropLate(nowMs);
  }

  function letThrough(): void {
    dropLate();
    const nowMs = time.nowMs();
    const most = Math.min(callers, lease.permits);
    while ((starts.nextMs ?? Number.POSITIVE_INFINITY) <= nowMs && inFlight < most) {
      if (!world.take()) return;
      starts.take(nowMs);
      start();
    }
    const { nextMs } = starts;
    if (nextMs === undefined) comeSoon();
    else if (nextMs > nowMs) wakeAt(nextMs);
  }

  function wakeAt(atMs: number): void {
    if (wakesAtMs > time.nowMs() && wakesAtMs <= atMs) return;
    wakesAtMs = atMs;
    time.at(atMs, () => {
      if (wakesAtMs !== atMs) return;
      wakesAtMs = -1;
      starts.countHeldUp(letThrough);
    });
  }

  function start(): void {
    inFlight += 1;
    const here = inFlight;
    world.send(findings, (event) => {
      inFlight -= 1;
      const { elsewhere, isPermitBound, permits, mostInFlight } = lease;
      const flying = here + elsewhere;
      const isAtBound = isPermitBound && here >= permits;
      const inFlightThen = isAtBound ? Math.max(flying, mostInFlight) : flying;
      const endedAtMs = time.nowMs();
      const { kind, sentAtMs, latencyMs, retryAfterMs, limits } = event;
      const random = world.random();
      events.push({
        kind,
        sentAtMs,
        latencyMs,
        inFlight: inFlightThen,
        retryAfterMs,
        limits,
        random,
        endedAtMs,
      });
      if (kind !== 'throttled') return letThrough();
      // It is told at once, and start times of before are no good any more.
      starts.clear();
      comeAt(endedAtMs + ROUND_TRIP_MS);
    });
  }

  /** Nothing is left to start, and the next exchange may be far. */
  function comeSoon(): void {
    if (inFlight === callers || lease.isRateBound || extra < 1) return;
    const atMs = Math.max(time.nowMs(), lastExchangeMs + LEAST_EXCHANGE_MS);
    if (nextExchangeMs <= atMs) return;
    extra -= 1;
    comeAt(atMs);
  }

  function comeAt(atMs: number): void {
    if (nextExchangeMs > time.nowMs() && nextExchangeMs <= atMs) return;
    nextExchangeMs = atMs;
    time.at(atMs, () => {
      if (nextExchangeMs !== atMs || world.isDone()) return;
      nextExchangeMs = Number.POSITIVE_INFINITY;
      exchange();
    });
  }

  comeAt(world.random() * EXCHANGE_MS);
}
