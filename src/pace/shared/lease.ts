import {
  makeProbeDue,
  mayStart,
  mostAtWork,
  onCallAbandoned,
  onCallEnd,
  onProbeStart,
} from '../../guard/outage.ts';
import { isTrialDue } from '../limit/published-limits.ts';
import { book, createPaceState, mostInFlight, nextTurn, type PaceState, report } from '../pacer.ts';
import type { SharedPace, WorkerHealth, WorkerNews, WorkerShare } from './state.ts';

/**
 * How far ahead start times are taken. When the state cannot be reached, calls stop after this
 * time.
 */
export const LEASE_MS: number = 200;
/**
 * With more workers than this, each comes less often, for a longer lease. Otherwise they would get
 * in each other's way.
 */
const WORKERS_AT_FULL_PACE = 32;

/** The rights of a worker until its next exchange. */
export interface Lease {
  /** When calls may start, ascending. Start times left over from the lease before are included. */
  readonly startsMs: readonly number[];
  /** How many of these it held before. */
  readonly kept: number;
  /** When the worker has to come again. */
  readonly untilMs: number;
  /** How many calls this worker may have in flight. */
  readonly permits: number;
  /** Whether the worker has callers for more calls in flight than that. */
  readonly isPermitBound: boolean;
  /** How many calls all workers together may have in flight. */
  readonly mostInFlight: number;
  /** Calls in flight on other workers. */
  readonly elsewhere: number;
  /** Whether the worker wanted more start times than the rate allows. */
  readonly isRateBound: boolean;
  /** Whether its calls fail while those of other workers go well. */
  readonly failsAlone: boolean;
}

/** The lease of a worker before its first exchange. */
export const NO_LEASE: Lease = {
  startsMs: [],
  kept: 0,
  untilMs: 0,
  permits: 0,
  isPermitBound: false,
  mostInFlight: Number.POSITIVE_INFINITY,
  elsewhere: 0,
  isRateBound: false,
  failsAlone: false,
};

/** Takes a worker's news into the shared state and returns its next lease. */
export function takeLease(shared: SharedPace, news: WorkerNews, nowMs: number): Lease {
  const health = learn(shared, news, nowMs);
  const { pace, outage, workers } = shared;
  const { worker, callers, waiting } = news;
  const inFlight = news.sentAtMs.length;
  if (news.isLeaving) {
    delete workers[worker];
    // The worker may have held the probe.
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
    health,
  };
  workers[worker] = share;
  const all = Object.values(workers);
  const atWork =
    outage.phase === 'closed' ? Number.POSITIVE_INFINITY : mostAtWork(outage, sum(all, 'callers'));
  const alone = judgeAlone(shared, { news, health, nowMs });
  const most = alone === 'at_work' ? Math.min(mostInFlight(pace), atWork) : 0;
  // Start times given out before the limit was reached or the API was out are void. Slots begin
  // anew.
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
    isPermitBound: permits < share.wanted,
    mostInFlight: most,
    elsewhere: sum(all, 'inFlight') - inFlight,
    isRateBound,
    failsAlone: alone === 'fails_alone',
  };
}

/** Takes the news into the state. Returns how the calls of the worker went of late. */
function learn(shared: SharedPace, news: WorkerNews, nowMs: number): WorkerHealth {
  const { pace, outage, workers } = shared;
  const { isLimit: wasLimit } = outage.limitBy503;
  const health: WorkerHealth = { ...(workers[news.worker]?.health ?? UNKNOWN_HEALTH) };
  if (news.events.length > 0) pace.slots.areAllTaken = news.hasUsedAll;
  for (const event of news.events) {
    report(pace, event, Math.min(nowMs, event.endedAtMs));
    if (event.kind === 'abandoned') onCallAbandoned(outage, event.sentAtMs);
  }
  const before = workers[news.worker]?.callers ?? 0;
  const callers = sum(Object.values(workers), 'callers') - before + news.callers;
  for (const { endedAtMs, ...verdict } of news.verdicts) {
    const atMs = Math.min(nowMs, endedAtMs);
    noteHealth(health, verdict.isFailure, atMs);
    const isWellElsewhere = verdict.isFailure && areMostWell(shared, { news, health, nowMs });
    onCallEnd(outage, { ...verdict, isWellElsewhere, callers, nowMs: atMs });
  }
  // Until now 503 did not count as a throttle, so the learned rate is wrong.
  if (!wasLimit && outage.limitBy503.isLimit && !pace.fixed) {
    shared.pace = createPaceState({}, nowMs);
  }
  return health;
}

