import type { Meaning } from '../brand/meaning.ts';
import { type AnswerKind, AnswerKinds, type Finding, type Totals } from './answer-kinds.ts';
import { FirstCalls, stopOf } from './first-calls.ts';
import { FirstStop } from './first-stop.ts';
import { Histories } from './histories.ts';
import { type Counts, type FinderOptions, LimitFinder } from './limit-finder.ts';
import { ListEnd } from './list-end.ts';
import { OutageWatch } from './outage-watch.ts';
import type { Stop } from './stop-switch.ts';
import {
  type History,
  type Subject,
  type Verdict,
  Withheld,
  type WithheldAnswer,
} from './withheld.ts';

/** What all calls get, and since when no other answer came. */
export interface Trouble {
  readonly meaning: Meaning;
  readonly isDown: boolean;
}

/** A call that was sent: how many answers had come when it was. */
export interface Call {
  readonly answersBefore: number;
  readonly totals: Totals;
}

/**
 * What a call says of the pace. `limit`: refused for the rate; `failing`: all goes wrong, which may
 * end by itself; `out`: the API says when it is back; `none`: nothing.
 */
export type Signal = 'good' | 'limit' | 'failing' | 'out' | 'none';

export interface Weighed {
  readonly signal: Signal;
  readonly verdict: Verdict | Promise<Verdict>;
}

export interface DiagnosisOptions extends FinderOptions {
  readonly onStop: (stop: Stop) => void;
  /** How often a lookup is retried. */
  readonly retries: number;
  /** How many domains go first, and make a verdict there. @default 5 */
  readonly first?: number | undefined;
  /** Whether the API gave good answers to earlier runs. @default not known */
  readonly hasAnswered?: boolean | undefined;
  /**
   * Some domains that earlier runs found, to be asked about before the first calls stop a run.
   * @default none
   */
  readonly foundBefore?: readonly string[] | undefined;
  /** Whether an earlier run got no good answer for the domain either. @default always false */
  readonly wasBadBefore?: ((domain: string) => boolean) | undefined;
  /** Whether answers are believed, however many are alike. @default false */
  readonly isTrusting?: boolean | undefined;
}

/** Alike records in a row that are taken for an answer to all. */
const MANY_ALIKE = 5;
/** One of so many that are found is told to others. */
const TOLD_OF = 100;
/** Calls about a domain that is refused for the rate where nothing else was answered. */
const MOST_ALONE = 8;
/** So many refusals for the rate without a good answer ask for a probe. */
const MANY_REFUSALS = 5;
/** So many answers of which it is not known whom they are about hold up further calls. */
const MOST_UNKNOWN = 40;
const FEW = 16;

/**
 * Whom an answer is about: its domain, the moment, the rate, or all. One answer is evidence; what
 * it is about shows when others are well, or are not. English is never read: bodies are only
 * compared.
 *
 * ```text
 *   answer ──▶ first calls? ──▶ all down? ────▶ its kind is known? ──▶ verdict
 *              first-calls.ts   outage-watch.ts  │ not yet            answer-kinds.ts
 *              first-stop.ts                     │                    histories.ts
 *                                                ▼
 *                              withheld until another is well, then asked again   withheld.ts
 *                                                │                                list-end.ts
 *                                                │ as good as any new one, and often
 *                                                ▼
 *                              slower for a moment: does it come as often?   limit-finder.ts
 * ```
 *
 * A belief may stop a run. It never drops what was paid for: what could not be told is `failed`,
 * and asked again by the next run.
 */
export class Diagnosis {
  readonly #options: DiagnosisOptions;
  readonly #kinds = new AnswerKinds();
  readonly #counts: Counts = { answers: 0, goods: 0, calls: 0 };
  readonly #outage = new OutageWatch(this.#kinds, this.#counts);
  readonly #first: FirstCalls;
  readonly #firstStop: FirstStop;
  readonly #limits: LimitFinder;
  readonly #histories = new Histories(this.#kinds, this.#counts);
  readonly #withheld = new Withheld();
  readonly #listEnd = new ListEnd(this.#kinds, this.#withheld);
  /** What they got while nobody was well. */
  readonly #blocked = new WeakMap<Subject, AnswerKind>();
  /** The last record, and how many before it were the same. */
  #lastRecord = '';
  #sameRecords = 0;
  #lastBad: Meaning | undefined;
  /** Refusals for the rate since the last good answer. */
  #refusals = 0;
  #isOver = false;
  /** It was stopped since its answers are those of another address. */
  #isMisled = false;

