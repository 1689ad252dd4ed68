import type { Meaning } from '../brand/meaning.ts';
import { type AnswerKind, AnswerKinds, type Finding } from './answer-kinds.ts';
import { FirstCalls, stopOf } from './first-calls.ts';
import { RateTrial } from './rate-trial.ts';
import type { Stop } from './stop-switch.ts';
import { Streak } from './streak.ts';

/**
 * Whom an answer is about: its domain, the moment, the rate, or all. One answer is evidence; what it is about
 * shows when others are well, or are not. English is never read: bodies are only compared.
 *
 * ```text
 *   answer ──▶ first calls? ──▶ all down? ──▶ its kind is known? ──▶ verdict
 *              first-calls.ts   streak.ts      │ not yet             answer-kinds.ts
 *                                              ▼
 *                              held until another domain is well, then asked again
 *                                              │ as good as any new one, and often
 *                                              ▼
 *                              slower for a moment: does it come as often?   rate-trial.ts
 * ```
 *
 * A belief may stop a run. It never drops what was paid for: what could not be told is `failed`, and
 * asked again by the next run.
 */
export interface Diagnosis {
  /** Whether one more call may start. At first only a few go ahead; while all is down, probes alone. */
  mayStart(underWay: number): boolean;
  /** A call begins. */
  begin(): Call;
  /** Weighs the answer to a call, or one of them. */
  note(meaning: Meaning, asked: Asked, call: Call): Weighed;
  /** Whether a lookup got a bad answer before. */
  wasBad(asked: Asked): boolean;
  /** A domain that was found before, to be asked about now; undefined while no probe is wanted. */
  readonly probe: string | undefined;
  /** A probe was answered. */
  noteProbe(meaning: Meaning, call: Call): Signal;
  /** The probe cannot be made: no call is left to pay for it. */
  giveUpProbe(): void;
  /** A call was refused while nothing new waits: something held is asked again. */
  askAgain(): void;
  /** No lookup is left that is not held, but for calls that are under way for long. */
  idle(underWay: number): void;
  /** Calls fail here alone: what is held is left to others. */
  leave(): void;
  /** The run stops: what is held is let go. */
  end(): void;
  /** What all calls get at present; undefined while some are well. */
  readonly trouble: Trouble | undefined;
  /** What turned out of answers so far. */
  findings(): readonly Finding[];
}

/** What all calls get, and since when no other answer came. */
export interface Trouble {
  readonly meaning: Meaning;
  readonly isDown: boolean;
}

/** A call under way: how many answers had come when it began. */
export interface Call {
  readonly begun: number;
}

/** A lookup, or whatever else is asked about as one. */
export interface Asked {
  readonly domain: string;
}

/**
 * What a call says of the pace. `limit`: refused for the rate; `failing`: all goes wrong, which may
 * end by itself;
 * `out`: the API says when it is back; `own`: refused, but the domain alone is; `none`: nothing.
 */
export type Signal = 'good' | 'limit' | 'failing' | 'out' | 'own' | 'none';

export interface Weighed {
  readonly signal: Signal;
  readonly verdict: Verdict | Promise<Verdict>;
}

/**
 * What becomes of an answer: it is believed; its lookup asks again at once; or after a backoff, as
 * another attempt, or soon, where failures have nothing to do with each other; it is no verdict, so
 * the lookup failed; or the lookup was as good as not made.
 */
export type Verdict = 'believe' | 'again' | 'retry' | 'soon' | 'fail' | 'drop';

/** What the pace is told, and asked. */
export interface PaceControl {
  /** Calls per millisecond that start at present, and the rate they are held to. */
  readonly flowPerMs: number;
  readonly ratePerMs: number;
  /** The limit as it was found out; 0 for none, or one that is stated alone. */
  readonly limitPerMs: number;
  /** Whether the rate may be changed: it is not fixed, and no refusal is under way. */
  readonly isFree: boolean;
  /** Whether the rate is still taken down. */
  readonly isClimbing: boolean;
  slow(ratePerMs: number): void;
  /** @param toPerMs 0: to what it was */
  climb(toPerMs: number): void;
  forget(): void;
}