const UNKNOWN_HEALTH: WorkerHealth = { calls: 0, failures: 0, atMs: 0, failingSinceMs: null };
const HEALTH_DECAY = 0.9;
/** A worker with fewer calls than this, weighted, is not said to fail. */
const LEAST_CALLS = 4;
/** What the calls of a worker came to longer ago says nothing about now. */
const HEALTH_MS = 5_000;
/** So long a worker whose calls fail makes none, until it is known how those of others go. */
const HELD_MS = 1_500;
/** Calls of others that ended so long after that were sent after it, too. */
const SENT_SINCE_MS = 500;

function noteHealth(health: WorkerHealth, isFailure: boolean, atMs: number): void {
  if (atMs - health.atMs > HEALTH_MS) Object.assign(health, UNKNOWN_HEALTH);
  health.calls = health.calls * HEALTH_DECAY + 1;
  health.failures = health.failures * HEALTH_DECAY + (isFailure ? 1 : 0);
  health.atMs = Math.max(health.atMs, atMs);
  health.failingSinceMs = isFailing(health) ? (health.failingSinceMs ?? atMs) : null;
}

function isFailing({ calls, failures }: WorkerHealth): boolean {
  return calls >= LEAST_CALLS && failures * 2 >= calls;
}

interface OwnHealth {
  readonly news: WorkerNews;
  readonly health: WorkerHealth;
  readonly nowMs: number;
}

/**
 * Whether calls go well at half of several workers or more. Failures are then about a worker or its
 * machine, for the API is there. The breaker of all workers stays as it is.
 *
 * @param sinceMs what the calls of other workers came to before this does not count
 */
function areMostWell(
  { workers }: SharedPace,
  { news, health: own, nowMs }: OwnHealth,
  sinceMs: number = nowMs - HEALTH_MS,
): boolean {
  let [others, well, failing] = [0, 0, 0];
  for (const [name, { health }] of [...Object.entries(workers), ['', { health: own }] as const]) {
    if (name === news.worker || !health || health.calls === 0) continue;
    if (health !== own && (health.atMs < sinceMs || health.atMs > nowMs + HEALTH_MS)) continue;
    if (health !== own) others += 1;
    if (isFailing(health)) failing += 1;
    else well += 1;
  }
  return others > 0 && well > 0 && well >= failing;
}

/**
 * Whether the worker makes no calls for now, or steps back, because its calls fail and those of
 * others do not.
 */
function judgeAlone(shared: SharedPace, own: OwnHealth): 'at_work' | 'held' | 'fails_alone' {
  const { failingSinceMs, atMs } = own.health;
  const { nowMs } = own;
  const isOld = Math.abs(nowMs - atMs) > HEALTH_MS;
  if (failingSinceMs === null || isOld || shared.outage.phase !== 'closed') return 'at_work';
  if (!areMostWell(shared, own)) return 'at_work';
  const isKnown = areMostWell(shared, own, failingSinceMs + SENT_SINCE_MS);
  return isKnown && nowMs - failingSinceMs >= HELD_MS ? 'fails_alone' : 'held';
}

/** Gives the probe to the first worker that comes when it is due. */
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

