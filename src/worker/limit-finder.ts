import type { AnswerKind, AnswerKinds } from './answer-kinds.ts';
import type { PaceHome } from './own-pace.ts';
import { RateTrial } from './rate-trial.ts';

/** How many answers, good answers and calls there were so far. */
export interface Counts {
  answers: number;
  goods: number;
  calls: number;
}

/** The pace, as far as it is tried. */
export interface FinderOptions {
  readonly home: Pick<PaceHome, 'pace' | 'slow' | 'climb' | 'resume' | 'others' | 'tellFound'>;
  readonly nowMs: () => number;
}

/**
 * Whether bad answers are how a limit is told, and whether a limit is one: what the rate has to do
 * with them.
 *
 * ```text
 *   chance ──more than usual──▶ on trial (rate-trial.ts) ──▶ chance, or limit
 *   limit ──far below what it was, and seldom──▶ unsure, the rate climbs ──▶ chance, or limit
 *   nothing but one kind for a while, twice ──▶ limit
 * ```
 */
export class LimitFinder {
  readonly #kinds: AnswerKinds;
  readonly #home: FinderOptions['home'];
  readonly #nowMs: () => number;
  readonly #counts: Readonly<Counts>;
  readonly #falls = new Map<AnswerKind, Fall>();
  #trial: RateTrial | undefined;
  /** Whether what is doubted of the pace at present is known here. */
  #hasDoubted = false;

  constructor(kinds: AnswerKinds, counts: Readonly<Counts>, { home, nowMs }: FinderOptions) {
    this.#kinds = kinds;
    this.#home = home;
    this.#nowMs = nowMs;
    this.#counts = counts;
  }

