import type { Meaning } from '../brand/meaning.ts';
import { ClosedConnectionError } from '../brand/transport.ts';
import { type Budget, type Permit as BudgetPermit, both, isUsedUp } from '../calls/budget.ts';
import type { CallCounters } from '../calls/call-counters.ts';
import { isUnsent } from '../common/reasons.ts';
import type { Clock } from './clock.ts';
import type { Diagnosis, Signal } from './diagnosis.ts';
import { stopOf } from './first-calls.ts';
import type { PaceHome } from './own-pace.ts';
import type { Pace, PacedCall } from './pace.ts';
import { describePace, type Learned, learnedOf, type PaceDescription } from './pace-memory.ts';
import { NotAskedError, type StopSwitch, stopForWait } from './stop-switch.ts';
import { createWaitQueue, type Waiting } from './wait-queue.ts';
import type { Subject, Verdict } from './withheld.ts';

/**
 * Everything that a call needs of others before it starts, and all that its end tells them.
 *
 * ```text
 *   ask ──▶ paused? ──▶ budget? ──▶ in line ──▶ go ──▶ call ──▶ ended(meaning) ──▶ verdict
 *                          │           ▲                             │
 *                          ▼ used up   └── wait until: pace.ts ◀─────┘
 *                        never ◀── refused for --max-wait, failed for --max-outage
 * ```
 *
 * | part | says | table in |
 * |---|---|---|
 * | pause, stop | nothing starts; nothing starts any more | `stop-switch.ts` |
 * | budget | calls, what they cost, calls in a period of the calendar | `budget.ts` |
 * | diagnosis | first calls; whom a refusal is about; whether all is down | `diagnosis.ts` |
 * | pace | the rate and the calls under way, learned or stated; shut and testing | `pace.ts` |
 * | fixed rate | never more in any window than the user allows | `rate.ts` |
 *
 * What the pace knows has two homes: this process, or Redis, for all workers of a credential
 * (`redis-pace.ts`).
 */
export interface Gate {
  /**
   * Waits until one call may start. It must then be made, or abandoned.
   *
   * @throws NotAskedError when it never may: a budget is used up, it is no longer wanted, the run stops
   */
  ask(question: Question): Promise<Permit>;
  /** No lookup is left that waits for nothing. */
  idle(): void;
  /** The present pace, and why. */
  describe(): PaceDescription;
  /** What was learned, for the next run; undefined where it is kept elsewhere. */
  learned(): Learned | undefined;
  /** Calls that may be of use within two seconds, and as many again as are under way. */
  ahead(): number;
  /** Whether calls fail here that go well elsewhere. */
  isSick(): boolean;
  close(): Promise<void>;
}

/** What a call asks for. */
export interface Question {
  readonly subject: Subject;
  /** Subject when its turn has come, which may take long. False spares the call. */
  isWanted(): boolean;
  /** Bounds its calls in addition to the budget of all. @default no such bound */
  readonly budget?: Budget | undefined;
  /** Whose it is. Lists that wait have turns. @default the only list's */
  readonly list?: unknown;
}

/** Whom a call turned out to be about, and how many domains that are. */
interface About {
  readonly subject: Subject;
  /** @default 1 */
  readonly domains?: number;
}

/** One call that may start. */
export interface Permit {
  /** The most domains that the call may be about. */
  readonly domains: number;
  /**
   * The call was answered. Tells what becomes of the answer, at once or when others have told
   * more.
   *
   * @param about whom. @default whom it was asked for, one domain
   */
  ended(meaning: Meaning, about?: About): Verdict | Promise<Verdict>;
  /**
   * The same of a call about several domains: the first meaning is that of the call as a whole.
   */
  endedTogether(
    meaning: Meaning,
    each: readonly (readonly [Meaning, Subject])[],
  ): (Verdict | Promise<Verdict>)[];
  /** The call has no answer: it was given up and may well be billed, or its connection was closed already. */
  abandoned(why?: unknown): void;
}

