import { type Rate, slower } from '../calls/rate.ts';
import { climb, resume, slow } from './climb.ts';
import {
  accepted,
  createPace,
  ended,
  give,
  type Pace,
  type PacedCall,
  type Refusal,
  refused,
} from './pace.ts';
import { nextStartMs, start } from './pace-starts.ts';
import { bookFixed, createFixedRate, type FixedRate, nextFixedStartMs } from './rate.ts';

/**
 * One pace for all workers of a credential: what is kept for them together, and what one of them
 * and all the others tell each other. Pure, plain data. Redis does it, in Lua that `npm run
 * make:lua` makes of this file.
 *
 * ```text
 *   worker ──calls that ended, starts that it wants──▶ exchange ──start times, the pace──▶ worker
 * ```
 *
 * A worker whose calls fail while others' go well, or may, is sick: they fail for a reason of its
 * own. The others do not hear of it, and it gets a call in five seconds to try.
 */
export function exchange(
  kept: SharedState | undefined,
  said: Said,
  clockMs: number,
): { readonly state: SharedState; readonly granted: Granted } {
  const state = adopt(kept, said, clockMs);
  passTime(state, clockMs);
  const visit = takePart(state, said);
  if (said.found !== undefined) state.found = said.found;
  keepRate(state, said);
  for (const event of said.events) hear(visit, event);
  missLost(state);
  const granted = handOut(visit, said);
  if (said.isGone === true) state.workers = visit.others;
  return { state, granted };
}

/** What is kept for all. Times are those of the one clock that all share. */
export interface SharedState {
  pace: Pace;
  /** The slowest rate that is stated, or was when one was. */
  fixed?: FixedRate | undefined;
  /** Whether somebody states it now. */
  isHeld: boolean;
  workers: Participant[];
  /** A domain that one of them found of late; empty for none. */
  found: string;
  /** Why the last call that failed did. */
  reason?: string | undefined;
  /** Who makes the test call, and who goes slower to find something out; empty for nobody. */
  testBy: string;
  slowBy: string;
  nowMs: number;
  /** What is added to the clock, which may have gone back. */
  aheadMs: number;
}

/** A worker that takes part. */
interface Participant {
  readonly id: string;
  /** Whether its calls fail, as its last ones tell. */
  isFailing: boolean;
  /** Calls under way, with starts that it holds; starts that it waits for. */
  busy: number;
  waiting: number;
  rate?: Rate | undefined;
  /** When it was heard last, had anything to do, had a good answer, and made a call while sick. */
  seenMs: number;
  activeMs: number;
  goodMs: number;
  triedMs: number;
}

/** What a worker says. */
export interface Said {
  readonly id: string;
  readonly events: readonly PaceEvent[];
  /** Starts that it wants. */
  readonly want: number;
  /** Calls under way, with starts that it holds. */
  readonly busy: number;
  /** In how many milliseconds starts are of use, and for how long. */
  readonly leadMs: number;
  readonly spanMs: number;
  /** Its fixed rate. @default it has none */
  readonly rate?: Rate | undefined;
  /** Where to begin while nothing is known. @default the limit is looked for */
  readonly startRate?: Rate | undefined;
  /** A domain that it found. @default nothing new */
  readonly found?: string | undefined;
  /** Whether it takes part no longer. @default false */
  readonly isGone?: boolean | undefined;
}

/** What has happened at a worker. */
export type PaceEvent = CallEvent | ChangeEvent;

type CallEvent = Omit<PacedCall, 'inFlight'> & {
  readonly how: 'good' | 'none' | Refusal;
  readonly atMs: number;
  /** Of this worker. */
  inFlight: number;
};

type ChangeEvent =
  | { readonly how: 'resume'; readonly atMs: number }
  | { readonly how: 'slow'; readonly atMs: number; readonly ratePerMs: number }
  | { readonly how: 'climb'; readonly atMs: number; readonly ratePerMs: number };

/** What a worker is told, beside the state. */
export interface Granted {
  readonly nowMs: number;
  readonly startsMs: readonly number[];
  /** When it may get more than these. */
  readonly againMs: number;
  /** Whether calls fail there that go well elsewhere. */
  readonly isSick: boolean;
}