export interface DiagnosisOptions {
  readonly onStop: (stop: Stop) => void;
  readonly pace: PaceControl;
  /** How often a lookup is retried. */
  readonly retries: number;
  /** How many domains go first, and make a verdict there. @default 5 */
  readonly first?: number | undefined;
  /** Whether the API gave good answers to earlier runs. @default not known */
  readonly hasAnswered?: boolean | undefined;
  /** Whether an earlier run got no good answer for the domain either. @default always false */
  readonly wasBadBefore?: ((domain: string) => boolean) | undefined;
  /** Whether answers are believed, however many are alike. @default false */
  readonly isTrusting?: boolean | undefined;
}

/** A lookup that got a bad answer. */
interface Case {
  kind: AnswerKind;
  /** Bad answers, and those of them that came again although another domain was well in between. */
  bad: number;
  same: number;
  /** The last of them that are of one kind. */
  alike: number;
  /** Answers that had come when it was heard last. */
  heardAt: number;
  /** Good answers that had come when it was let go to ask again. */
  releasedAt: number;
  isRepeat: boolean;
}

interface Held {
  readonly asked: Asked;
  readonly meaning: Meaning;
  readonly case: Case;
  readonly release: (verdict: Verdict) => void;
  /** A good answer has come since. */
  isDue: boolean;
}

/** Lookups of a kind that ask again at the same time to find out. */
const MOST_REPEATING = 8;
/** Alike records in a row that are doubted. */
const MANY_ALIKE = 5;
/** So many domains whose failures no retry bettered show that none will. */
const NEVER_BETTERED = 5;
const HOPELESS = 3;
/** One of so many of a kind that is known is asked again, to notice a change. */
const CHECKED = 50;
/** Good answers between two blocks that are not two outages. */
const NEAR = 2_000;
const MOST_PROBES = 8;
/** Calls about a domain that is refused for the rate where nothing else was answered. */
const MOST_ALONE = 8;
/** So many answers of which it is not known whom they are about hold up further calls. */
const MOST_OPEN = 40;
const FEW = 16;
/** And so many are doubted where nothing else is left to tell. */
const ENOUGH_OPEN = 5;
const MOST_IDLE_PROBES = 12;
/** A limit that falls to one of so many parts is looked at again. */
const FAR = 3;
/** And refused so often there: a limit that is kept refuses no more than one call of so many. */
const MANY_LOWS = 4;
const RARELY = 24;
/** A trial of fewer calls would take longer than what it spares. */
const SLOWEST_TRIAL_PER_MS = 2 / 1_000;

export function createDiagnosis(options: DiagnosisOptions): Diagnosis {
  return new Mind(options);
}

class Mind implements Diagnosis {
  readonly #options: DiagnosisOptions;
  readonly #pace: PaceControl;
  readonly #kinds = new AnswerKinds();
  readonly #streak = new Streak(this.#kinds);
  readonly #first: FirstCalls;
  readonly #cases = new WeakMap<Asked, Case>();
  #held: Held[] = [];
  /** How many of those are of a kind that is not known yet. */
  #open = 0;
  #idleProbes = 0;
  #answers = 0;
  /** Calls that began. */
  #begun = 0;
  #goods = 0;
  /** The latest beginning of a call that was well. */
  #lastGoodBegun = -1;
  #trial: RateTrial | undefined;
  /** Domains that were found, with their records. */
  readonly #found: { readonly domain: string; readonly likeness: string }[] = [];
  #lastProbe = 0;
  #isProbeWanted = false;
  #lastRecord = '';
  #alike = 0;
  #lastBad: Meaning | undefined;
  /** Answers to calls that began before this are no sign that all is well again. */
  #downAt = 0;
  #isOver = false;
  /** It was stopped since its answers are those of another address. */
  #isMisled = false;

