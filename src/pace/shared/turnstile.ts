import { createWaitingRow } from '../../common/waiting-row.ts';
import { inTime, within } from '../../common/within.ts';
import { describeOutage, type OutageState, outageMs } from '../../guard/outage.ts';
import { createCallsInFlight } from '../calls-in-flight.ts';
import type { Clock } from '../clock.ts';
import { describePace } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import type { CallReport, Turnstile } from '../turnstile.ts';
import { type CallNews, createCallNewsBox } from './call-news.ts';
import { createHeldStarts } from './held-starts.ts';
import { LEASE_MS, type Lease, NO_LEASE, takeLease } from './lease.ts';
import { readSharedPace, type SharedPace } from './state.ts';
import type { Reading, StoredState } from './stored-state.ts';
import type { Verdict, WorkerNews } from './worker-news.ts';

/** A turnstile whose state all workers with the same credential share, also what they know of an outage. */
export interface SharedTurnstile extends Turnstile {
  /** Reports what a call said of the health of the API. */
  reportHealth(call: Omit<Verdict, 'endedAtMs'>): void;
  /** What all know of the health of the API. */
  readonly outage: Readonly<OutageState>;
  /** What is going on, in a sentence; undefined when all is well. */
  readonly describeOutage: () => string | undefined;
  /** Tells what is left to tell and gives back what it holds, if the state is within reach. */
  close(): Promise<void>;
}

