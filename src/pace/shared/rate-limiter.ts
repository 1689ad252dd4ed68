import { inTime, within } from '../../common/lifetime.ts';
import { createWaitQueue } from '../../common/run-control.ts';
import { describeOutage, type OutageState, outageMs, statedOutMs } from '../../guard/outage.ts';
import type { Clock } from '../clock.ts';
import { describePace, report } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { type CallReport, CallsInFlight, type RateLimiter } from '../rate-limiter.ts';
import { LEASE_MS, type Lease, NO_LEASE, takeLease } from './lease.ts';
import {
  type EndedCall,
  type Reading,
  readSharedPace,
  type SharedPace,
  type StoredState,
  type Verdict,
  type WorkerNews,
} from './state.ts';

/** A limiter whose state, outage included, is shared by all workers with the same credential. */
export interface SharedRateLimiter extends RateLimiter {
  /** Reports what a call showed about the health of the API. */
  reportHealth(call: Omit<Verdict, 'endedAtMs'>): void;
  /** The health of the API, as all workers know it. */
  readonly outage: Readonly<OutageState>;
  /** For how long the API, being out, said to wait, in milliseconds; 0 when it said nothing. */
  readonly statedOutMs: () => number;
  /** The state of the outage in a sentence; undefined when there is none. */
  readonly describeOutage: () => string | undefined;
  /** Reports remaining news and gives back permits and starts, if the state can be reached. */
  close(): Promise<void>;
}