/** Books as many starts as the worker can use. Returns false when the rate would allow more. */
function bookStarts({ pace, workers }: SharedPace, booking: PermittedBooking): boolean {
  if (pace.fixed) return bookFixedStarts(pace, booking);
  const { news, startsMs, nowMs, untilMs, permits } = booking;
  const { waiting } = news;
  const inFlight = news.sentAtMs.length;
  const mine = workers[news.worker];
  const active = mine?.wanted ?? 0;
  // One start for each caller that waits and may go, plus one for all callers each time that
  // answers come.
  const now = Math.min(waiting, Math.max(0, permits - inFlight));
  const rounds = (untilMs - nowMs) / Math.max(1, pace.latency.callMs);
  const wanted = Math.min(MOST_STARTS, Math.ceil(now + Math.min(active, permits) * rounds));
  const isAnyElsewhere = Object.values(workers).some(
    (each) => each !== mine && each.inFlight + each.starts > 0,
  );
  while (startsMs.length < wanted) {
    // A test needs a waiting caller, or it would not be made.
    const isTest = pace.phase === 'testing' || isTrialDue(pace, nowMs);
    if (isTest && startsMs.length >= waiting) return true;
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

/** When there are more workers than permits, each turn lasts this long. */
const TURN_MS = 1_000;

/**
 * How many calls a worker may have in flight until its next exchange. The permits of all workers
 * together never exceed `most`: a permit must be given back before another worker gets it. A worker
 * with more than its share gives back what others are short of.
 *
 * @param workers all workers, with the permits they were last given
 */
export function permitsFor(
  name: string,
  workers: Readonly<Record<string, WorkerShare>>,
  { most, nowMs }: { readonly most: number; readonly nowMs: number },
): number | null {
  if (!Number.isFinite(most)) return null;
  const mine = workers[name];
  if (!mine) return 0;
  const others = Object.entries(workers).filter(([other]) => other !== name);
  const free = Math.max(0, most - others.reduce((sum, [, other]) => sum + heldBy(other), 0));
  const wishes = Math.min(free, mine.wanted);
  const wishing = Object.entries(workers).flatMap(([each, { wanted }]) => (wanted > 0 ? each : []));
  const shareOf = shares(wishing.sort(), { most, nowMs });
  const isAnyShort = others.some(
    ([other, share]) => heldBy(share) < Math.min(share.wanted, shareOf(other)),
  );
  return isAnyShort ? Math.min(wishes, shareOf(name)) : wishes;
}

/** The share of each worker that wants permits: the same for all, or one permit in turn. */
function shares(
  names: readonly string[],
  { most, nowMs }: { readonly most: number; readonly nowMs: number },
): (worker: string) => number {
  if (names.length <= most) {
    const each = Math.floor(most / Math.max(1, names.length));
    return () => each;
  }
  const turns = Math.floor(nowMs / TURN_MS);
  const places = new Map(names.map((name, at) => [name, at]));
  return (worker) => (((places.get(worker) ?? -1) + turns) % names.length < most ? 1 : 0);
}

function heldBy({ permits, inFlight, starts }: WorkerShare): number {
  return permits === null ? inFlight + starts : Math.max(permits, inFlight);
}

/**
 * A call may end this much earlier than expected. Its caller is then in time for the next start.
 */
const SOONER_MS = 20;

/**
 * Books the starts at a fixed rate for which the worker will have a caller when they are due. A
 * start that is not used in time is lost to all workers, and the rate with it. A start that is used
 * late comes too close to the next. Starts that are not booked are left for the next worker.
 *
 * @returns false when the rate would allow more
 */
function bookFixedStarts(pace: PaceState, booking: PermittedBooking): boolean {
  const { startsMs, nowMs, untilMs } = booking;
  const { callMs } = pace.latency;
  const freeAtMs = expectFree(booking, callMs);
  while (startsMs.length < MOST_STARTS) {
    const next = nextTurn(pace, { nowMs, isAlone: false });
    if (next === 'wait_for_answer' || next.atMs > untilMs) return true;
    const freeMs = freeAtMs.shift();
    if (freeMs === undefined || freeMs - SOONER_MS > next.atMs) return false;
    book(pace, next.atMs);
    startsMs.push(next.atMs);
    freeAtMs.push(next.atMs + callMs);
  }
  return false;
}

/**
 * When the callers are expected to be free, ascending. Calls in flight are expected to end after
 * the average latency, but never sooner than if they ended evenly one after the other: nothing is
 * known about a call that takes longer than the average.
 */
function expectFree(
  { news, startsMs, nowMs, permits }: PermittedBooking,
  callMs: number,
): number[] {
  const { waiting, isBusy, callers, sentAtMs } = news;
  // A caller that is between two calls will make the next one.
  const free = Math.min(isBusy ? callers - sentAtMs.length : waiting, permits - sentAtMs.length);
  const apartMs = callMs / sentAtMs.length;
  const freeAtMs = [
    ...Array.from({ length: Math.max(0, free) }, () => nowMs),
    ...sentAtMs.map((sentMs, index) => Math.max(sentMs + callMs, nowMs + (index + 1) * apartMs)),
  ];
  for (const startMs of startsMs) {
    freeAtMs.shift();
    freeAtMs.push(Math.max(nowMs, startMs) + callMs);
  }
  return freeAtMs;
}

/** The most start times that a worker holds. */
const MOST_STARTS = 4_000;

/** The starts that are booked for a worker in its exchange. */
export interface Booking {
  readonly news: WorkerNews;
  /** The booked start times are added here. */
  readonly startsMs: number[];
  readonly nowMs: number;
  readonly untilMs: number;
}

/** A booking for a worker with a bound on its calls in flight. */
export interface PermittedBooking extends Booking {
  readonly permits: number;
}