export interface SharedTurnstileOptions {
  readonly stored: StoredState;
  /** The name of this worker, its own among all. */
  readonly worker: string;
  /** A fixed rate that all workers together never exceed. Without one, the rate is found. */
  readonly rate?: Rate | undefined;
  /** Most calls of this process at the same time. */
  readonly callers: number;
  /** The longest outage that is waited for. */
  readonly maxOutageMs: number;
  /** Told when it has lasted longer. */
  readonly onOutageTooLong: () => void;
  readonly clock: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** It comes again so much before its lease ends: six times a second, and two round trips each time. */
const EXCHANGE_EARLY = 0.94;
/** Out of turn, because callers have nothing left, it comes after this time at the soonest. */
const LEAST_EXCHANGE_MS = 50;
/** …and so often in a row; one more for so many exchanges in turn. */
const MOST_EXTRA = 4;
const EXTRA_EVERY = 16;
/** Callers that let more than this share of the start times pass do not test the rate. */
const UNUSED_SHARE = 0.05;
/**
 * Start times come to each worker in a row, not evenly. Where callers wait for more than this share of
 * them, the rate is felt although it would be enough: while no limit was met, that counts as used up.
 */
const HELD_UP_SHARE = 0.1;
/** Others may be faster, again and again; the next exchange comes soon enough. */
const MOST_TRIES = 5;
const CLOSE_MS = 1_000;
/** A longer wait is a matter of who is told it: the others ask again some time, and so does who comes later. */
const LONGEST_SHARED_MS = 15 * 60_000;
/** Without an answer for so long, whoever keeps the state is asked anew: nobody may wait for ever. */
const ANSWER_MS = 5_000;

/**
 * Takes start times from a state that is kept elsewhere, and tells there what happened, in one
 * exchange a few times a second. A 429 is told at once, and clears the start times taken so far.
 * While no caller wants a start and nothing is to be told, there is no exchange.
 */
export function createSharedTurnstile(options: SharedTurnstileOptions): SharedTurnstile {
  const { stored, worker, rate, callers, maxOutageMs, onOutageTooLong, clock } = options;
  const { random = Math.random } = options;
  const inFlight = createCallsInFlight();
  const waiting = createWaitingRow();
  const starts = createHeldStarts();
  const news = createCallNewsBox();
  let known: SharedPace = readSharedPace(undefined, { nowMs: 0, rate });
  let lease: Lease = NO_LEASE;
  /** From the time of this process to that of the state. */
  let aheadMs = 0;
  /** When this process came, in the time of the state: outages are waited for from then on. */
  let cameMs: number | undefined;
  let throttles = 0;
  let extra = MOST_EXTRA;
  let lastExchangeMs = Number.NEGATIVE_INFINITY;
  let exchanging: Promise<void> | undefined;
  let isClosed = false;
  let nextExchange: NodeJS.Timeout | undefined;
  let nextExchangeMs = Number.POSITIVE_INFINITY;
  let nextStartTimer: NodeJS.Timeout | undefined;

  const sharedNowMs = (): number => clock.nowMs() + aheadMs;

  function take(): boolean {
    const nowMs = clock.nowMs();
    if (rate || lease.isRateBound || sharedNowMs() > lease.untilMs) dropLate();
    if (inFlight.count(nowMs) >= lease.permits) return false;
    const startMs = starts.take(sharedNowMs());
    if (startMs === undefined) return false;
    news.noteStart(startMs, nowMs);
    inFlight.start(nowMs);
    return true;
  }

  /** The one call that finds out whether the API is back is never too late: nobody else makes it. */
  const holdsProbe = (): boolean => known.outage.phase === 'probing' && starts.nextMs !== undefined;

  /** Nobody overtakes those who wait. */
  function tryEnter(): boolean {
    return waiting.length === 0 && take();
  }

  function dropLate(): void {
    if (!holdsProbe()) starts.dropLate(sharedNowMs());
  }

  function letThrough(): void {
    while (waiting.length > 0 && take()) waiting.callNext();
    clearTimeout(nextStartTimer);
    if (waiting.length === 0) return;
    const { nextMs } = starts;
    if (nextMs === undefined) return comeSoon();
    const waitMs = nextMs - sharedNowMs();
    // One that is due waits for a permit, or it has just become due.
    const flying = inFlight.count(clock.nowMs());
    if (waitMs > 0 || flying < lease.permits) {
      nextStartTimer = setTimeout(letHeldUpThrough, Math.max(0, waitMs));
    } else if (flying === 0) comeSoon(); // else the end of a call brings a permit
  }

  function letHeldUpThrough(): void {
    starts.countHeldUp(letThrough);
  }

  /** Nobody can start, and the next exchange may be far. At a fixed rate, a start may have been left over. */
  function comeSoon(): void {
    const isIdle = nextExchange === undefined;
    if (!isIdle && (lease.isRateBound || (!rate && extra < 1))) return;
    if (!isIdle) extra -= 1;
    comeAt(Math.max(clock.nowMs(), lastExchangeMs + LEAST_EXCHANGE_MS));
  }

  function comeAt(atMs: number): void {
    if (isClosed || exchanging || nextExchangeMs <= atMs) return;
    clearTimeout(nextExchange);
    nextExchangeMs = atMs;
    nextExchange = setTimeout(exchange, Math.max(0, atMs - clock.nowMs()));
  }

  function exchange(): void {
    if (exchanging) return;
    clearTimeout(nextExchange);
    nextExchange = undefined;
    nextExchangeMs = Number.POSITIVE_INFINITY;
    // While the API is out nobody keeps start times from one exchange to the next, not even this one.
    if (holdsProbe() && waiting.length > 0) return comeAt(clock.nowMs() + LEAST_EXCHANGE_MS);
    lastExchangeMs = clock.nowMs();
    exchanging = step().finally(() => {
      exchanging = undefined;
      if (isClosed) return;
      const everyMs = EXCHANGE_EARLY * Math.max(LEASE_MS, lease.untilMs - aheadMs - lastExchangeMs);
      if (news.isUrgent) comeAt(clock.nowMs());
      else if (waiting.length > 0 || inFlight.count(clock.nowMs()) > 0 || !news.isEmpty) {
        comeAt(lastExchangeMs + everyMs * (0.95 + 0.1 * random()));
      }
      extra = Math.min(MOST_EXTRA, extra + 1 / EXTRA_EVERY);
      letThrough();
    });
  }

  async function step(): Promise<void> {
    const told = news.take();
    try {
      if (await tell(told)) return;
    } catch {
      // Out of reach: what happened is told when it is back. Until then, start times run out.
    }
    news.putBack(told);
  }

  async function sayGoodbye(): Promise<void> {
    await exchanging;
    if (Number.isFinite(lastExchangeMs)) await step();
  }

  /** False when others were faster each time. */
  async function tell(told: CallNews): Promise<boolean> {
    const throttlesBefore = throttles;
    let reading: Reading | undefined = await inTime(ANSWER_MS, stored.read());
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { nowMs, version, state } = reading;
      aheadMs = nowMs - clock.nowMs();
      cameMs ??= nowMs;
      const shared = readSharedPace(state, { nowMs, rate });
      const newsNow = newsOf(told);
      const before = starts.counts;
      const taken = takeLease(shared, newsNow, nowMs);
      const written: Promise<Reading | undefined> = stored.write({
        version,
        state: JSON.stringify(shared),
      });
      reading = await inTime(ANSWER_MS, written);
      if (reading) continue;
      known = shared;
      lease = taken;
      if (throttles > throttlesBefore) starts.renewVoid(before);
      else starts.renew(taken.startsMs, taken.kept, before);
      const waitedMs = Math.min(outageMs(shared.outage, nowMs), nowMs - cameMs);
      if (waitedMs > maxOutageMs && !holdsProbe()) onOutageTooLong();
      return true;
    }
    return false;
  }