  constructor(options: DiagnosisOptions) {
    this.#options = options;
    this.#pace = options.pace;
    this.#first = new FirstCalls({
      first: options.first,
      isOver: options.isTrusting,
      isKnown: options.hasAnswered,
    });
  }

  mayStart(underWay: number): boolean {
    if (this.#streak.state === 'down' && this.#isProbeWanted) return false;
    if (this.#open >= MOST_OPEN && underWay >= FEW) return false;
    return this.#first.mayStart(underWay);
  }

  begin(): Call {
    this.#begun += 1;
    return { begun: this.#answers };
  }

  wasBad(asked: Asked): boolean {
    return this.#cases.has(asked);
  }

  get trouble(): Trouble | undefined {
    const isDown = this.#streak.state === 'down';
    return this.#lastBad && { meaning: this.#lastBad, isDown };
  }

  findings(): readonly Finding[] {
    return this.#kinds.findings();
  }

  note(meaning: Meaning, asked: Asked, call: Call): Weighed {
    this.#answers += 1;
    const { kind } = meaning;
    if (kind === 'redirect') return BELIEVED;
    if ((kind === 'refused' && meaning.isSure) || (kind === 'quota' && !meaning.retryAfterMs)) {
      this.#stop(stopOf(meaning));
      return { signal: 'none', verdict: kind === 'quota' ? 'drop' : 'fail' };
    }
    if (kind === 'found') return this.#noteFound(meaning, asked, call);
    if (kind === 'pending') return this.#good(asked, call);
    return this.#bad(this.#kinds.of(meaning, asked.domain), meaning, asked, call);
  }

  // ---- good answers ----

  #noteFound(meaning: Meaning, asked: Asked, call: Call): Weighed {
    const { likeness } = meaning;
    const { domain } = asked;
    if (!this.#first.isOver && !this.#options.hasAnswered) {
      const isNew = this.#first.found(meaning, call);
      if (isNew !== true) {
        if (isNew !== false) this.#stop(isNew);
        if (isNew !== false) return { signal: 'none', verdict: 'drop' };
        return {
          signal: 'good',
          verdict: this.#hold(meaning, asked, this.#caseOf(asked, this.#kinds.of(meaning, domain))),
        };
      }
    }
    this.#alike = likeness === this.#lastRecord ? this.#alike + 1 : 0;
    this.#lastRecord = likeness;
    if (this.#alike >= MANY_ALIKE - 1 && !this.#options.isTrusting) {
      return this.#bad(this.#kinds.of(meaning, domain), meaning, asked, call);
    }
    if (this.#found.length >= MOST_PROBES) this.#found.shift();
    this.#found.push({ domain, likeness });
    return this.#good(asked, call);
  }

  #good(asked: Asked, { begun }: Call): Weighed {
    const before = this.#cases.get(asked);
    if (before && before.bad > 0) this.#bettered(before);
    this.#first.isOver = true;
    this.#goods += 1;
    this.#lastGoodBegun = Math.max(this.#lastGoodBegun, begun);
    this.#kinds.tried(undefined, !before?.bad);
    this.#cases.delete(asked);
    if (!before?.bad) this.#noteTrial(undefined, begun);
    this.#well(begun);
    return GOOD;
  }

  #bettered(of: Case): void {
    this.#endRepeat(of);
    if (this.#lastGoodBegun >= of.heardAt) this.#kinds.repeated(of.kind, false);
  }

  #endRepeat(of: Case): void {
    if (of.isRepeat) of.kind.repeating -= 1;
    of.isRepeat = false;
  }

  /** A domain is well: what was heard before its call began can be told from it. */
  #well(begun: number): void {
    this.#lastBad = this.#streak.state === 'down' ? this.#lastBad : undefined;
    if (this.#streak.state === 'down') {
      if (begun < this.#downAt) return;
      return this.#recover();
    }
    if (this.#streak.state === 'doubted' && begun < this.#downAt) return;
    this.#isProbeWanted = false;
    if (this.#held.length === 0) this.#idleProbes = 0;
    this.#streak.good();
    if (this.#held.length > 0) this.#releaseDue(begun);
  }

  /** All was down, and is well again: what came meanwhile is no verdict. */
  #recover(): void {
    const { main } = this.#streak;
    this.#isProbeWanted = false;
    this.#lastBad = undefined;
    this.#streak.clear();
    if (main) this.#noteBlock(main);
    this.#release(({ asked, meaning, case: of }) => {
      this.#endRepeat(of);
      this.#cases.delete(asked);
      return meaning.kind === 'found' && of.kind !== main ? 'believe' : 'again';
    });
  }

  /** Nothing but one kind came for a while. The second time soon after, it is how the API limits calls. */
  #noteBlock(kind: AnswerKind): void {
    const isNear = this.#goods - kind.blockedAt < NEAR;
    kind.blocks = isNear ? kind.blocks + 1 : 1;
    kind.blockedAt = this.#goods;
    if (kind.blocks < 2 || !kind.mayBeLimit || kind.about === 'limit') return;
    kind.explained = kind.own / Math.max(1, this.#kinds.tries);
    this.#kinds.limit(kind);
  }

  #releaseDue(begun: number): void {
    const next = new Map<AnswerKind, Case>();
    this.#release((one) => {
      if (one.case.heardAt <= begun) one.isDue = true;
      if (!one.isDue) return undefined;
      const known = this.#knownVerdict(one);
      if (known) return known;
      const { kind } = one.case;
      const first = next.get(kind);
      if (!first || one.case.bad < first.bad) next.set(kind, one.case);
      return undefined;
    });
    for (const [kind, of] of next) if (mayRepeat(kind, of)) this.#letGoAgain(of);
  }

  /** One more of a kind is asked again. */
  #letGoAgain(of: Case): void {
    this.#release((one) => (one.case === of ? this.#letRepeat(of) : undefined));
  }

  #letRepeat(of: Case): Verdict {
    of.isRepeat = true;
    of.kind.repeating += 1;
    of.releasedAt = this.#goods;
    return 'again';
  }

  /** What becomes of an answer whose kind is known; undefined while it is not. */
  #knownVerdict({ case: of, meaning }: Pick<Held, 'case' | 'meaning'>): Verdict | undefined {
    const { kind } = of;
    switch (kind.about) {
      case 'own':
        if (kind.isPlain || of.bad > 1) return 'believe';
        kind.own += 1;
        return isChecked(kind.own) ? this.#letRepeat(of) : 'believe';
      case 'chance':
        return this.#kinds.isOfDomain(kind, of.same) ? 'believe' : 'soon';
      case 'limit':
        return 'again';
      case 'unknown':
        return FAILS.has(meaning.kind) ? 'retry' : undefined;
    }
  }

  // ---- bad answers ----

  #caseOf(asked: Asked, kind: AnswerKind): Case {
    const known = this.#cases.get(asked);
    if (known) return known;
    const of = { kind, bad: 0, same: 0, alike: 0, heardAt: 0, releasedAt: -1, isRepeat: false };
    this.#cases.set(asked, of);
    return of;
  }

  #bad(kind: AnswerKind, meaning: Meaning, asked: Asked, call: Call): Weighed {
    const of = this.#caseOf(asked, kind);
    const isNew = of.bad === 0;
    const isLimit = kind.about === 'limit';
    if (!isNew) this.#noteAgain(of, kind, asked);
    of.alike = of.kind === kind ? of.alike + 1 : 1;
    of.kind = kind;
    of.bad += 1;
    this.#kinds.tried(kind, isNew);
    const told = isNew ? this.#noteTrial(kind, call.begun) : undefined;
    of.heardAt = this.#answers;
    of.releasedAt = this.#goods;
    this.#lastBad = meaning;
    if (this.#goods === 0 && !isLimit) return this.#badAtFirst(of, meaning, asked, call);
    if (this.#streak.state === 'down') {
      return { signal: 'failing', verdict: this.#hold(meaning, asked, of) };
    }
    if (isLimit || told === 'limit') return this.#limited(of, meaning);
    if (meaning.kind === 'machine') return this.#goDown(of, meaning, asked);
    const isDoubt =
      isNew && !this.#options.wasBadBefore?.(asked.domain) && this.#streak.bad(kind, asked.domain);
    if (isDoubt) this.#doubt();
    if (this.#streak.state === 'doubted') {
      return { signal: 'none', verdict: this.#hold(meaning, asked, of) };
    }
    this.#startTrial(kind);
    return this.#weighOne(of, meaning, asked);
  }

  #weighOne(of: Case, meaning: Meaning, asked: Asked): Weighed {
    const { kind } = of;
    if (FAILS.has(meaning.kind)) {
      const isHopeless = kind.about === 'own' && of.bad > 1;
      if (isHopeless) return { signal: 'none', verdict: 'fail' };
      if (kind.about !== 'chance') return { signal: 'none', verdict: 'retry' };
      return { signal: 'none', verdict: this.#isSuspected(kind) ? 'again' : 'soon' };
    }
    const signal = kind.about === 'own' || kind.about === 'chance' ? 'good' : 'none';
    if (this.#options.isTrusting) return { signal: 'good', verdict: 'believe' };
    if (kind.about === 'chance') {
      if (this.#isSuspected(kind)) return { signal: 'none', verdict: 'again' };
      const isLast = of.bad > this.#options.retries;
      const isOwn = this.#kinds.isOfDomain(kind, of.same, isLast);
      if (isOwn) kind.own += 1;
      return { signal, verdict: isOwn ? 'believe' : 'soon' };
    }
    if (of.bad > 1 && this.#kinds.isOfDomain(kind, of.same)) return { signal, verdict: 'believe' };
    return { signal, verdict: this.#hold(meaning, asked, of) };
  }

  /** A domain got a bad answer again. It counts where another was well in between. */
  #noteAgain(of: Case, kind: AnswerKind, asked: Asked): void {
    const isCounted = this.#lastGoodBegun >= of.heardAt;
    this.#endRepeat(of);
    if (!isCounted) return;
    if (kind !== of.kind) {
      // Something else came, that is no limit: the first was not the domain's own.
      const isRarer = this.#kinds.share(of.kind) < this.#kinds.share(kind);
      if (isRarer && kind.about === 'unknown') this.#kinds.changed(of.kind);
      of.same = 0;
      return;
    }
    of.same += 1;
    kind.same.add(asked.domain);
    if (of.same === HOPELESS) kind.hopeless += 1;
    if (kind.countedAt === this.#goods) return;
    kind.countedAt = this.#goods;
    this.#kinds.repeated(kind, true);
    if (kind.bettered === 0 && kind.hopeless >= NEVER_BETTERED) kind.about = 'own';
  }

  #doubt(): void {
    this.#downAt = this.#answers;
    this.#isProbeWanted = this.#found.length > 0;
    if (!this.#isProbeWanted) this.#streak.down();
  }

  #goDown(of: Case, meaning: Meaning, asked: Asked): Weighed {
    this.#streak.down();
    this.#downAt = this.#answers;
    this.#isProbeWanted = this.#found.length > 0;
    return { signal: 'failing', verdict: this.#hold(meaning, asked, of) };
  }

  #badAtFirst(of: Case, meaning: Meaning, asked: Asked, call: Call): Weighed {
    const { isTrusting = false, wasBadBefore } = this.#options;
    if (isTrusting && !FAILS.has(meaning.kind)) return BELIEVED;
    const why = wasBadBefore?.(asked.domain)
      ? undefined
      : this.#first.bad(of.kind, meaning, asked.domain, call);
    if (typeof why === 'object') {
      this.#stop(why);
      return { signal: 'none', verdict: 'drop' };
    }
    const isDown = why === 'down' || this.#streak.state === 'down' || meaning.kind === 'machine';
    if (isDown) return this.#goDown(of, meaning, asked);
    const isOut = meaning.kind === 'away' && meaning.retryAfterMs !== undefined;
    return { signal: isOut ? 'out' : 'none', verdict: this.#hold(meaning, asked, of) };
  }

  // ---- limits ----

  #limited(of: Case, meaning: Meaning): Weighed {
    const { kind } = of;
    const isOwn = this.#kinds.isOfDomain(kind, of.same);
    if (isOwn) {
      kind.own += 1;
      kind.explained = Math.max(kind.explained, kind.own / this.#kinds.tries);
      const verdict = REFUSES.has(meaning.kind) ? 'believe' : 'retry';
      return { signal: 'own', verdict };
    }
    // Nobody else is there to tell: it is not asked for ever.
    if (this.#goods === 0 && of.bad >= MOST_ALONE && kind.same.size === 0) {
      return { signal: 'none', verdict: 'fail' };
    }
    this.#lookAtLimit(kind, meaning.retryAfterMs !== undefined);
    const isAlone = of.bad >= 3 && this.#goods === of.releasedAt;
    if (isAlone && meaning.retryAfterMs === undefined && this.#found.length > 0) {
      this.#isProbeWanted = true;
    }
    const isLimit = kind.explained < 0.005 || this.#kinds.isExcess(kind);
    if (isLimit && kind.isDoubted && kind.explained > 0) this.#confirmLimit(kind);
    const isOut = meaning.kind === 'away' && meaning.retryAfterMs !== undefined;
    return { signal: isOut ? 'out' : isLimit ? 'limit' : 'none', verdict: 'again' };
  }

  /**
   * A limit that falls far below what it was taken for may be none: the rate climbs, and what came
   * by then is no
   * sign of a limit unless more of it comes.
   */
  #lookAtLimit(kind: AnswerKind, isStated: boolean): void {
    const { limitPerMs, isFree } = this.#pace;
    if (limitPerMs === 0) return;
    kind.topPerMs = Math.max(kind.topPerMs, limitPerMs);
    if (limitPerMs * FAR >= kind.topPerMs) kind.lows = 0;
    else if (isFree) kind.lows += 1;
    if (kind.lows === 1 && isFree) kind.lowSince = this.#goods;
    if (kind.lows < MANY_LOWS) return;
    kind.lows = 0;
    const rarely = isStated ? RARELY / 3 : RARELY;
    if (this.#goods - kind.lowSince > rarely * MANY_LOWS) {
      kind.topPerMs = limitPerMs;
      return;
    }
    kind.explained = Math.max(0.02, this.#kinds.share(kind));
    kind.isDoubted = true;
    kind.topPerMs = 0;
    this.#pace.climb(Number.POSITIVE_INFINITY);
  }

  #confirmLimit(kind: AnswerKind): void {
    kind.isDoubted = false;
    kind.topPerMs = 0;
    kind.explained = kind.own / Math.max(1, this.#kinds.tries);
  }

  /** How many answers will have come once those to calls that are under way are in. */
  #settled(): number {
    return Math.max(this.#answers, this.#begun);
  }

  /** It may be a limit: a try that meets one is none. */
  #isSuspected(kind: AnswerKind): boolean {
    return kind === this.#trial?.kind || (kind.mayBeLimit && this.#kinds.isExcess(kind));
  }

  #startTrial(kind: AnswerKind): void {
    if (kind.about === 'chance' && kind.mayBeLimit && this.#kinds.isExcess(kind))
      this.#beginTrial(kind);
  }

  #beginTrial(kind: AnswerKind): void {
    const { flowPerMs, isFree } = this.#pace;
    if (this.#trial || !isFree || flowPerMs < SLOWEST_TRIAL_PER_MS) return;
    const share = this.#kinds.share(kind);
    this.#trial = new RateTrial(kind, this.#settled(), flowPerMs, share);
    this.#pace.slow(this.#trial.ratePerMs);
  }

  /** @returns `limit` when the trial ends so */
  #noteTrial(kind: AnswerKind | undefined, begun: number): 'limit' | undefined {
    const trial = this.#trial;
    if (!trial || this.#streak.state !== 'well') return undefined;
    if (trial.kind.about === 'own') {
      this.#trial = undefined;
      this.#pace.forget();
      return undefined;
    }
    if (!this.#pace.isClimbing && trial.isAtTop()) {
      this.#trial = undefined;
      return undefined;
    }
    const told = trial.note(kind === trial.kind, begun, this.#pace.ratePerMs);
    switch (told) {
      case 'fault':
        this.#endAsFault(trial);
        this.#trial = undefined;
        break;
      case 'less':
        trial.begun = this.#settled();
        this.#pace.slow(trial.ratePerMs);
        break;
      case 'clean':
        trial.begun = this.#answers;
        this.#pace.climb(0);
        break;
      case 'limit':
        trial.kind.explained = trial.cleanShare > 0.03 ? trial.cleanShare : 0;
        trial.kind.topPerMs = 0;
        this.#kinds.limit(trial.kind);
        this.#trial = undefined;
        return 'limit';
      default:
    }
    return undefined;
  }

  #endAsFault({ kind, share }: RateTrial): void {
    // What made the pace slower was none, from the first time on.
    if (kind.about === 'limit') this.#pace.climb(Number.POSITIVE_INFINITY);
    else this.#pace.forget();
    this.#kinds.explain(kind, share);
    kind.topPerMs = 0;
  }

  // ---- probes ----

  get probe(): string | undefined {
    if (!this.#isProbeWanted || this.#isOver) return undefined;
    return this.#found[this.#lastProbe % Math.max(1, this.#found.length)]?.domain;
  }

  noteProbe(meaning: Meaning, { begun }: Call): Signal {
    this.#answers += 1;
    const probed = this.#found[this.#lastProbe % Math.max(1, this.#found.length)];
    this.#lastProbe += 1;
    const isSame =
      meaning.kind === 'found' &&
      meaning.likeness === this.#lastRecord &&
      probed?.likeness !== this.#lastRecord;
    if (meaning.kind === 'found' && !(isSame && this.#alike > 0)) {
      this.#isProbeWanted = false;
      this.#idleProbes += this.#streak.state === 'well' ? 1 : 0;
      this.#goods += 1;
      this.#lastGoodBegun = Math.max(this.#lastGoodBegun, begun);
      if (this.#streak.state === 'down') this.#recover();
      else {
        for (const kind of this.#streak.kinds) this.#kinds.probeWell(kind);
        for (const kind of new Set(this.#held.map(({ case: { kind } }) => kind))) {
          if (![...this.#streak.kinds].includes(kind)) this.#kinds.probeWell(kind);
        }
        this.#streak.probeGood();
        this.#lastBad = undefined;
        this.#releaseDue(begun);
      }
      return 'good';
    }
    this.#lastBad = meaning;
    if (this.#streak.state === 'down') return 'failing';
    const kind = this.#kinds.of(meaning, probed?.domain ?? '');
    if (this.#streak.state === 'well') this.#isProbeWanted = false;
    if (kind.about === 'limit') return 'limit';
    this.#kinds.probeFailed(kind);
    if (this.#streak.state === 'well') {
      this.#idleProbes += 1;
      return 'none';
    }
    if (!this.#streak.probeFailed()) return 'none';
    this.#downAt = this.#answers;
    return 'failing';
  }

  giveUpProbe(): void {
    this.#isProbeWanted = false;
    if (this.#streak.state === 'doubted') this.#streak.down();
  }

  // ---- what is held ----

  #hold(meaning: Meaning, asked: Asked, of: Case): Verdict | Promise<Verdict> {
    if (this.#isOver) return this.#lastVerdict({ meaning, case: of });
    if (of.kind.about === 'unknown') this.#open += 1;
    if (this.#open >= MOST_OPEN && this.#streak.state === 'well') this.#askForProbe();
    return new Promise((release) =>
      this.#held.push({ asked, meaning, case: of, release, isDue: false }),
    );
  }

  /** A few times at most, until something else is known. */
  #askForProbe(): boolean {
    if (this.#found.length === 0 || this.#idleProbes >= MOST_IDLE_PROBES) return false;
    this.#isProbeWanted = true;
    return true;
  }

  #release(tell: (one: Held) => Verdict | undefined): void {
    const all = this.#held;
    this.#held = [];
    this.#open = 0;
    for (const one of all) {
      const verdict = tell(one);
      if (verdict) one.release(verdict);
      else this.#held.push(one);
      if (!verdict && one.case.kind.about === 'unknown') this.#open += 1;
    }
  }

  askAgain(): void {
    if (this.#streak.state !== 'down' || this.#isProbeWanted) return;
    const [first] = this.#held.splice(0, 1);
    first?.release('again');
  }

  idle(underWay: number): void {
    if (this.#isOver || this.#isProbeWanted) return;
    // What those get tells more.
    if (underWay > 0 && (this.#goods === 0 || this.#streak.state === 'down')) return;
    if (this.#goods === 0 && this.#first.hasRecord) {
      this.#first.isOver = true;
      this.#goods += 1;
    }
    if (this.#goods === 0) {
      const why = this.#options.isTrusting ? undefined : this.#first.stopOfFew();
      if (why && this.#streak.state !== 'down') this.#stop(why);
    }
    if (this.#isOver) return;
    if (this.#streak.state === 'down') return this.askAgain();
    if (this.#open >= ENOUGH_OPEN && this.#askForProbe()) return;
    this.#release((one) => {
      const { kind, alike } = one.case;
      if (FAILS.has(one.meaning.kind)) return this.#knownVerdict(one) ?? 'retry';
      if (kind.isPlain || this.#goods === 0 || one.meaning.kind === 'found') return 'believe';
      return this.#knownVerdict(one) ?? (alike > 1 ? 'believe' : this.#letRepeat(one.case));
    });
  }

  leave(): void {
    this.#release(({ asked, case: of }) => {
      this.#endRepeat(of);
      this.#cases.delete(asked);
      return 'drop';
    });
  }

  end(): void {
    this.#isOver = true;
    this.#release((one) => this.#lastVerdict(one));
  }

  /** What becomes of an answer of which no call tells more. What was paid for is kept, if it is one. */
  #lastVerdict({ meaning: { kind }, case: of }: Pick<Held, 'case' | 'meaning'>): Verdict {
    if (kind === 'found') return this.#isMisled ? 'drop' : 'believe';
    const isVerdict = kind === 'rejected' || kind === 'not_found';
    const isOwn = of.kind.about === 'own' && this.#goods > 0 && this.#streak.state === 'well';
    return isVerdict && isOwn ? 'believe' : 'drop';
  }

  #stop(why: Stop): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isMisled = why.reason === 'misdirected';
    this.#options.onStop(why);
    this.end();
  }
}

/** One domain after the other; none a second time while others were not asked again once. */
function mayRepeat(kind: AnswerKind, of: Case): boolean {
  return of.bad === 1 ? kind.repeating < MOST_REPEATING : kind.repeating === 0;
}

/** Often at first, and one of fifty later. */
function isChecked(count: number): boolean {
  return (
    count % CHECKED === 0 || (count > 1 && count < CHECKED && Number.isInteger(Math.log2(count)))
  );
}

const GOOD: Weighed = { signal: 'good', verdict: 'believe' };
const BELIEVED: Weighed = { signal: 'none', verdict: 'believe' };
const FAILS: ReadonlySet<Meaning['kind']> = new Set(['away', 'machine', 'throttled', 'quota']);
const REFUSES: ReadonlySet<Meaning['kind']> = new Set([
  'rejected',
  'refused',
  'not_found',
  'found',
]);