export interface GateOptions {
  readonly home: PaceHome;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls that may be under way at once. */
  readonly concurrency: number;
  readonly diagnosis: Pick<Diagnosis, keyof Diagnosis>;
  /** Asks about a domain that was found before, to see whether the API is well. */
  readonly probe: (domain: string) => Promise<Meaning>;
  readonly budget: Budget;
  readonly stopSwitch: StopSwitch;
  readonly counters: CallCounters;
  /** How long calls may be refused, and how long the API may be out, before the run stops. */
  readonly maxWaitMs: number;
  readonly maxOutageMs: number;
  /** Holds calls back while the run is paused. @default never */
  readonly pause?: PauseGate | undefined;
}

/** Lets no call start while it is closed. */
export interface PauseGate {
  readonly isPaused: boolean;
  /** @throws the signal's reason when it fires first */
  whileOpen(signal: AbortSignal): Promise<void>;
}

/** A call that waits longer for the end of another asks again. */
const LOOK_AGAIN_MS = 1_000;
/** A caller that was let through, and resumes later than this, waits again. */
const TURN_MS = 2_000;

/** The gate of this process. */
export function createGate(options: GateOptions): Gate {
  const { home, clock, concurrency, diagnosis, budget, stopSwitch, counters, pause } = options;
  const { maxWaitMs, maxOutageMs } = options;
  const openedMs = clock.nowMs();
  const waiting = createWaitQueue();
  let inFlight = 0;
  let startedMs = 0;
  let sleeping: { readonly untilMs: number; readonly stop: AbortController } | undefined;
  let isProbing = false;
  /** What bounds the calls of those who asked last: a probe is made for them. */
  let payer: Budget | undefined;
  /** All lookups that are left are withheld, unless one has asked since. */
  let isIdle = false;
  /** Why calls fail or are refused at present. */
  let trouble: string | undefined;
  /** Whether calls fail at present, rather than being refused. */
  let isFailing = false;
  /** Domains for which a longer wait was stated than may be waited for. */
  const overlongWaits = new Set<string>();

  /** When a call may start; Infinity: not before another has ended. */
  function nextMs(nowMs: number, isProbe = false): number {
    if (inFlight >= concurrency && !isProbe) return Number.POSITIVE_INFINITY;
    if (!isProbe && !diagnosis.mayStart(inFlight)) return Number.POSITIVE_INFINITY;
    return home.nextMs(nowMs, isProbe ? Math.min(inFlight, concurrency - 1) : inFlight);
  }

  /** How many of those in line may start as far as this process is concerned. */
  function roomFor(count: number): number {
    if (waiting.hasProbe) return count;
    let room = 0;
    while (room < count && diagnosis.mayStart(inFlight + room)) room += 1;
    return room;
  }

  function tryStart(isProbe = false): boolean {
    const nowMs = clock.nowMs();
    if (nextMs(nowMs, isProbe) > nowMs) return false;
    home.start(nowMs);
    inFlight += 1;
    startedMs = nowMs;
    return true;
  }

  function letThrough(): void {
    if (diagnosis.probe !== undefined) void probe();
    while (waiting.length > 0) {
      const isProbe = waiting.hasProbe;
      const nowMs = clock.nowMs();
      if (pause?.isPaused) return sleepUntil(nowMs + LOOK_AGAIN_MS);
      if (!tryStart(isProbe)) {
        stopIfTooLong();
        home.wanted?.(roomFor(waiting.length));
        return sleepUntil(Math.min(nextMs(nowMs, isProbe), nowMs + LOOK_AGAIN_MS));
      }
      waiting.wakeNext();
    }
  }

  function sleepUntil(untilMs: number): void {
    if (sleeping && sleeping.untilMs <= untilMs + 1) return;
    sleeping?.stop.abort();
    const mine = { untilMs, stop: new AbortController() };
    sleeping = mine;
    const wake = (): void => {
      sleeping = undefined;
      letThrough();
    };
    clock.sleep(Math.max(1, untilMs - clock.nowMs()), mine.stop.signal).then(wake, () => {});
  }

  /** Asks about a domain that was found before, ahead of all others, as long as that is wanted. */
  async function probe(): Promise<void> {
    if (isProbing) return;
    isProbing = true;
    try {
      for (let domain = diagnosis.probe; domain !== undefined; domain = diagnosis.probe) {
        const spend = await payForProbe();
        if (spend) {
          const flight = await takeOff({ domain }, spend, 'probe');
          flight.probed(await callProbe(domain, flight));
        } else diagnosis.giveUpProbe();
        if (isIdle) diagnosis.idle(inFlight + waiting.length);
      }
    } catch {
      // The run stops.
    }
    isProbing = false;
    letThrough();
  }

  /** Those in line may hold all calls that are left: so it does not wait for one for long. */
  async function payForProbe(): Promise<BudgetPermit | undefined> {
    const all = budget.tryAcquire();
    if (!payer || !all) return all;
    const wait = new AbortController();
    clock.sleep(LOOK_AGAIN_MS, wait.signal).then(
      () => wait.abort(),
      () => {},
    );
    const own = await payer.acquire(wait.signal).catch(() => undefined);
    wait.abort();
    if (own && !isUsedUp(own)) return both(own, all);
    all.release();
    return undefined;
  }

  async function callProbe(domain: string, flight: Flight): Promise<Meaning> {
    try {
      return await options.probe(domain);
    } catch (error) {
      flight.abandoned(error);
      throw error;
    }
  }

  function stopIfTooLong(): void {
    const { pace } = home;
    if (pace.state !== 'testing' || pause?.isPaused) return;
    // Those who share the pace may have been refused long before this process came.
    const lastedMs = triedUntilMs(pace, clock.nowMs()) - Math.max(pace.refusedMs, openedMs);
    if (lastedMs <= (isFailing ? maxOutageMs : maxWaitMs)) return;
    const comeBack = pace.isStated
      ? { comeBackAtMs: options.now() + pace.shutUntilMs - clock.nowMs() }
      : {};
    const all = diagnosis.trouble;
    if (isFailing) stopSwitch.stop({ reason: 'outage', trouble });
    else if (all?.isDown) stopSwitch.stop(stopOf(all.meaning));
    else stopSwitch.stop({ reason: 'quota', throttledMs: lastedMs, ...comeBack });
  }

  async function acquire(question: Question): Promise<BudgetPermit> {
    const signal = stopSwitch.noNewCall;
    const own = await question.budget?.acquire(signal);
    if (own && isUsedUp(own)) throw new NotAskedError();
    const permit = budget.tryAcquire() ?? (await acquireAll(own, signal));
    return own ? both(own, permit) : permit;
  }

  async function acquireAll(
    own: BudgetPermit | undefined,
    signal: AbortSignal,
  ): Promise<BudgetPermit> {
    try {
      const permit = await budget.acquire(signal);
      if (!isUsedUp(permit)) return permit;
      stopSwitch.stop(permit);
    } catch (error) {
      own?.release();
      throw error;
    }
    own?.release();
    throw new NotAskedError();
  }

  async function ask(question: Question): Promise<Permit> {
    const signal = stopSwitch.noNewCall;
    isIdle = false;
    payer = question.budget;
    for (;;) {
      signal.throwIfAborted();
      if (pause?.isPaused) await pause.whileOpen(signal);
      if (!question.isWanted()) throw new NotAskedError();
      const spend =
        (question.budget ? undefined : budget.tryAcquire()) ?? (await acquire(question));
      if (waiting.length > 0 || !tryStart()) {
        await turn(spend, diagnosis.wasBad(question.subject) ? 'again' : 'new', question);
      }
      const isLate = clock.nowMs() - startedMs > TURN_MS;
      const isStill = !stopSwitch.stopped && !pause?.isPaused && question.isWanted();
      if (isStill && !isLate && spend.isGood()) return new Flight(question.subject, spend);
      spend.release();
      giveBack();
    }
  }

  /** Waits for its turn in the line. */
  async function turn(spend: BudgetPermit, kind: Waiting, question?: Question): Promise<void> {
    const mine = waiting.wait(stopSwitch.noNewCall, kind, question);
    letThrough();
    try {
      await mine;
    } catch (error) {
      spend.release();
      throw error;
    }
  }

  async function takeOff(subject: Subject, spend: BudgetPermit, kind: Waiting): Promise<Flight> {
    await turn(spend, kind);
    if (!spend.isGood() || stopSwitch.stopped) {
      spend.release();
      giveBack();
      throw new NotAskedError();
    }
    return new Flight(subject, spend);
  }

  /** A call that was let through is not made, or was given up. */
  function giveBack(): void {
    inFlight -= 1;
    home.ended('none', NO_CALL, clock.nowMs());
    letThrough();
  }

  /** One call under way. A class rather than closures, because each call has one. */
  class Flight implements Permit {
    readonly #subject: Subject;
    readonly #spend: BudgetPermit;
    readonly #sentAtMs = clock.nowMs();
    readonly #inFlight = inFlight;
    readonly #call = diagnosis.begin();

    constructor(subject: Subject, spend: BudgetPermit) {
      this.#subject = subject;
      this.#spend = spend;
      counters.calls += 1;
    }

    get domains(): number {
      return this.#spend.domains;
    }

    ended(meaning: Meaning, about?: About): Verdict | Promise<Verdict> {
      const latencyMs = this.#bill(meaning, about?.domains);
      const subject = about?.subject ?? this.#subject;
      const { signal, verdict } = diagnosis.note(meaning, subject, this.#call);
      this.#learn(meaning, signal, latencyMs);
      letThrough();
      return verdict;
    }

    endedTogether(
      meaning: Meaning,
      each: readonly (readonly [Meaning, Subject])[],
    ): (Verdict | Promise<Verdict>)[] {
      const latencyMs = this.#bill(meaning, each.length);
      const all = diagnosis.noteTogether(each, this.#subject, this.#call);
      const worst = all.find(({ signal }) => signal === 'limit' || signal === 'failing');
      this.#learn(meaning, (worst ?? all[0])?.signal ?? 'good', latencyMs);
      letThrough();
      return all.map(({ verdict }) => verdict);
    }

    probed(meaning: Meaning): void {
      const latencyMs = this.#bill(meaning);
      this.#learn(meaning, diagnosis.noteProbe(meaning, this.#call), latencyMs);
      letThrough();
    }

    abandoned(why?: unknown): void {
      this.#spend.spend(why instanceof ClosedConnectionError ? 0 : undefined);
      inFlight -= 1;
      home.ended('none', { ...NO_CALL, sentAtMs: this.#sentAtMs }, clock.nowMs());
      letThrough();
    }

    /** Tells the budget and the counters. */
    #bill(meaning: Meaning, domains = 1): number {
      const { costMicros = 0, kind, form } = meaning;
      inFlight -= 1;
      counters.billedMicros += costMicros;
      if (form === 'none' && isUnsent(meaning.reason)) counters.unsent += 1;
      if (kind === 'throttled') {
        counters.throttled += 1;
        this.#spend.release(costMicros);
      } else this.#spend.spend(costMicros, domains);
      return clock.nowMs() - this.#sentAtMs;
    }

    #learn(meaning: Meaning, signal: Signal, latencyMs: number): void {
      const nowMs = clock.nowMs();
      const { domain } = this.#subject;
      const isRefused = signal === 'limit' || signal === 'failing' || signal === 'out';
      // A time beside a verdict on a domain is no wait for all.
      const isVerdict = meaning.kind === 'rejected' || meaning.kind === 'not_found';
      const call: PacedCall = {
        sentAtMs: this.#sentAtMs,
        latencyMs: meaning.form === 'none' ? 0 : latencyMs,
        inFlight: this.#inFlight,
        limits: meaning.limits,
        retryAfterMs: isRefused && !isVerdict ? waitOf(meaning, domain) : undefined,
      };
      const isAway = AWAY.has(meaning.kind);
      isFailing = isRefused ? isAway : signal !== 'good' && isFailing;
      if (isAway || isRefused) trouble = meaning.reason;
      else if (signal === 'good') trouble = undefined;
      if (signal === 'good') {
        home.ended('good', call, nowMs);
        overlongWaits.clear();
      } else if (isRefused) {
        const isOut = signal === 'out' || meaning.kind === 'machine';
        home.ended(isOut ? 'away' : signal === 'failing' ? 'failing' : 'refused', call, nowMs);
        if (home.isSick) diagnosis.leave();
        else if (signal === 'failing' && !waiting.hasAgain) diagnosis.askAgain();
        stopIfTooLong();
      } else home.ended('none', call, nowMs);
    }
  }

  /** How long the API says to wait; stops when that is too long for several domains. */
  function waitOf(meaning: Meaning, domain: string): number | undefined {
    const statedMs = meaning.retryAfterMs;
    if (statedMs === undefined || statedMs <= maxWaitMs) return statedMs;
    overlongWaits.add(domain);
    if (overlongWaits.size > 1 || waiting.length === 0) {
      const isOut = AWAY.has(meaning.kind);
      const trouble = isOut ? meaning.reason : undefined;
      stopSwitch.stop(stopForWait(statedMs, options.now(), trouble));
      return statedMs; // for the next run
    }
    return FIRST_STATED_MS;
  }

  home.onChange = () => {
    if (home.isSick) {
      diagnosis.leave();
      waiting.leave();
    }
    letThrough();
  };
  stopSwitch.noNewCall.addEventListener('abort', () => diagnosis.end());
  return {
    ask,
    idle: () => {
      isIdle = true;
      diagnosis.idle(inFlight + waiting.length);
      letThrough();
    },
    describe: () => {
      const nowMs = clock.nowMs();
      const { pace, fixed } = home;
      // Refusals that last are tried as an outage is, and are none.
      const isOut = pace.isAway && (isFailing || trouble === undefined);
      const failing = {
        isOut,
        lastedMs: triedUntilMs(pace, nowMs) - pace.refusedMs,
        reason: trouble,
      };
      return { ...describePace(pace, fixed, nowMs), ...(pace.state === 'testing' && { failing }) };
    },
    learned: () => learnedOf(home.pace, home.fixed, options.now() - clock.nowMs()),
    ahead: () => {
      const { ratePerMs, latencyMs } = home.pace;
      const { count, perMs } = home.fixed?.rate ?? { count: ratePerMs, perMs: 1 };
      const fastest = concurrency / Math.max(1, latencyMs);
      return 2 * inFlight + AHEAD_MS * Math.min(count / perMs, fastest);
    },
    isSick: () => home.isSick === true,
    close: async () => {
      sleeping?.stop.abort();
      await home.close?.();
    },
  };
}

/**
 * Until when calls were tried. A test that is long overdue cannot be made: Redis is away, or calls are not
 * wanted.
 */
const triedUntilMs = ({ refusedMs, lastMs, shutUntilMs }: Pace, nowMs: number): number =>
  Math.min(nowMs, Math.max(refusedMs, lastMs, shutUntilMs) + OVERDUE_MS);
const OVERDUE_MS = 5_000;
const AWAY: ReadonlySet<Meaning['kind']> = new Set(['away', 'machine']);
const NO_CALL: PacedCall = { sentAtMs: Number.MAX_VALUE, latencyMs: 0, inFlight: 0 };

/** Longer, and whoever comes waits for it; shorter, and callers are idle between two jobs of a queue. */
const AHEAD_MS = 2_000;

/** A wait that is too long is tried first: it may be stated for one domain alone. */
const FIRST_STATED_MS = 1_000;
