import {
  makeProbeDue,
  mayStart,
  mostAtWork,
  onCallAbandoned,
  onCallEnd,
  onProbeStart,
} from '../../guard/outage.ts';
import { book, createPaceState, mostInFlight, nextTurn, report } from '../pacer.ts';
import { type Booking, MOST_STARTS, type PermittedBooking } from './booking.ts';
import { bookFixedStarts } from './fixed-starts.ts';
import { permitsFor } from './permits.ts';
import type { SharedPace, WorkerShare } from './state.ts';
import type { WorkerNews } from './worker-news.ts';

/** Start times are taken so far ahead. When the state is out of reach, calls stop after this time. */
export const LEASE_MS: number = 200;
/** More workers than this come less often, each for a longer lease, or they would get in each other's way. */
const WORKERS_AT_FULL_PACE = 32;

/** What a worker may do until it comes again. */
export interface Lease {
  /** When calls may start, ascending: all of them, also what is left of before. */
  readonly startsMs: readonly number[];
  /** How many of these it had before. */
  readonly kept: number;
  /** When it has to come again. */
  readonly untilMs: number;
  /** How many calls may be in flight here. */
  readonly permits: number;
  /** The same for all workers together. */
  readonly mostInFlight: number;
  /** Calls in flight elsewhere. */
  readonly elsewhere: number;
  /** Whether more start times were wanted than the rate allows. */
  readonly isRateBound: boolean;
}

/** What a worker may do that was given nothing yet. */
export const NO_LEASE: Lease = {
  startsMs: [],
  kept: 0,
  untilMs: 0,
  permits: 0,
  mostInFlight: Number.POSITIVE_INFINITY,
  elsewhere: 0,
  isRateBound: false,
};

/** Takes what a worker tells into the shared state, and gives it what it may do. */
export function takeLease(shared: SharedPace, news: WorkerNews, nowMs: number): Lease {
  learn(shared, news, nowMs);
  const { pace, outage, workers } = shared;
  const { worker, callers, waiting } = news;
  const inFlight = news.sentAtMs.length;
  if (news.isLeaving) {
    delete workers[worker];
    // It may have been the one that was to find out whether the API is back.
    if (outage.phase === 'probing') makeProbeDue(outage);
    return NO_LEASE;
  }
  const before = workers[worker];
  const share: WorkerShare = {
    seenMs: nowMs,
    callers,
    inFlight,
    wanted: news.isBusy || waiting > 0 ? callers : inFlight,
    starts: 0,
    permits: before?.permits ?? null,
    cutMs: pace.throttle.cutMs,
  };
  workers[worker] = share;
  const all = Object.values(workers);
  const atWork =
    outage.phase === 'closed' ? Number.POSITIVE_INFINITY : mostAtWork(outage, sum(all, 'callers'));
  const most = Math.min(mostInFlight(pace), atWork);
  // What was given out before the limit was hit, or the API was gone, is void: slots begin anew.
  const isVoid = share.cutMs !== before?.cutMs || most === 0;
  const startsMs = isVoid ? [] : [...news.startsMs];
  const kept = startsMs.length;
  const untilMs = nowMs + LEASE_MS * Math.max(1, all.length / WORKERS_AT_FULL_PACE);
  const isProbe = outage.phase !== 'closed' && tryProbe(shared, { news, startsMs, nowMs, untilMs });
  share.permits = isProbe ? inFlight + 1 : permitsFor(worker, workers, { most, nowMs });
  const permits = share.permits ?? Number.POSITIVE_INFINITY;
  const isRateBound =
    isProbe || most === 0 || bookStarts(shared, { news, startsMs, nowMs, untilMs, permits });
  share.starts = startsMs.length;
  return {
    startsMs,
    kept,
    untilMs,
    permits,
    mostInFlight: most,
    elsewhere: sum(all, 'inFlight') - inFlight,
    isRateBound,
  };
}

function learn(shared: SharedPace, news: WorkerNews, nowMs: number): void {
  const { pace, outage } = shared;
  const { isLimit: wasLimit } = outage.limitBy503;
  if (news.events.length > 0) pace.slots.areAllTaken = news.hasUsedAll;
  for (const event of news.events) {
    report(pace, event, Math.min(nowMs, event.endedAtMs));
    if (event.kind === 'abandoned') onCallAbandoned(outage, event.sentAtMs);
  }
  for (const { endedAtMs, ...verdict } of news.verdicts) {
    onCallEnd(outage, { ...verdict, nowMs: Math.min(nowMs, endedAtMs) });
  }
  // Until now 503 was no throttle: what was learned of the rate was wrong.
  if (!wasLimit && outage.limitBy503.isLimit && !pace.fixed) {
    shared.pace = createPaceState({}, nowMs);
  }
}

/** Gives the one call that finds out whether the API is back to whoever comes first when it is due. */
function tryProbe(
  { pace, outage, workers }: SharedPace,
  { news, startsMs, nowMs, untilMs }: Booking,
): boolean {
  const all = Object.values(workers);
  const [inFlight, callers] = [sum(all, 'inFlight'), sum(all, 'callers')];
  const advice = mayStart(outage, { nowMs, inFlight, callers });
  if (advice === 'wait' || !advice.isProbe || news.waiting === 0) return false;
  const atMs = Math.max(advice.atMs, pace.gateUntilMs);
  if (atMs > untilMs) return false;
  onProbeStart(outage, atMs);
  book(pace, atMs);
  startsMs.push(atMs);
  return true;
}

/** Books as many starts as the worker can use; false when the rate would allow more. */
function bookStarts({ pace, workers }: SharedPace, booking: PermittedBooking): boolean {
  if (pace.fixed) return bookFixedStarts(pace, booking);
  const { news, startsMs, nowMs, untilMs, permits } = booking;
  const { waiting } = news;
  const inFlight = news.sentAtMs.length;
  const mine = workers[news.worker];
  const active = mine?.wanted ?? 0;
  // Each caller that waits and may go, and all of them again for each answer that comes meanwhile.
  const now = Math.min(waiting, Math.max(0, permits - inFlight));
  const rounds = (untilMs - nowMs) / Math.max(1, pace.latency.callMs);
  const wanted = Math.min(MOST_STARTS, Math.ceil(now + Math.min(active, permits) * rounds));
  const isAnyElsewhere = Object.values(workers).some(
    (each) => each !== mine && each.inFlight + each.starts > 0,
  );
  while (startsMs.length < wanted) {
    // A test that nobody waits for would not be made.
    if (pace.phase === 'testing' && startsMs.length >= waiting) return true;
    const isAlone = !isAnyElsewhere && inFlight + startsMs.length === 0;
    const next = nextTurn(pace, { nowMs, isAlone });
    if (next === 'wait_for_answer' || next.atMs > untilMs) return true;
    book(pace, next.atMs);
    startsMs.push(next.atMs);
  }
  return false;
}

function sum(shares: readonly WorkerShare[], of: 'inFlight' | 'callers'): number {
  return shares.reduce((total, share) => total + share[of], 0);
}