  /** Whether the rate may be changed: no refusal or trial is under way. */
  get #isFree(): boolean {
    const { state, climbToPerMs } = this.#home.pace;
    return state === 'flowing' && climbToPerMs === 0;
  }

  /**
   * Goes slower if a kind that comes by chance comes too often.
   *
   * @param isStated whether it says for how long to wait, as limits do
   */
  suspect(kind: AnswerKind, isStated: boolean): void {
    const { flowPerMs } = this.#home.pace;
    if (kind.about !== 'chance' || !kind.mayBeLimit || this.#trial || !this.#isFree) return;
    const share = this.#kinds.share(kind);
    // Where nearly all fail it is waited out, limit or sick spell: no attempt is lost to it.
    const isOfWell = kind.isFailure || this.#kinds.wellShare(kind) > HALF;
    if (share > NEARLY_ALL && isOfWell && kind.fresh.count > FEW) {
      this.#becomeLimit(kind, 0);
      kind.isSpell = kind.isFailure && !isStated;
      return;
    }
    if (!this.#kinds.isExcess(kind) || flowPerMs < SLOWEST_TRIAL_PER_MS) return;
    this.#trial = new RateTrial(kind, this.#whenAnswered(), flowPerMs, share);
    this.#home.slow(this.#trial.ratePerMs, this.#nowMs());
  }

  /**
   * An answer to a domain that was asked for the first time.
   *
   * @param kind undefined: it was good
   * @returns whether that shows its kind to be a limit
   */
  note(kind: AnswerKind | undefined, answersBefore: number): boolean {
    const trial = this.#trial;
    if (!trial) return false;
    if (trial.kind.about === 'own') {
      this.#trial = undefined;
      this.#home.resume(this.#nowMs());
    } else if (this.#home.pace.climbToPerMs === 0 && trial.isAtTop()) this.#trial = undefined;
    else return this.#tryOn(trial, kind, answersBefore);
    return false;
  }

  #tryOn(trial: RateTrial, kind: AnswerKind | undefined, answersBefore: number): boolean {
    switch (trial.note(kind === trial.kind, answersBefore, this.#home.pace.ratePerMs)) {
      case 'fault':
        this.#endAsFault(trial);
        break;
      case 'clean':
        trial.fromAnswer = this.#counts.answers;
        this.#home.climb(0, this.#nowMs());
        break;
      case 'limit':
        this.#becomeLimit(trial.kind, trial.cleanShare > LITTLE ? trial.cleanShare : 0);
        this.#trial = undefined;
        return true;
      default:
    }
    return false;
  }

  #endAsFault({ kind, share }: RateTrial): void {
    this.#trial = undefined;
    // What made the pace slower was none, from the first time on.
    this.#hasDoubted = true;
    if (kind.about === 'limit') this.#home.climb(Number.POSITIVE_INFINITY, this.#nowMs());
    else this.#home.resume(this.#nowMs());
    this.#kinds.noteBaseShare(kind, share);
    this.#falls.delete(kind);
  }

  #becomeLimit(kind: AnswerKind, baseShare: number): void {
    kind.about = 'limit';
    kind.isSpell = false;
    kind.baseShare = baseShare;
    this.#falls.delete(kind);
  }

  /** How many answers will have come once those to calls that are under way are in. */
  #whenAnswered(): number {
    return Math.max(this.#counts.answers, this.#counts.calls);
  }

  /**
   * Nothing but one kind came for a while. The second time soon after, it is how the API limits
   * calls.
   */
  noteBlock(kind: AnswerKind): void {
    const { goods } = this.#kinds;
    const since = goods - kind.blockedAt;
    const { unblocked } = kind;
    kind.blockedAt = goods;
    kind.unblocked = 0;
    // None that got it was well in between: it is the same one, or the head of a list.
    if (kind.blocks > 0 && since < FEW && unblocked === 0) return;
    kind.blocks = since < NEAR ? kind.blocks + 1 : 1;
    if (kind.blocks < 2 || !kind.mayBeLimit || kind.about === 'limit') return;
    // Of a limit, domains that are well get it, too.
    if (kind.evidence > -CLEAR && unblocked === 0) return;
    this.#becomeLimit(kind, this.#ownShare(kind));
  }

  /** What a refusal says of the pace, of a kind that is taken for a limit. */
  signalOf(kind: AnswerKind): 'limit' | 'failing' | 'none' {
    // A probe that is refused does not end a doubt, nor does it tell of the pace what is usual.
    const isUnsure = this.#falls.get(kind)?.isUnsure === true;
    const isUsual = kind.isLimitByName
      ? isUnsure && this.#home.pace.isDoubted
      : !isUnsure && this.#kinds.probedShare(kind) <= kind.baseShare;
    if (!this.#isLimit(kind) && isUsual) return 'none';
    return kind.isSpell && this.#kinds.share(kind) > HALF ? 'failing' : 'limit';
  }

  #ownShare(kind: AnswerKind): number {
    return kind.own / Math.max(1, kind.totals.tries);
  }

  /** A refusal of a kind that is taken for a limit. Returns whether it is one. */
  refused(kind: AnswerKind, isStated: boolean): boolean {
    this.#watchFall(kind, isStated);
    const isLimit = this.#isLimit(kind);
    if (isLimit && this.#falls.get(kind)?.isUnsure) {
      this.#becomeLimit(kind, this.#ownShare(kind));
    }
    return isLimit;
  }

  /**
   * A limit that falls far below what it was taken for may be none: the rate climbs, and what came
   * by then is no sign of a limit unless more of it comes.
   */
  #watchFall(kind: AnswerKind, isStated: boolean): void {
    const { phase, limitPerMs, refusals } = this.#home.pace;
    if (limitPerMs === 0 || phase === 'published') return;
    const fall = this.#fallOf(kind);
    fall.topPerMs = Math.max(fall.topPerMs, limitPerMs);
    if (limitPerMs * FAR >= fall.topPerMs) fall.heard = 0;
    else if (this.#isFree) fall.heard += 1;
    if (fall.heard === 1 && this.#isFree) {
      fall.since = this.#kinds.calls.answers;
      fall.refusals = refusals;
    }
    // Each of those who share a pace hears of a part.
    const all = refusals - fall.refusals + (this.#isFree ? 1 : 0);
    if (fall.heard === 0 || all < MANY) return;
    const { heard } = fall;
    const answers = this.#kinds.calls.answers - fall.since;
    fall.heard = 0;
    fall.topPerMs = limitPerMs;
    if (answers > (isStated ? SELDOM / 3 : SELDOM) * heard) return;
    // What came before that was perhaps of a higher rate; so few may be half of what comes.
    const often = (2 * heard) / (heard + answers);
    this.#doubt(kind, fall, Math.min(often, this.#kinds.share(kind)));
    this.#home.climb(Number.POSITIVE_INFINITY, this.#nowMs());
  }

  /** Whether it is more than what comes by chance. */
  #isLimit(kind: AnswerKind): boolean {
    // Another, with whom the pace is shared, may have begun to climb.
    if (!this.#home.pace.isDoubted) this.#hasDoubted = false;
    else if (!this.#hasDoubted) this.#doubt(kind, this.#fallOf(kind));
    return kind.baseShare < 0.005 || this.#kinds.isExcess(kind);
  }

  #fallOf(kind: AnswerKind): Fall {
    const fall = this.#falls.get(kind) ?? createFall();
    this.#falls.set(kind, fall);
    return fall;
  }

  #doubt(kind: AnswerKind, fall: Fall, share = this.#kinds.share(kind)): void {
    kind.baseShare = Math.max(0.02, share);
    fall.isUnsure = true;
    fall.topPerMs = 0;
    this.#hasDoubted = true;
  }
}

/** How a limit fell. */
interface Fall {
  /** The highest that it was taken for, in calls per millisecond. */
  topPerMs: number;
  /**
   * Refusals here far below that; and what there had been by the first: good answers here, and
   * refusals of all who share the pace.
   */
  heard: number;
  since: number;
  refusals: number;
  /** Whether it may be no limit. */
  isUnsure: boolean;
}

const createFall = (): Fall => ({
  topPerMs: 0,
  heard: 0,
  since: 0,
  refusals: 0,
  isUnsure: false,
});

/** More than comes by chance. */
const NEARLY_ALL = 0.75;
const HALF = 0.5;
const FEW = 4;
/** Evidence that it is not the domains' own: one to seven. */
const CLEAR = 2;
/** A share that is as good as none. */
const LITTLE = 0.03;
/** Good answers between two blocks that are not two outages. */
const NEAR = 2_000;
/** A limit that falls to one of so many parts is looked at again. */
const FAR = 3;
/** And refused so often there: a limit that is kept refuses no more than one call of so many. */
const MANY = 4;
const SELDOM = 24;
/** A trial of fewer calls would take longer than what it spares. */
const SLOWEST_TRIAL_PER_MS = 2 / 1_000;