  constructor(options: DiagnosisOptions) {
    this.#options = options;
    this.#limits = new LimitFinder(this.#kinds, this.#counts, options);
    this.#first = new FirstCalls({
      first: options.first,
      isOver: options.isTrusting,
      isKnown: options.hasAnswered,
    });
    const { home, nowMs } = options;
    this.#firstStop = new FirstStop(this.#outage, { home, nowMs, stop: (why) => this.#stop(why) });
    for (const domain of options.foundBefore ?? []) this.#outage.found(domain, '');
  }

  get #state(): OutageWatch['state'] {
    return this.#outage.state;
  }

  /**
   * Whether one more call may start. At first only a few go ahead; while all is down, probes alone.
   */
  mayStart(inFlight: number): boolean {
    const isDecisive = this.#state === 'down' || this.#firstStop.likely !== undefined;
    if (this.#firstStop.isInGrace || (isDecisive && this.#outage.isProbeWanted)) return false;
    if (this.#withheld.unknown >= MOST_UNKNOWN && inFlight >= FEW) return false;
    return this.#first.mayStart(inFlight);
  }

  /** What others have found may have changed, or no time is left for them. */
  hearOthers(): void {
    this.#firstStop.hearOthers();
  }

  /** A call is sent. */
  begin(): Call {
    this.#counts.calls += 1;
    return { answersBefore: this.#counts.answers, totals: this.#kinds.calls };
  }

  /** Whether a lookup got a bad answer before. */
  wasBad(subject: Subject): boolean {
    return this.#histories.get(subject) !== undefined;
  }

  /** Whether an answer to a call is taken for a limit's. */
  isOfRate(meaning: Meaning): boolean {
    return this.#kinds.of(meaning).about === 'limit';
  }

  /** What all calls get at present; undefined while some are well. */
  get trouble(): Trouble | undefined {
    return this.#lastBad && { meaning: this.#lastBad, isDown: this.#state === 'down' };
  }

  /** What turned out of answers so far. */
  findings(): readonly Finding[] {
    return this.#kinds.findings();
  }

  /** Weighs the answer to a call, or one of them. */
  note(meaning: Meaning, subject: Subject, call: Call): Weighed {
    this.#counts.answers += 1;
    const { kind } = meaning;
    if (kind === 'redirect') {
      // What its lookup gets there comes ahead of new ones.
      this.#histories.of(subject, this.#kinds.of(meaning));
      this.#first.redirected();
      return BELIEVED;
    }
    if ((kind === 'refused' && meaning.isSure) || (kind === 'quota' && !meaning.retryAfterMs)) {
      this.#stop(stopOf(meaning));
      return { signal: 'none', verdict: kind === 'quota' ? 'drop' : 'fail' };
    }
    if (kind === 'found') return this.#noteFound(meaning, subject, call);
    return kind === 'pending' ? this.#good(subject, call) : this.#bad(meaning, subject, call);
  }

  /**
   * Weighs the answers to a call about several domains, each by itself, and the call as one that
   * was served.
   */
  noteTogether(
    each: readonly (readonly [Meaning, Subject])[],
    party: Subject,
    call: Call,
  ): readonly Weighed[] {
    const { answersBefore } = call;
    const part = { answersBefore, totals: this.#kinds.parts };
    const all: Weighed[] = [];
    // Good ones first: they tell what the others are about.
    for (const isFound of [true, false]) {
      for (const [at, [meaning, subject]] of each.entries()) {
        if ((meaning.kind === 'found') === isFound) all[at] = this.note(meaning, subject, part);
      }
    }
    if (all.some(({ signal }) => signal === 'good')) this.#good(party, call);
    return all;
  }

  #tried(kind: AnswerKind | undefined, isFresh: boolean, { totals, answersBefore }: Call): boolean {
    this.#kinds.tried(kind, isFresh, kind?.totals ?? totals);
    const isTrial = isFresh && this.#state === 'well' && totals === this.#kinds.calls;
    return isTrial && this.#limits.note(kind, answersBefore);
  }

  // ---- good answers ----

  #noteFound(meaning: Meaning, subject: Subject, call: Call): Weighed {
    const { fingerprint: record } = meaning;
    if (!this.#first.isOver && !this.#options.hasAnswered) {
      const isNew = this.#first.found(meaning, call);
      if (isNew === false) {
        const kind = this.#kinds.of(meaning, call.totals);
        const history = this.#histories.of(subject, kind);
        history.kind = kind;
        return { signal: 'good', verdict: this.#withhold(meaning, subject, history) };
      }
      if (isNew !== true) {
        this.#stop(isNew);
        return { signal: 'none', verdict: 'drop' };
      }
    }
    this.#sameRecords = record === this.#lastRecord ? this.#sameRecords + 1 : 0;
    this.#lastRecord = record;
    const isMany = this.#sameRecords >= MANY_ALIKE - 1;
    if (isMany && !this.#options.isTrusting) return this.#bad(meaning, subject, call);
    this.#outage.found(subject.domain, record);
    if (this.#counts.goods % TOLD_OF === 0) this.#options.home.tellFound?.(subject.domain);
    return this.#good(subject, call);
  }

  #good(subject: Subject, call: Call): Weighed {
    const { answersBefore } = call;
    const history = this.#histories.get(subject);
    const isFresh = !history?.bad;
    if (history && !isFresh) this.#histories.bettered(history);
    const blocked = this.#blocked.get(subject);
    if (blocked) blocked.unblocked += 1;
    this.#countGood(answersBefore);
    this.#histories.forget(subject);
    this.#tried(undefined, isFresh, call);
    this.#well(answersBefore);
    return GOOD;
  }

  #countGood(answersBefore: number): void {
    this.#counts.goods += 1;
    this.#first.isOver = true;
    this.#firstStop.clear();
    this.#refusals = 0;
    this.#histories.noteGood(answersBefore);
  }

  /** A domain is well: what was answered before its call began can be told from it. */
  #well(answersBefore: number): void {
    if (this.#outage.isDoubted(answersBefore)) return;
    if (this.#state === 'down') return this.#recover();
    this.#lastBad = undefined;
    if (this.#withheld.length === 0) this.#outage.idleProbes = 0;
    this.#outage.good();
    if (this.#withheld.length > 0) this.#releaseDue(answersBefore);
  }

  /** All was down, and is well again: what came meanwhile is no verdict. */
  #recover(): void {
    const { main } = this.#outage;
    this.#lastBad = undefined;
    this.#outage.clear();
    if (main) this.#limits.noteBlock(main);
    this.#withheld.release((one) => {
      this.#histories.forget(one.subject);
      this.#blocked.set(one.subject, one.history.kind);
      return one.meaning.kind === 'found' && one.history.kind !== main ? 'believe' : 'again';
    });
  }

  /** Of each kind that is not known yet one more is asked again; what is known gets its verdict. */
  #releaseDue(answersBefore: number, mayAskAgain = true): void {
    const next = new Map<AnswerKind, History>();
    this.#withheld.release((one) => {
      const { history } = one;
      one.isDue ||= history.answeredAt <= answersBefore;
      if (!one.isDue) return undefined;
      const verdict = this.#knownVerdict(history);
      const first = next.get(history.kind);
      // Of the latest, since those of the head of a list may have much in common.
      if (!verdict && (!first || history.bad <= first.bad)) next.set(history.kind, history);
      return verdict;
    });
    if (next.size === 0 || !mayAskAgain) return;
    this.#withheld.release(({ history }) =>
      next.get(history.kind) === history ? 'again' : undefined,
    );
  }

  /** What becomes of an answer whose kind is known; undefined while it is not. */
  #knownVerdict({ kind, bad, same }: History): Verdict | undefined {
    switch (kind.about) {
      case 'own':
        if (kind.isPlain || bad > 1) return 'believe';
        if (kind.isOfMoment) return 'retry';
        return this.#kinds.noteOwn(kind) ? 'again' : 'believe';
      case 'chance':
        if (this.#kinds.isOfDomain(kind, same)) return 'believe';
        return kind.isOfMoment ? 'soon' : 'again';
      case 'limit':
        return 'again';
      case 'unknown':
        return kind.isOfMoment ? 'retry' : undefined;
    }
  }

  // ---- bad answers ----

  #bad(meaning: Meaning, subject: Subject, call: Call): Weighed {
    // What came in a reply that was served is no limit, and comes alone, too.
    const ofPart = this.#kinds.of(meaning, this.#kinds.parts);
    const isPart = this.#histories.get(subject)?.kind === ofPart;
    const kind = isPart ? ofPart : this.#kinds.of(meaning, call.totals);
    const history = this.#histories.of(subject, kind);
    const isFresh = history.bad === 0;
    const isLimit = kind.about === 'limit';
    const isAlone = this.#histories.isAlone(history);
    this.#histories.note(history, kind, subject.domain);
    const isFound = this.#tried(kind, isFresh, call);
    history.answeredAt = this.#counts.answers;
    this.#lastBad = meaning;
    if (this.#counts.goods === 0 && !isLimit)
      return this.#badAtFirst(history, meaning, subject, call);
    const withheld = (signal: Signal): Weighed => ({
      signal,
      verdict: this.#withhold(meaning, subject, history),
    });
    if (this.#state === 'down') return withheld('failing');
    if (isLimit || isFound) return this.#refusedForRate(history, meaning, isAlone);
    const isNews =
      isFresh && !this.#isTrusted(kind) && !this.#options.wasBadBefore?.(subject.domain);
    if (isNews) this.#outage.bad(kind, subject.domain);
    if (this.#state === 'suspected') return withheld('none');
    this.#limits.suspect(kind, meaning.retryAfterMs !== undefined);
    // It comes again, and nobody was well in between: too few may be left to show what it is about.
    if (isAlone && kind.isUncertain) return withheld('none');
    return this.#weighOne(history, meaning, subject);
  }

  #weighOne(history: History, meaning: Meaning, subject: Subject): Weighed {
    const { kind, bad, same } = history;
    const { about } = kind;
    if (subject.isSeveral && this.#kinds.isOfOne(kind, same, bad)) {
      return { signal: 'none', verdict: 'fail' };
    }
    const signal = about === 'own' || about === 'chance' ? 'good' : 'none';
    if (kind.isOfMoment) {
      const isHopeless = about === 'own' && bad > 1;
      return { signal, verdict: isHopeless ? 'fail' : about === 'chance' ? 'soon' : 'retry' };
    }
    if (about === 'chance') {
      const { retries } = this.#options;
      const isOwn = this.#kinds.isOfDomain(kind, same);
      if (isOwn) this.#kinds.noteOwn(kind);
      // A domain that is refused so often is hardly well: that it is its own is seen soon.
      return { signal, verdict: isOwn ? 'believe' : bad > retries ? 'again' : 'soon' };
    }
    if (bad > 1 && this.#kinds.isOfDomain(kind, same)) return { signal, verdict: 'believe' };
    return { signal, verdict: this.#withhold(meaning, subject, history) };
  }

  /** Refusals are no sign of an outage, however many come. */
  #isTrusted(kind: AnswerKind): boolean {
    return this.#options.isTrusting === true && !kind.isOfMoment;
  }

  #badAtFirst(history: History, meaning: Meaning, subject: Subject, call: Call): Weighed {
    if (this.#isTrusted(history.kind)) return BELIEVED;
    const why = this.#options.wasBadBefore?.(subject.domain)
      ? undefined
      : this.#first.bad(history.kind, meaning, subject.domain, call);
    if (typeof why === 'object') this.#firstStop.suggest(why);
    if (this.#isOver) return { signal: 'none', verdict: 'drop' };
    const isDown = why === 'down' || this.#state === 'down';
    if (isDown) this.#outage.goDown();
    // The API says that it is out, and until when.
    const isOut = history.kind.isFailure && meaning.retryAfterMs !== undefined;
    const signal = isDown ? 'failing' : isOut ? 'out' : 'none';
    return { signal, verdict: this.#withhold(meaning, subject, history) };
  }

  #refusedForRate(history: History, meaning: Meaning, isAlone: boolean): Weighed {
    const { kind, bad, same } = history;
    const { goods } = this.#counts;
    if (this.#kinds.isOfDomain(kind, same)) {
      this.#kinds.noteOwn(kind);
      return { signal: 'none', verdict: kind.isOfMoment ? 'retry' : 'believe' };
    }
    // Nobody else is there to tell: it is not asked for ever.
    if (goods === 0 && bad >= MOST_ALONE && kind.same.size === 0) {
      return { signal: 'none', verdict: 'fail' };
    }
    const isStated = meaning.retryAfterMs !== undefined;
    // Others were well since it was refused, more often than by chance: they tell more of the rate.
    const isTold = same > 0 && !isStated && this.#kinds.isUnlikely(kind, same);
    const isLimit = !isTold && this.#limits.refused(kind, isStated);
    // Perhaps only domains are left that are refused for themselves.
    this.#refusals += 1;
    const isDoubtful = isAlone || this.#refusals >= MANY_REFUSALS;
    if (isDoubtful && !isStated) this.#outage.askProbe();
    const isOutage = !isLimit && isStated && kind.isFailure;
    const signal = isOutage ? 'out' : isLimit ? this.#limits.signalOf(kind) : 'none';
    return { signal, verdict: 'again' };
  }

  // ---- probes ----

  /** A domain that was found before, to be asked about now; undefined while no probe is wanted. */
  get probe(): string | undefined {
    return this.#outage.isProbeWanted && !this.#isOver ? this.#outage.nextProbe?.domain : undefined;
  }

  /** A probe was answered. */
  noteProbe(meaning: Meaning, { answersBefore }: Call): Signal {
    this.#counts.answers += 1;
    this.#kinds.noteProbe();
    const probed = this.#outage.nextProbe;
    this.#outage.moveOn();
    const { fingerprint: record } = meaning;
    const isSame = record === this.#lastRecord && probed?.record !== this.#lastRecord;
    const isWell = meaning.kind === 'found' && !(isSame && this.#sameRecords > 0);
    return isWell ? this.#probeWell(answersBefore) : this.#probeFailed(meaning);
  }

  #probeWell(answersBefore: number): Signal {
    // Nothing else is left: what becomes of all is decided together, in `idle`.
    const isIdle = this.#state === 'well';
    this.#outage.idleProbes += isIdle ? 1 : 0;
    this.#countGood(answersBefore);
    if (this.#state === 'down') this.#recover();
    else {
      if (this.#outage.hasFailedProbe) this.#endShortOutage();
      else this.#endStreak();
      this.#lastBad = undefined;
      this.#releaseDue(answersBefore, !isIdle);
    }
    return 'good';
  }

  /** A domain that was found before is well: what came is of domains, or usual. */
  #endStreak(): void {
    // Those that are asked for again and again would be well as often by chance.
    if (this.#state === 'suspected' || this.#outage.idleProbes <= 1) {
      const kinds = new Set([...this.#outage.kinds, ...this.#withheld.kinds]);
      for (const kind of kinds) this.#kinds.probeWell(kind);
    }
    this.#outage.probeGood();
  }

  /** All may have been down until now: what came tells nothing. */
  #endShortOutage(): void {
    this.#outage.clear();
    this.#withheld.release((one) => {
      if (!one.history.kind.isOfMoment) return undefined;
      this.#histories.forget(one.subject);
      return 'again';
    });
  }

  #probeFailed(meaning: Meaning): Signal {
    this.#lastBad = meaning;
    if (this.#state === 'down') return 'failing';
    const kind = this.#kinds.of(meaning);
    if (kind.about === 'limit') {
      if (this.#state === 'well') this.#outage.isProbeWanted = false;
      return this.#limits.signalOf(kind);
    }
    this.#kinds.probeFailed(kind);
    if (!this.#outage.probeFailed(kind)) return 'none';
    const stop = this.#firstStop.likely;
    // An address that was right before is right: something else answers there for a while.
    if (stop && stop.reason !== 'misdirected' && !kind.isOfMoment) {
      this.#stop(stop);
      return 'none';
    }
    this.#firstStop.clear();
    return 'failing';
  }

  /** The probe cannot be made: no call is left to pay for it. */
  giveUpProbe(): void {
    if (this.#firstStop.likely) this.#stop(this.#firstStop.likely);
    this.#outage.giveUpProbe();
  }

  // ---- what is withheld ----

  #withhold(meaning: Meaning, subject: Subject, history: History): Verdict | Promise<Verdict> {
    if (this.#isOver) return this.#lastVerdict({ meaning, history });
    const verdict = this.#withheld.withhold(subject, meaning, history);
    if (this.#withheld.unknown >= MOST_UNKNOWN) this.#outage.askProbeWhileIdle();
    return verdict;
  }

  /** A call was refused while nothing new waits: something withheld is asked again. */
  askAgain(): void {
    if (this.#state === 'down' && !this.#outage.isProbeWanted) this.#withheld.releaseFirst('again');
  }

  /** All lookups that are left are withheld, but for calls that are in flight for long. */
  idle(inFlight: number): void {
    if (this.#isOver || this.#outage.isProbeWanted) return;
    // What those get tells more.
    if (inFlight > 0 && (this.#counts.goods === 0 || this.#state === 'down')) return;
    if (this.#counts.goods === 0) this.#endFirstCalls();
    if (this.#isOver || this.#outage.isProbeWanted || this.#firstStop.isInGrace) return;
    if (this.#state === 'down') return this.askAgain();
    this.#firstStop.hearFound();
    const areGoods = this.#counts.goods > 0;
    if (areGoods && this.#listEnd.askAfterPause()) return;
    const { isTrusting, home } = this.#options;
    const isProbeOfUse = !isTrusting && this.#listEnd.isProbeOfUse(this.#outage.idleProbes === 0);
    if (isProbeOfUse && this.#outage.askProbeWhileIdle()) return;
    const those = { areGoods, areOthers: home.others?.areThere === true };
    this.#withheld.release((one) =>
      this.#listEnd.verdictOf(one, this.#knownVerdict(one.history), those),
    );
  }

  /** How long nothing is asked until `idle`: what is a limit's is gone by then. */
  get pauseMs(): number {
    const isWell = !this.#isOver && this.#state === 'well' && !this.#outage.isProbeWanted;
    return isWell && this.#counts.goods > 0 ? this.#listEnd.pauseMs : 0;
  }

  /** Nothing is left of a list before the API was seen to work: it was short. */
  #endFirstCalls(): void {
    if (this.#first.hasRecord) {
      this.#first.isOver = true;
      this.#firstStop.clear();
      this.#counts.goods += 1;
      return;
    }
    const why = this.#options.isTrusting ? undefined : this.#first.stopOfFew();
    if (why && this.#state !== 'down') this.#firstStop.suggest(why);
  }

  /** Calls fail here alone: what is withheld is left to others. */
  leave(): void {
    this.#withheld.release((one) => {
      this.#histories.forget(one.subject);
      return 'drop';
    });
  }

  /** The run stops: what is withheld is let go. */
  end(): void {
    this.#isOver = true;
    this.#withheld.release((one) => this.#lastVerdict(one));
  }

  /**
   * What becomes of an answer of which no call tells more. What was paid for is kept, if it is one.
   */
  #lastVerdict({
    meaning: { kind },
    history,
  }: Pick<WithheldAnswer, 'history' | 'meaning'>): Verdict {
    if (kind === 'found') return this.#isMisled ? 'drop' : 'believe';
    const isVerdict = kind === 'rejected' || kind === 'not_found';
    const isWell = this.#counts.goods > 0 && this.#state === 'well';
    return isVerdict && history.kind.about === 'own' && isWell ? 'believe' : 'drop';
  }

  #stop(why: Stop): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isMisled = why.reason === 'misdirected';
    this.#options.onStop(why);
    this.end();
  }
}

const GOOD: Weighed = { signal: 'good', verdict: 'believe' };
const BELIEVED: Weighed = { signal: 'none', verdict: 'believe' };
