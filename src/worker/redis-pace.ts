import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Rate, slower } from '../calls/rate.ts';
import { SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { createScript, type RedisServer } from '../queue/redis.ts';
import { errorText, isReply } from '../queue/redis-errors.ts';
import { climb, resume, slow } from './climb.ts';
import type { Clock } from './clock.ts';
import type { Others, PaceHome } from './own-pace.ts';
import { createPace, type Pace, type PacedCall } from './pace.ts';
import type { Granted, PaceEvent, Said, SharedState } from './shared-pace.ts';

/** Where the workers of a credential keep their pace. */
export interface SharedPace {
  readonly redis: Pick<RedisServer, 'client' | 'refused'>;
  /** One key for each credential and API. */
  readonly key: string;
  /** The slowest rate of the runs that calls are made for at present. @default none has one */
  readonly slowest?: (() => Rate | undefined) | undefined;
}

/** What an exchange answers. Times are those of Redis. */
export interface Exchanged {
  readonly state: Pick<SharedState, 'pace' | 'fixed' | 'isHeld' | 'reason' | 'found' | 'workers'>;
  readonly granted: Omit<Granted, 'startsMs'> & {
    readonly startsMs: readonly number[] | Record<string, never>;
  };
}

export interface RedisPaceOptions {
  /** Tells all workers, and is told; undefined when what came is of no use. */
  readonly exchange: (said: Said) => Promise<Exchanged | undefined>;
  readonly rate: Rate | undefined;
  readonly slowest?: SharedPace['slowest'];
  /** Where to start while nothing is known. @default it is looked for */
  readonly start?: Rate | undefined;
  readonly clock: Clock;
  /**
   * Lookups that wait for a call or have one under way, at most: with so many, each end is followed
   * by a start.
   */
  readonly callers: number;
}

/**
 * Redis is asked this often at most, and for start times for this long beyond the way there and
 * back.
 */
const LEAST_GAP_MS = 50;
/** The same when it gave all start times that were wanted, and they are used up. */
const LEAST_GAP_FAST_MS = 5;
const SPAN_MS = 100;
/** A worker says so often at least that it takes part, with its rate. */
const RENEW_MS = 2_000;
/** A start that is later than this is given up. */
const LATE_MS = 2_000;
const MOST_WANTED = 512;

/**
 * Keeps the pace with all workers of a credential, in Redis: start times for the next moment come
 * in one round trip, in which what ended since is told. A refusal is told at once, and start times
 * of before are no good any more. The farther Redis is, the further ahead start times are asked
 * for. While Redis cannot be reached, no call starts.
 *
 * ```text
 *   wanted, ended ──▶ due at … ──▶ exchange ──▶ start times ──▶ nextMs, start
 *                       ▲             │ none yet: due when it says; all used: soon; idle: to renew
 *                       └─────────────┘
 * ```
 */
export class RedisPace implements PaceHome {
  readonly pace: Pace;
  fixed: SharedState['fixed'];
  isSick = false;
  others: Others = { areThere: false, found: undefined };
  reason: string | undefined;
  onChange?: () => void;
  readonly #options: RedisPaceOptions;
  readonly #id = randomUUID();
  readonly #time = new SharedTime();
  /** Granted, in the time of Redis. */
  #starts: number[] = [];
  #events: PaceEvent[] = [];
  /** Whether others have to know of one of these at once. */
  #isUrgent = false;
  /** A domain that was found, to be told. */
  #found: string | undefined;
  #waiting = 0;
  #inFlight = 0;
  #isAsking = false;
  #isClosed = false;
  #askedMs = Number.NEGATIVE_INFINITY;
  /** When more may be granted. */
  #againMs = Number.NEGATIVE_INFINITY;
  #due: { readonly atMs: number; readonly cancel: AbortController } | undefined;

  constructor(options: RedisPaceOptions) {
    this.#options = options;
    const nowMs = options.clock.nowMs();
    this.pace = createPace(nowMs, { limitPerMs: 0, cap: 0 });
    this.#comeAt(nowMs);
  }

  nextMs(): number {
    return this.#time.here(this.#starts[0] ?? Number.POSITIVE_INFINITY);
  }

  start(): void {
    this.#starts.shift();
    this.#inFlight += 1;
    this.#waiting = Math.max(0, this.#waiting - 1);
  }

  ended(how: Parameters<PaceHome['ended']>[0], call: PacedCall, nowMs: number): void {
    this.#inFlight -= 1;
    const { latencyMs, inFlight, retryAfterMs, limits, reason } = call;
    const sentAtMs = this.#time.there(Math.min(call.sentAtMs, nowMs));
    const atMs = this.#time.there(nowMs);
    this.#tell({ how, sentAtMs, latencyMs, inFlight, retryAfterMs, limits, reason, atMs });
    if (how === 'refused') this.#drop(() => true);
  }

  slow(ratePerMs: number, nowMs: number): void {
    this.#change({ how: 'slow', ratePerMs, atMs: this.#time.there(nowMs) });
  }

  climb(toPerMs: number, nowMs: number): void {
    const ratePerMs = Math.min(toPerMs, Number.MAX_VALUE); // JSON has no infinity
    this.#change({ how: 'climb', ratePerMs, atMs: this.#time.there(nowMs) });
  }

  resume(nowMs: number): void {
    this.#change({ how: 'resume', atMs: this.#time.there(nowMs) });
  }

  tellFound(domain: string): void {
    this.#found = domain;
  }

  wanted(waiting: number): void {
    this.#waiting = waiting;
    if (waiting === 0) this.#drop(() => true);
    if (waiting > this.#starts.length || this.#events.length > 0) this.#comeAt(this.#soonestMs());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#due?.cancel.abort();
    this.#drop(() => true);
    const said = { id: this.#id, events: this.#events, want: 0, busy: 0, leadMs: 0, spanMs: 0 };
    const telling = this.#options.exchange({ ...said, isGone: true });
    const ended = telling.then(
      () => {},
      () => {},
    );
    await within(SHUTDOWN_TIMEOUT_MS, ended);
  }

  #tell(event: PaceEvent): void {
    this.#events.push(event);
    this.#isUrgent ||= URGENT.has(event.how);
    if (!this.#isAsking) this.#comeAt(this.#soonestMs());
  }

  /** What changes the pace shows here before it is told. */
  #change(event: PaceEvent): void {
    this.#tell(event);
    this.#applyHere(event);
  }

  #applyHere(event: PaceEvent): void {
    const { pace } = this;
    const nowMs = this.#options.clock.nowMs();
    if (event.how === 'slow') slow(pace, event.ratePerMs, nowMs);
    if (event.how === 'climb') climb(pace, event.ratePerMs, nowMs);
    if (event.how === 'resume') resume(pace, nowMs);
  }

  /** When it is of use to ask. */
  #soonestMs(): number {
    if (this.#isUrgent) return this.#options.clock.nowMs();
    const isShort = this.#waiting > this.#starts.length;
    const moreMs = isShort ? Math.max(this.#againMs, this.#askedMs + LEAST_GAP_FAST_MS) : Infinity;
    const gapMs = this.#events.length > 0 ? LEAST_GAP_MS : RENEW_MS;
    return Math.min(moreMs, this.#askedMs + gapMs);
  }

  #comeAt(timeMs: number): void {
    const { clock } = this.#options;
    const atMs = Math.min(timeMs, this.#askedMs + RENEW_MS);
    if (this.#isClosed || this.#isAsking || (this.#due && this.#due.atMs <= atMs)) return;
    this.#due?.cancel.abort();
    const cancel = new AbortController();
    this.#due = { atMs, cancel };
    const waitMs = Math.max(0, atMs - clock.nowMs());
    clock.sleep(waitMs, cancel.signal).then(
      () => void this.#ask(),
      () => {},
    );
  }

  async #ask(): Promise<void> {
    const { clock, exchange } = this.#options;
    const sentMs = clock.nowMs();
    this.#isAsking = true;
    this.#due = undefined;
    this.#askedMs = sentMs;
    this.#drop((atMs) => this.#time.there(sentMs) - atMs > LATE_MS);
    const told = this.#events;
    this.#events = [];
    this.#isUrgent = false;
    try {
      const said = this.#said(told);
      const answer = await exchange(said);
      if (this.#found === said.found) this.#found = undefined;
      if (answer) this.#learn(answer, said.want, sentMs);
    } catch {
      this.#events = [...told, ...this.#events]; // Redis is away: that is told elsewhere
      this.#againMs = sentMs + LEAST_GAP_MS;
    }
    this.#isAsking = false;
    this.onChange?.();
    this.#comeAt(this.#soonestMs());
  }

  #said(events: readonly PaceEvent[]): Said {
    const { callers, rate, slowest, start } = this.#options;
    const { tripMs } = this.#time;
    const spanMs = SPAN_MS + tripMs;
    // Callers that are all busy make one call after the other, each in the time of an answer.
    const all = this.#waiting + this.#inFlight;
    const rounds = all < callers ? 0 : spanMs / Math.max(1, this.pace.latencyMs);
    const most = Math.min(MOST_WANTED, Math.max(this.#waiting, all * rounds));
    return {
      id: this.#id,
      events,
      want: this.#waiting > 0 ? Math.max(0, Math.ceil(most - this.#starts.length)) : 0,
      busy: this.#inFlight + this.#starts.length,
      leadMs: tripMs / 2,
      spanMs,
      rate: slower(rate, slowest?.()),
      startRate: start,
      found: this.#found,
    };
  }

  #learn({ state, granted }: Exchanged, want: number, sentMs: number): void {
    const { pace } = this;
    if (this.#time.learn(sentMs, granted.nowMs, this.#options.clock.nowMs()) === 'another')
      this.#drop(() => true);
    const { cutMs } = pace;
    Object.assign(pace, state.pace);
    for (const time of TIMES) pace[time] = this.#time.here(pace[time]);
    for (const event of this.#events) this.#applyHere(event); // that was not told yet
    this.fixed =
      state.isHeld && state.fixed
        ? { ...state.fixed, recentStartsMs: listOf(state.fixed.recentStartsMs) }
        : undefined;
    this.isSick = granted.isSick;
    const areThere = state.workers.some(({ id }) => id !== this.#id);
    this.others = { areThere, found: state.found || undefined };
    this.reason = state.reason;
    if (pace.cutMs > cutMs + 1 || this.isSick) this.#drop(() => true);
    const startsMs = listOf(granted.startsMs);
    this.#starts.push(...startsMs);
    this.#againMs =
      startsMs.length < want
        ? Math.max(this.#time.here(granted.againMs), sentMs + LEAST_GAP_MS)
        : sentMs;
  }

  /** Gives starts up. */
  #drop(which: (atMs: number) => boolean): void {
    for (const sentAtMs of this.#starts.filter(which)) {
      this.#events.push({ ...NO_CALL, sentAtMs, atMs: sentAtMs });
    }
    this.#starts = this.#starts.filter((atMs) => !which(atMs));
  }
}

/** Lua knows no empty list. */
const listOf = (list: readonly number[] | Record<string, never>): number[] =>
  Array.isArray(list) ? list : [];

/** What others have to know at once. */
const URGENT: ReadonlySet<PaceEvent['how']> = new Set(['refused', 'failing', 'away']);
const NO_CALL = { how: 'none', latencyMs: 0, inFlight: 1 } as const;
const TIMES = ['shutUntilMs', 'refusedMs', 'cutMs', 'nextMs', 'lastMs', 'epochMs'] as const;

/**
 * The time of Redis, told by the quickest trips, as in NTP: it must not jump while calls are under
 * way.
 */
class SharedTime {
  /** How long it takes to Redis and back. */
  tripMs = 0;
  #aheadMs = 0;
  #leastTripMs = Number.POSITIVE_INFINITY;

  here(thereMs: number): number {
    return thereMs - this.#aheadMs;
  }

  there(hereMs: number): number {
    return hereMs + this.#aheadMs;
  }

  /** @returns `another` when it is another Redis, with another clock */
  learn(sentMs: number, thereMs: number, nowMs: number): 'same' | 'another' {
    const tripMs = nowMs - sentMs;
    this.tripMs += (tripMs - this.tripMs) * (this.tripMs === 0 ? 1 : 0.2);
    const aheadMs = thereMs - (sentMs + nowMs) / 2;
    const offMs = Math.abs(aheadMs - this.#aheadMs);
    if (tripMs < this.#leastTripMs * 1.2 || offMs > tripMs) this.#aheadMs = aheadMs;
    this.#leastTripMs = Math.min(tripMs, this.#leastTripMs * 1.02);
    return offMs > LATE_MS ? 'another' : 'same';
  }
}

const SCRIPT = 'shared-pace.lua';

/**
 * Exchanges through a script in Redis.
 *
 * @param onNotice called with a sentence when what Redis kept is of no use
 */
export function exchangeInRedis(
  { redis: { client, refused }, key }: SharedPace,
  onNotice: (message: string) => void,
): RedisPaceOptions['exchange'] {
  const script = createScript(client, readFileSync(new URL(SCRIPT, import.meta.url), 'utf8'));
  let isNoticed = false;

  /** What the script cannot use is another version's, or nobody's: without it calls go on. */
  async function beginAnew(error: unknown): Promise<void> {
    if (!UNUSABLE.test(errorText(error))) return refused(error);
    try {
      await client.del(key);
    } catch {
      // it is tried again
    }
    if (!isNoticed) onNotice(FOUND_OUT_ANEW);
    isNoticed = true;
  }

  return async (said) => {
    try {
      const [state = '', granted = ''] = (await script([key], [JSON.stringify(said)])) as string[];
      return { state: JSON.parse(state), granted: JSON.parse(granted) };
    } catch (error) {
      if (!isReply(error)) throw error;
      await beginAnew(error);
      return undefined;
    }
  };
}

/** Errors of the script itself, and of a key that holds something else. */
const UNUSABLE = /^WRONGTYPE|^ERR .*script/i;
const FOUND_OUT_ANEW =
  'What Redis kept of the pace could not be read, perhaps that of another version: the pace is found out anew.';