/** A worker that was not heard for so long is gone. */
const GONE_MS = 10_000;
/** One that had nothing to do for so long finds nothing out. */
const IDLE_MS = 2_000;
/** One that is sick makes one call in this time. */
const SICK_MS = 5_000;
/** A good answer tells this long that calls may go well: then perhaps only bad domains are left. */
const WELL_MS = 10_000;
/** Who gives way to another leaves it this long. */
const GIVE_WAY_MS = 500;
/** It is not known when a call ends: until then it is asked again about as often as that may be. */
const LEAST_POLL_MS = 50;

/** What another version kept may lack members. */
function adopt(kept: SharedState | undefined, said: Said, clockMs: number): SharedState {
  const pace = createSharedPace(clockMs, said);
  const nobody = { isHeld: false, workers: [], found: '', testBy: '', slowBy: '' };
  const state = { pace, ...nobody, nowMs: 0, aheadMs: 0 };
  if (!kept) return state;
  const { ratePerMs } = kept.pace; // throws where there is none: then all is found out anew
  return Object.assign(state, kept, { pace: Object.assign(pace, kept.pace, { ratePerMs }) });
}

function createSharedPace(nowMs: number, { startRate }: Said): Pace {
  const limitPerMs = startRate ? startRate.count / startRate.perMs : 0;
  return createPace(nowMs, { limitPerMs, cap: 0 });
}

/** Time that never goes back: after a failover, the clock may. */
function passTime(state: SharedState, clockMs: number): void {
  if (state.nowMs - (clockMs + state.aheadMs) > 1) state.aheadMs = state.nowMs - clockMs;
  state.nowMs = clockMs + state.aheadMs;
}

/** One worker at the exchange, and all others. */
interface Visit {
  readonly state: SharedState;
  readonly mine: Participant;
  readonly others: Participant[];
  /** What those have under way. */
  readonly busyElsewhere: number;
}

function takePart(state: SharedState, { id, rate, busy, want }: Said): Visit {
  const { nowMs } = state;
  const others: Participant[] = [];
  let busyElsewhere = 0;
  let mine = createParticipant(id);
  for (const worker of state.workers) {
    if (worker.id === id) mine = worker;
    else if (nowMs - worker.seenMs <= GONE_MS) {
      others.push(worker);
      busyElsewhere += worker.busy;
    }
  }
  mine.rate = rate;
  mine.busy = busy;
  mine.waiting = want;
  mine.seenMs = nowMs;
  if (busy > 0 || want > 0) mine.activeMs = nowMs;
  state.workers = others.concat(mine);
  return { state, mine, others, busyElsewhere };
}

function createParticipant(id: string): Participant {
  const times = { seenMs: 0, activeMs: 0, goodMs: -WELL_MS, triedMs: 0 };
  return { id, isFailing: false, busy: 0, waiting: 0, ...times };
}

/** The slowest rate of those who take part holds for all. */
function keepRate(state: SharedState, said: Said): void {
  let rate: Rate | undefined;
  for (const worker of state.workers) rate = slower(rate, worker.rate);
  const { pace, fixed } = state;
  state.isHeld = rate !== undefined;
  if (!rate) {
    // What was started at the rate still counts when it is stated again: perhaps a run is between
    // two jobs.
    if (pace.phase === 'given') state.pace = createSharedPace(state.nowMs, said);
    return;
  }
  const isNews = fixed?.rate.count !== rate.count || fixed.rate.perMs !== rate.perMs;
  if (isNews || pace.phase === 'starting') give(pace, rate.count / rate.perMs);
  if (!isNews) return;
  state.fixed = createFixedRate(rate);
  if (fixed) state.fixed.lastSlotMs = fixed.lastSlotMs;
}

function hear(visit: Visit, event: PaceEvent): void {
  const { state } = visit;
  const { pace } = state;
  const atMs = Math.min(event.atMs, state.nowMs);
  if (event.how === 'slow' || event.how === 'climb' || event.how === 'resume') {
    if (mayChange(visit)) change(visit, event, atMs);
  } else hearCall(visit, event, atMs);
  if (pace.climbToPerMs === 0) state.slowBy = '';
}

/** What one worker finds out by going slower, no other disturbs. */
const mayChange = ({ state: { slowBy }, mine }: Visit): boolean =>
  slowBy === '' || slowBy === mine.id;

function change({ state, mine }: Visit, event: ChangeEvent, atMs: number): void {
  const { pace } = state;
  if (event.how === 'resume') return resume(pace, atMs);
  if (event.how === 'climb') return climb(pace, event.ratePerMs, atMs);
  slow(pace, event.ratePerMs, atMs);
  if (pace.climbToPerMs > 0) state.slowBy = mine.id;
}