export interface SharedRateLimiterOptions {
  readonly stored: StoredState;
  /** The unique name of this worker. */
  readonly worker: string;
  /** A fixed rate that all workers together never exceed. Without one, the rate is found. */
  readonly rate?: Rate | undefined;
  /** The documented rate, which calls start at while nothing was learned. @default none */
  readonly startRate?: Rate | undefined;
  /** The most calls of this process at the same time. */
  readonly callers: number;
  /** The longest outage that is waited for. */
  readonly maxOutageMs: number;
  /** Called when an outage has lasted longer. */
  readonly onOutageTooLong: () => void;
  /** Called when calls fail here, while those of other workers go well. @default no callback */
  readonly onFailingAlone?: () => void;
  readonly clock: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** Exchanges come after this share of a lease: six a second, of two round trips each. */
const EXCHANGE_EARLY = 0.94;
/** An extra exchange, for callers without starts, comes at least this long after the last. */
const LEAST_EXCHANGE_MS = 50;
/** The most extra exchanges in a row. One more is allowed per `EXTRA_EVERY` regular ones. */
const MOST_EXTRA = 4;
const EXTRA_EVERY = 16;
/** Callers that leave more than this share of the start times unused do not test the rate. */
const UNUSED_SHARE = 0.05;
/**
 * Start times come to each worker in a row, not evenly. When callers wait for more than this share
 * of them, they are held up although the rate would be enough. While no limit was reached, that
 * counts as using up the rate.
 */
const DELAYED_SHARE = 0.1;
/** Other workers may write first again and again; the next exchange comes soon enough. */
const MOST_TRIES = 5;
const CLOSE_MS = 1_000;
/**
 * The longest wait that is shared. A longer one is kept only by the worker that was told it. Other
 * workers, and workers that come later, ask again some time.
 */
const LONGEST_SHARED_MS = 15 * 60_000;
/** Without an answer for this long, the state is read anew: no worker waits for ever. */
const ANSWER_MS = 5_000;

/**
 * Takes start times from a state that is stored elsewhere, and reports to it what happened, in one
 * exchange a few times a second. A 429 is reported at once and drops the start times held so far.
 * While no caller wants a start and there is no news, there is no exchange.
 */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): SharedRateLimiter {
  const { stored, worker, rate, callers, maxOutageMs, onOutageTooLong, clock } = options;
  const { startRate, random = Math.random } = options;
  const inFlight = new CallsInFlight();
  const waiting = createWaitQueue();
  const starts = new HeldStarts();
  const news = new CallNewsBox();
  let known: SharedPace = readSharedPace(undefined, { nowMs: 0, rate, startRate });
  let lease: Lease = NO_LEASE;
  /** The offset from the time of this process to that of the state. */
  let aheadMs = 0;
  /** When this process first came, in the state's time. It waits for outages from then on. */
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

  /** Whether this worker holds the probe, which is never too late: no other worker makes it. */
  const holdsProbe = (): boolean => known.outage.phase === 'probing' && starts.nextMs !== undefined;

  /** A caller must not overtake those that wait. */
  function tryAcquire(): boolean {
    return waiting.length === 0 && take();
  }

  function dropLate(): void {
    if (!holdsProbe()) starts.dropLate(sharedNowMs());
  }

  function letThrough(): void {
    while (waiting.length > 0 && take()) waiting.wakeNext();
    clearTimeout(nextStartTimer);
    if (waiting.length === 0) return;
    const { nextMs } = starts;
    if (nextMs === undefined) return comeSoon();
    const waitMs = nextMs - sharedNowMs();
    // A start time that is due waits for a permit, or has just become due.
    const flying = inFlight.count(clock.nowMs());
    if (waitMs > 0 || flying < lease.permits) {
      nextStartTimer = setTimeout(letHeldUpThrough, Math.max(0, waitMs));
    } else if (flying === 0) comeSoon(); // otherwise the end of a call brings a permit
  }

  function letHeldUpThrough(): void {
    starts.countHeldUp(letThrough);
  }

  /** No caller can start, and the next exchange may be far. A fixed rate may have starts left. */
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
    // An exchange would void the probe: during an outage, start times do not outlive one.
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
    const unsent = news.take();
    try {
      if (await send(unsent)) return;
    } catch {
      // The state cannot be reached. News is kept for the next exchange; start times run out.
    }
    news.keep(unsent);
  }

  async function sayGoodbye(): Promise<void> {
    await exchanging;
    if (Number.isFinite(lastExchangeMs)) await step();
  }

  /** Returns false when other workers wrote first each time. */
  async function send(unsent: CallNews): Promise<boolean> {
    const throttlesBefore = throttles;
    let reading: Reading | undefined = await inTime(ANSWER_MS, stored.read());
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { nowMs, version, state } = reading;
      aheadMs = nowMs - clock.nowMs();
      cameMs ??= nowMs;
      const shared = readSharedPace(state, { nowMs, rate, startRate });
      const newsNow = newsOf(unsent);
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
      const isVoid = throttles > throttlesBefore;
      starts.renew(isVoid ? [] : taken.startsMs, taken.kept, before);
      const waitedMs = Math.min(outageMs(shared.outage, nowMs), nowMs - cameMs);
      if (waitedMs > maxOutageMs && !holdsProbe()) onOutageTooLong();
      if (taken.failsAlone) options.onFailingAlone?.();
      return true;
    }
    return false;
  }

  function newsOf(unsent: CallNews): WorkerNews {
    const nowMs = clock.nowMs();
    dropLate();
    const { used, unused, delayed } = starts.counts;
    const isDelayed = known.pace.phase === 'starting' && delayed > DELAYED_SHARE * used;
    return {
      worker,
      callers,
      sentAtMs: inFlight.sentAtMs(nowMs).map((sentMs) => sentMs + aheadMs),
      waiting: waiting.length,
      isBusy: used > 0,
      isLeaving: isClosed,
      startsMs: starts.all,
      hasUsedAll: unused <= UNUSED_SHARE * used && (lease.isRateBound || isDelayed),
      ...news.inSharedTime(unsent, aheadMs),
    };
  }

  /**
   * How long the gate will be closed because of a throttled call, in milliseconds. The copy of the
   * state here learns from it, until the next exchange brings what all workers know.
   */
  function foresee(event: EndedCall): number {
    const nowMs = sharedNowMs();
    report(known.pace, { ...event, sentAtMs: event.sentAtMs + aheadMs }, nowMs);
    return describePace(known.pace, nowMs).waitMs;
  }

  const isAway = (): boolean => known.outage.phase !== 'closed';

  return {
    tryAcquire,
    acquire: async (signal) => {
      signal.throwIfAborted();
      if (tryAcquire()) return;
      const turn = waiting.wait(signal);
      letThrough();
      await turn;
    },
    restart: (acquiredAtMs) => inFlight.restart(acquiredAtMs, clock.nowMs()),
    release: ({ kind, sentAtMs, limits, ...stated }: CallReport) => {
      const endedAtMs = clock.nowMs();
      const retryAfterMs = stated.retryAfterMs && Math.min(stated.retryAfterMs, LONGEST_SHARED_MS);
      const here = inFlight.end(sentAtMs);
      const flying = here + lease.elsewhere;
      // A worker that uses all its permits is at the bound, whatever other workers do at the moment.
      // One without callers for more is not.
      const isAtBound = lease.isPermitBound && here >= lease.permits;
      const event: EndedCall = {
        kind,
        sentAtMs,
        retryAfterMs,
        statedMs: stated.retryAfterMs,
        limits,
        latencyMs: endedAtMs - sentAtMs,
        inFlight: isAtBound ? Math.max(flying, lease.mostInFlight) : flying,
        random: random(),
        endedAtMs,
      };
      news.addEvent(event);
      if (kind === 'throttled') {
        throttles += 1;
        starts.clear();
        comeAt(endedAtMs);
        return Math.max(retryAfterMs ?? 0, foresee(event));
      }
      if (isAway()) comeAt(endedAtMs);
      letThrough();
      return 0;
    },
    reportHealth: (verdict) => {
      const endedAtMs = clock.nowMs();
      news.addVerdict({ ...verdict, endedAtMs });
      if (!verdict.retryAfterMs) return;
      // All wait as the API said, so what is held here is void.
      throttles += 1;
      starts.clear();
      comeAt(endedAtMs);
    },
    statedOutMs: () => statedOutMs(known.outage, sharedNowMs()),
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

/** How start times were used since the last exchange. */
export interface StartCounts {
  readonly used: number;
  /** Start times that were dropped because no caller came in time. */
  readonly unused: number;
  /** Start times used by callers that had to wait for them. */
  readonly delayed: number;
}

/**
 * A start time that was not used within this time is lost: used later, calls would come closer
 * together than the rate allows. While the rate is not fixed and callers are slower than it, start
 * times stay valid for the whole lease.
 */
const LATE_MS = 50;

/**
 * The start times that a worker holds from one exchange to the next, ascending. They are in the
 * time of the shared state, so that they stay as booked.
 */
export class HeldStarts {
  #startsMs: number[] = [];
  #counts = { used: 0, unused: 0, delayed: 0 };

  get all(): readonly number[] {
    return this.#startsMs;
  }

  get nextMs(): number | undefined {
    return this.#startsMs[0];
  }

  get counts(): StartCounts {
    return { ...this.#counts };
  }

  /** Uses the next start time if it is due. */
  take(nowMs: number): number | undefined {
    const { nextMs } = this;
    if (nextMs === undefined || nextMs > nowMs) return undefined;
    this.#startsMs.shift();
    this.#counts.used += 1;
    return nextMs;
  }

  /** Counts the start times that `work` uses as waited for. */
  countHeldUp(work: () => void): void {
    const before = this.#counts.used;
    work();
    this.#counts.delayed += this.#counts.used - before;
  }

  /** Drops start times that are too late to be used. */
  dropLate(nowMs: number): void {
    let late = 0;
    while ((this.#startsMs[late] ?? nowMs) < nowMs - LATE_MS) late += 1;
    if (late > 0) this.#startsMs.splice(0, late);
    this.#counts.unused += late;
  }

  /** Drops all start times as void. */
  clear(): void {
    this.#startsMs = [];
  }

  /**
   * Takes the start times of an exchange, which knew of the counts `before`. Start times used since
   * then are not available again.
   *
   * @param startsMs none when all of them are void already
   * @param kept how many of the start times were held before
   */
  renew(startsMs: readonly number[], kept: number, before: StartCounts): void {
    for (const kind of ['used', 'unused', 'delayed'] as const) this.#counts[kind] -= before[kind];
    this.#startsMs = startsMs.slice(Math.min(this.#counts.used + this.#counts.unused, kept));
  }
}

/**
 * What a worker has to report about its calls at the next exchange, in the time of this process.
 */
export interface CallNews {
  readonly events: readonly EndedCall[];
  readonly verdicts: readonly Verdict[];
}

/** While the state cannot be reached, no more than this many are kept. The latest say most. */
const MOST_KEPT = 20_000;

/** Keeps the news of calls until the next exchange. */
class CallNewsBox {
  #events: EndedCall[] = [];
  #verdicts: Verdict[] = [];
  #latest = { startMs: 0, atMs: Number.POSITIVE_INFINITY };

  get isEmpty(): boolean {
    return this.#events.length === 0 && this.#verdicts.length === 0;
  }

  /** Whether other workers must know of it at once. */
  get isUrgent(): boolean {
    const isThrottled = this.#events.some(({ kind }) => kind === 'throttled');
    return isThrottled || this.#verdicts.some(({ retryAfterMs = 0 }) => retryAfterMs > 0);
  }

  /** A call that was booked for `startMs`, in the time of the state, starts now, at `atMs`. */
  noteStart(startMs: number, atMs: number): void {
    this.#latest = { startMs, atMs };
  }

  addEvent(event: EndedCall): void {
    this.#events.push(event);
    if (this.#events.length > MOST_KEPT) this.#events.shift();
  }

  addVerdict(verdict: Verdict): void {
    this.#verdicts.push(verdict);
    if (this.#verdicts.length > MOST_KEPT) this.#verdicts.shift();
  }

  take(): CallNews {
    const news = { events: this.#events, verdicts: this.#verdicts };
    this.#events = [];
    this.#verdicts = [];
    return news;
  }

  /** Keeps news that could not be reported, before news that came since. */
  keep({ events, verdicts }: CallNews): void {
    this.#events = [...events, ...this.#events].slice(-MOST_KEPT);
    this.#verdicts = [...verdicts, ...this.#verdicts].slice(-MOST_KEPT);
  }

  /** The news in the time of the state, which is ahead of that of this process by `aheadMs`. */
  inSharedTime({ events, verdicts }: CallNews, aheadMs: number): CallNews {
    return {
      events: events.map((event) => ({ ...event, ...this.#timesOf(event, aheadMs) })),
      verdicts: verdicts.map((verdict) => ({ ...verdict, ...this.#timesOf(verdict, aheadMs) })),
    };
  }

  /**
   * Clocks cannot be compared to the millisecond, but a call was not sent before its start time.
   */
  #timesOf({ sentAtMs, endedAtMs }: CallTimes, aheadMs: number): CallTimes {
    const { startMs, atMs } = this.#latest;
    const earliestMs = sentAtMs >= atMs ? startMs : Number.NEGATIVE_INFINITY;
    const sentSharedMs = Math.max(sentAtMs + aheadMs, earliestMs);
    return { sentAtMs: sentSharedMs, endedAtMs: Math.max(endedAtMs + aheadMs, sentSharedMs) };
  }
}

type CallTimes = Pick<Verdict, 'sentAtMs' | 'endedAtMs'>;