  function newsOf(told: CallNews): WorkerNews {
    const nowMs = clock.nowMs();
    dropLate();
    const { used, unused, heldUp } = starts.counts;
    const isHeldUp = known.pace.phase === 'starting' && heldUp > HELD_UP_SHARE * used;
    return {
      worker,
      callers,
      sentAtMs: inFlight.sentAtMs(nowMs).map((sentMs) => sentMs + aheadMs),
      waiting: waiting.length,
      isBusy: used > 0,
      isLeaving: isClosed,
      startsMs: starts.all,
      hasUsedAll: unused <= UNUSED_SHARE * used && (lease.isRateBound || isHeldUp),
      ...news.inSharedTime(told, aheadMs),
    };
  }

  const isAway = (): boolean => known.outage.phase !== 'closed';

  return {
    tryEnter,
    enter: async (signal) => {
      signal.throwIfAborted();
      if (tryEnter()) return;
      const turn = waiting.join(signal);
      letThrough();
      await turn;
    },
    startLate: (enteredAtMs) => inFlight.startLate(enteredAtMs, clock.nowMs()),
    report: ({ kind, sentAtMs, limits, ...told }: CallReport) => {
      const endedAtMs = clock.nowMs();
      const retryAfterMs = told.retryAfterMs && Math.min(told.retryAfterMs, LONGEST_SHARED_MS);
      const here = inFlight.end(sentAtMs);
      const flying = here + lease.elsewhere;
      news.addEvent({
        kind,
        sentAtMs,
        retryAfterMs,
        limits,
        latencyMs: endedAtMs - sentAtMs,
        // Who uses all it was given is at the bound, whatever others do at the moment.
        inFlight: here >= lease.permits ? Math.max(flying, lease.mostInFlight) : flying,
        random: random(),
        endedAtMs,
      });
      if (kind === 'throttled') {
        throttles += 1;
        starts.clear();
        comeAt(endedAtMs);
        return retryAfterMs ?? 0;
      }
      if (isAway()) comeAt(endedAtMs);
      letThrough();
      return 0;
    },
    reportHealth: (verdict) => news.addVerdict({ ...verdict, endedAtMs: clock.nowMs() }),
    get outage() {
      return known.outage;
    },
    describeOutage: () => describeOutage(known.outage, sharedNowMs()),
    waitMs: () => describePace(known.pace, sharedNowMs()).waitMs,
    describe: () => describePace(known.pace, sharedNowMs()),
    close: async () => {
      isClosed = true;
      clearTimeout(nextExchange);
      clearTimeout(nextStartTimer);
      starts.clear();
      await within(CLOSE_MS, sayGoodbye());
    },
  };
}