function hearCall(visit: Visit, call: CallEvent, atMs: number): void {
  const { state, mine } = visit;
  const { pace } = state;
  const { how, sentAtMs } = call;
  call.inFlight += visit.busyElsewhere;
  if (how === 'none') return ended(pace, sentAtMs);
  if (how === 'good') {
    const wasTesting = pace.state === 'testing';
    accepted(pace, call, atMs);
    // What failed for all was nobody's own.
    if (wasTesting && pace.state === 'flowing')
      for (const worker of state.workers) worker.isFailing = false;
    mine.isFailing = false;
    mine.goodMs = state.nowMs;
    return;
  }
  mine.isFailing = how !== 'refused';
  if (!isSick(visit)) {
    state.reason = call.reason;
    return refused(pace, call, atMs, how);
  }
  mine.triedMs = Math.max(mine.triedMs, sentAtMs);
  ended(pace, sentAtMs);
}

/** Whether it is the only one whose calls fail, as far as is known. */
function isSick({ state, mine, others }: Visit): boolean {
  if (!mine.isFailing) return false;
  return others.some(
    ({ isFailing, busy, waiting, goodMs }) =>
      !isFailing && (busy + waiting > 0 || state.nowMs - goodMs < WELL_MS),
  );
}

/**
 * Whether its test call was the last, and another may make the next: all that it has to ask about
 * may be bad.
 */
function hasTested({ state, mine, others }: Visit): boolean {
  if (state.pace.state !== 'testing' || state.testBy !== mine.id) return false;
  return others.some(({ waiting }) => waiting > 0);
}

/** Whether another goes slower to find something out, and needs the few calls that this allows. */
function isInTheWay({ state, others }: Visit): boolean {
  return others.some(({ id, waiting }) => id === state.slowBy && waiting > 0);
}

/** What somebody has begun who is gone, or has nothing to do any more, is over. */
function missLost(state: SharedState): void {
  const { pace, workers, nowMs } = state;
  const tester = workers.find(({ id }) => id === state.testBy);
  if (state.testBy !== '' && (!tester || tester.busy === 0)) pace.testMs = 0;
  const slowing = workers.find(({ id }) => id === state.slowBy);
  if (state.slowBy === '' || (slowing && nowMs - slowing.activeMs < IDLE_MS)) return;
  state.slowBy = '';
  climb(pace, 0, nowMs);
}

function handOut(visit: Visit, said: Said): Granted {
  const { state, mine, busyElsewhere } = visit;
  const { pace, nowMs } = state;
  const fromMs = nowMs + said.leadMs;
  const untilMs = fromMs + said.spanMs;
  const sick = isSick(visit);
  const fixed = state.isHeld ? state.fixed : undefined;
  const startsMs: number[] = [];
  let nextMs = fromMs;
  while (startsMs.length < said.want) {
    nextMs = nextStartMs(pace, fromMs, busyElsewhere + said.busy + startsMs.length);
    if (fixed) nextMs = Math.max(nextMs, nextFixedStartMs(fixed));
    if (sick) nextMs = Math.max(nextMs, mine.triedMs + SICK_MS);
    if (hasTested(visit)) nextMs = Math.max(nextMs, pace.shutUntilMs + GIVE_WAY_MS);
    if (isInTheWay(visit)) nextMs = Math.max(nextMs, nowMs + GIVE_WAY_MS);
    if (nextMs > untilMs) break;
    start(pace, nextMs);
    if (fixed) bookFixed(fixed, nextMs);
    if (pace.state === 'testing') state.testBy = mine.id;
    if (sick) mine.triedMs = nextMs;
    startsMs.push(nextMs);
  }
  mine.busy = said.busy + startsMs.length;
  mine.waiting = said.want - startsMs.length;
  const isKnown = nextMs < Number.POSITIVE_INFINITY;
  return { nowMs, startsMs, isSick: sick, againMs: isKnown ? nextMs - said.leadMs : pollMs(state) };
}

/** When to look again whether a call has ended. */
function pollMs({ pace, nowMs }: SharedState): number {
  const testingMs = pace.state === 'testing' ? nowMs - pace.testMs : 0;
  return nowMs + Math.max(LEAST_POLL_MS, pace.latencyMs / 2, testingMs / 2);
}
