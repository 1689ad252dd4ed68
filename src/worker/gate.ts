import { MAX_REDIRECTS, type Meaning } from '../brand/meaning.ts';
import {
  type Budget,
  type Permit as BudgetPermit,
  both,
  isUsedUp,
  joinBudgets,
} from '../calls/budget.ts';
import { Flight, type FlightParts, type Permit } from './flight.ts';
import type { GateOptions } from './gate-options.ts';
import { describePace, type Learned, learnedOf, type PaceDescription } from './pace-memory.ts';
import { Patience, triedUntilMs } from './patience.ts';
import { StartLine } from './start-line.ts';
import { NotAskedError } from './stop-switch.ts';
import type { Waiting } from './wait-queue.ts';
import type { Subject } from './withheld.ts';

/** What a call asks for. */
export interface Question {
  readonly subject: Subject;
  /** Subject when its turn has come, which may take long. False spares the call. */
  isWanted(): boolean;
  /** Bounds its calls in addition to the budget of all. @default no such bound */
  readonly budget?: Budget | undefined;
  /** Whose it is. Lists that wait have turns. @default the only list's */
  readonly list?: unknown;
  /** Whether a redirect has led there. @default false */
  readonly isRedirected?: boolean;
}

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
 * | part | says | in |
 * |---|---|---|
 * | pause, stop | nothing starts; nothing starts any more | `stop-switch.ts` |
 * | budget | calls, what they cost, calls in a period of the calendar | `budget.ts` |
 * | line | who is next, and when one may start | `start-line.ts` |
 * | pace | the rate and the calls in flight, learned or stated; shut and testing | `pace.ts` |
 * | fixed rate | never more in any window than the user allows | `rate.ts` |
 * | flight | a call, and whom its end is told | `flight.ts` |
 * | diagnosis | first calls; whom a refusal is about; whether all is down | `diagnosis.ts` |
 * | patience | for how long calls may go wrong until the run stops | `patience.ts` |
 *
 * What the pace knows has two homes: this process, or Redis, for all workers of a credential
 * (`redis-pace.ts`).
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #patience: Patience;
  readonly #line: StartLine;
  /** Those that are told of the end of a call. */
  readonly #parts: FlightParts;
  #isProbing = false;
  /** What bounds the calls of those who asked last: a probe is made for them. */
  #payer: Budget | undefined;
  /** What those in line would pay with, and what bounds their calls. */
  readonly #inLine = new Set<Pick<Question, 'budget'> & { readonly spend: BudgetPermit }>();
  /** All lookups that are left are withheld, unless one has asked since. */
  #isIdle = false;
  /** And nothing is asked for a moment. */
  #isPausing = false;

  constructor(options: GateOptions) {
    const { home, diagnosis, stopSwitch } = options;
    this.#options = options;
    this.#patience = new Patience(options);
    this.#line = new StartLine(options, {
      onLook: () => void (diagnosis.probe !== undefined && this.#probe()),
      onHeld: () => this.#patience.stopIfTooLong(),
    });
    this.#parts = { ...options, line: this.#line, patience: this.#patience };
    home.onChange = () => {
      if (home.isSick) {
        diagnosis.leave();
        this.#line.leave();
      }
      diagnosis.hearOthers();
      this.#line.letThrough();
    };
    stopSwitch.noNewCall.addEventListener('abort', () => diagnosis.end());
  }

  /**
   * Waits until one call may start. It must then be made, or abandoned.
   *
   * @throws NotAskedError when it never may: a budget is used up, it is no longer wanted, the run
   *   stops
   */
  async ask(question: Question): Promise<Permit> {
    const { budget, diagnosis, stopSwitch, pause } = this.#options;
    const signal = stopSwitch.noNewCall;
    this.#isIdle = false;
    this.#payer = question.budget;
    for (;;) {
      signal.throwIfAborted();
      if (pause?.isPaused) await pause.whileOpen(signal);
      if (!question.isWanted()) throw new NotAskedError();
      const kind = diagnosis.wasBad(question.subject) ? 'again' : 'new';
      const spend =
        (question.budget ? undefined : budget.tryAcquire()) ??
        (question.isRedirected ? this.#payAhead(question.budget) : undefined) ??
        (await this.#acquire(question));
      const isPaid = this.#line.tryStart() || (await this.#turn(spend, kind, question));
      const isStill = !stopSwitch.stopped && !pause?.isPaused && question.isWanted();
      if (isPaid && isStill && !this.#line.isLate && spend.isGood())
        return new Flight(this.#parts, question.subject, spend);
      this.#giveBack(isPaid ? spend : undefined);
    }
  }

  /** No lookup is left that waits for nothing. */
  idle(): void {
    this.#isIdle = true;
    const { clock, diagnosis, stopSwitch } = this.#options;
    if (this.#isPausing) return;
    const { pauseMs } = diagnosis;
    if (pauseMs === 0) return this.#tellIdle();
    this.#isPausing = true;
    const go = (): void => {
      this.#isPausing = false;
      if (this.#isIdle) this.#tellIdle();
    };
    clock.sleep(pauseMs, stopSwitch.noNewCall).then(go, () => {});
  }

  #tellIdle(): void {
    this.#options.diagnosis.idle(this.#line.inFlight + this.#line.length);
    this.#line.letThrough();
  }

  /** Whether such an answer is taken for one of the rate, whoever is asked about. */
  isOfRate(meaning: Meaning): boolean {
    return this.#options.diagnosis.isOfRate(meaning);
  }

  /** The present pace, and why. */
  describe(): PaceDescription {
    const { clock, home } = this.#options;
    const { pace, fixed } = home;
    const { isFailing, trouble } = this.#patience;
    const nowMs = clock.nowMs();
    // Refusals that last are tried as an outage is, and are none.
    const isOut = pace.isAway && (isFailing || trouble === undefined);
    const failing = {
      isOut,
      lastedMs: triedUntilMs(pace, nowMs) - pace.refusedMs,
      reason: trouble ?? home.reason,
    };
    return { ...describePace(pace, fixed, nowMs), ...(pace.state === 'testing' && { failing }) };
  }

  /** What was learned, for the next run; undefined where it is kept elsewhere. */
  learned(): Learned | undefined {
    const { home, now, clock } = this.#options;
    return learnedOf(home.pace, home.fixed, now() - clock.nowMs());
  }

  /** Calls that may be of use within two seconds, and as many again as are under way. */
  ahead(): number {
    const { home, concurrency } = this.#options;
    const { ratePerMs, latencyMs } = home.pace;
    const { count, perMs } = home.fixed?.rate ?? { count: ratePerMs, perMs: 1 };
    const fastest = concurrency / Math.max(1, latencyMs);
    return 2 * this.#line.inFlight + AHEAD_MS * Math.min(count / perMs, fastest);
  }

  /** Whether calls fail here that go well elsewhere. */
  isSick(): boolean {
    return this.#options.home.isSick === true;
  }

  async close(): Promise<void> {
    this.#line.close();
    await this.#options.home.close?.();
  }

  // ---- probes ----

  /** Asks about a domain that was found before, ahead of all others, as long as that is wanted. */
  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const { diagnosis } = this.#options;
    try {
      for (let domain = diagnosis.probe; domain !== undefined; domain = diagnosis.probe) {
        if (!(await this.#askProbe(domain))) diagnosis.giveUpProbe();
        if (this.#isIdle) this.idle();
      }
    } catch {
      // The run stops.
    }
    this.#isProbing = false;
    this.#line.letThrough();
  }

  async #payForProbe(): Promise<BudgetPermit | undefined> {
    const { clock } = this.#options;
    const atOnce = this.#payAhead(this.#payer);
    if (atOnce) return atOnce;
    const bounds = this.#boundsOf(this.#payer);
    const wait = new AbortController();
    clock.sleep(PROBE_MS, wait.signal).then(
      () => wait.abort(),
      () => {},
    );
    const spend = await bounds.acquire(wait.signal).catch(() => undefined);
    wait.abort();
    return spend && !isUsedUp(spend) ? spend : undefined;
  }

  /** Follows redirects, as a lookup does. Returns whether all of its calls could be paid for. */
  async #askProbe(domain: string): Promise<boolean> {
    let path: string | undefined;
    for (let redirects = 0; ; redirects += 1) {
      const spend = await this.#payForProbe();
      if (!spend) return false;
      const flight = await this.#startProbe(domain, spend);
      let meaning: Meaning;
      try {
        meaning = await this.#options.probe(domain, path);
      } catch (error) {
        flight.abandoned(error);
        throw error;
      }
      if (meaning.kind !== 'redirect' || redirects >= MAX_REDIRECTS) {
        flight.probed(meaning);
        return true;
      }
      flight.sentElsewhere(meaning);
      path = meaning.path;
    }
  }

  async #startProbe(domain: string, spend: BudgetPermit): Promise<Flight> {
    await this.#turn(spend, 'probe');
    if (spend.isGood() && !this.#options.stopSwitch.stopped)
      return new Flight(this.#parts, { domain }, spend);
    this.#giveBack(spend);
    throw new NotAskedError();
  }

  // ---- what each call needs ----

  #boundsOf(own: Budget | undefined): Budget {
    const { budget } = this.#options;
    return joinBudgets(own ? [own, budget] : [budget]);
  }

  /**
   * What pays for a probe, or for what a redirect leads to: else the call before was made for
   * nothing. New ones in line may hold all calls that are left: then it takes that of the last.
   */
  #payAhead(own: Budget | undefined): BudgetPermit | undefined {
    const atOnce = this.#boundsOf(own).tryAcquire();
    if (atOnce) return atOnce;
    const last = [...this.#inLine].findLast(({ budget }) => budget === own);
    if (last) this.#inLine.delete(last);
    return last?.spend;
  }

  async #acquire(question: Question): Promise<BudgetPermit> {
    const { budget, stopSwitch } = this.#options;
    const own = await question.budget?.acquire(stopSwitch.noNewCall);
    if (own && isUsedUp(own)) throw new NotAskedError();
    try {
      const all = budget.tryAcquire() ?? (await budget.acquire(stopSwitch.noNewCall));
      if (!isUsedUp(all)) return own ? both(own, all) : all;
      stopSwitch.stop(all);
      throw new NotAskedError();
    } catch (error) {
      own?.release();
      throw error;
    }
  }

  /** Waits for its turn. Returns whether it can still pay: a probe may have taken that. */
  async #turn(spend: BudgetPermit, kind: Waiting, question?: Question): Promise<boolean> {
    const inLine = { spend, budget: question?.budget };
    if (kind === 'new') this.#inLine.add(inLine);
    try {
      await this.#line.turn(kind, question);
    } catch (error) {
      if (this.#inLine.delete(inLine) || kind !== 'new') spend.release();
      throw error;
    }
    return this.#inLine.delete(inLine) || kind !== 'new';
  }

  /** A call that was let through is not made. @param spend what would have paid for it, if any */
  #giveBack(spend: BudgetPermit | undefined): void {
    spend?.release();
    this.#line.ended('none');
    this.#line.letThrough();
  }
}

/**
 * Longer, and whoever comes waits for it; shorter, and callers are idle between two jobs of a
 * queue.
 */
const AHEAD_MS = 2_000;
/** So long a probe waits for what pays for it. */
const PROBE_MS = 1_000;
