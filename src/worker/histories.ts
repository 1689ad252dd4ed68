import type { AnswerKind, AnswerKinds } from './answer-kinds.ts';
import type { Counts } from './limit-finder.ts';
import type { History, Subject } from './withheld.ts';

/**
 * What each lookup got that had a bad answer, and what its kind is told by what comes next: the
 * same again, or not. It counts where another domain was well in between.
 */
export class Histories {
  readonly #kinds: AnswerKinds;
  readonly #counts: Readonly<Counts>;
  readonly #all = new WeakMap<Subject, History>();
  /** Answers that had come at the latest beginning of a call that was well. */
  #lastGoodBegan = -1;

  constructor(kinds: AnswerKinds, counts: Readonly<Counts>) {
    this.#kinds = kinds;
    this.#counts = counts;
  }

  get(subject: Subject): History | undefined {
    return this.#all.get(subject);
  }

  /** That of a lookup, which begins with what those got of which it is a part. */
  of(subject: Subject, kind: AnswerKind): History {
    const known = this.#all.get(subject);
    if (known) return known;
    const none = { kind, bad: 0, same: 0, alike: 0, answeredAt: 0 };
    const before = subject.partOf && this.#all.get(subject.partOf);
    const history = { ...none, ...before };
    this.#all.set(subject, history);
    return history;
  }

  /** What a lookup got is no sign of anything any more. */
  forget(subject: Subject): void {
    this.#all.delete(subject);
  }

  /** A domain is well whose call began after so many answers. */
  noteGood(answersBefore: number): void {
    this.#lastGoodBegan = Math.max(this.#lastGoodBegan, answersBefore);
  }

  /** Whether nobody was well since it was answered last. */
  isAlone({ bad, answeredAt }: History): boolean {
    return bad > 0 && this.#lastGoodBegan < answeredAt;
  }

  /** A domain that had bad answers is well. */
  bettered(history: History): void {
    if (this.isAlone(history)) {
      history.kind.lift();
      return;
    }
    this.#kinds.wellAfter(history.kind, history.alike);
    this.#kinds.repeated(history.kind, false);
  }

  /** A lookup got a bad answer, perhaps another one. */
  note(history: History, kind: AnswerKind, domain: string): void {
    if (history.bad > 0) this.#cameAgain(history, kind, domain);
    history.alike = history.kind === kind ? history.alike + 1 : 1;
    history.kind = kind;
    history.bad += 1;
  }

  #cameAgain(history: History, kind: AnswerKind, domain: string): void {
    if (this.isAlone(history)) return;
    if (kind !== history.kind) {
      const { before } = history;
      history.before = { kind: history.kind, same: history.same };
      history.same = before?.kind === kind ? before.same : 0;
      // What is its own comes whenever nothing is in the way: what it got before is not.
      if (kind.about === 'own') this.#kinds.repeated(history.kind, false);
      // It may be the same as before that.
      if (before?.kind !== kind) return;
    }
    history.same += 1;
    kind.same.add(domain);
    if (history.same === HOPELESS) kind.hopeless += 1;
    if (kind.countedAt === this.#counts.goods) return;
    kind.countedAt = this.#counts.goods;
    this.#kinds.repeated(kind, true);
    // Of a limit the same may be said while it is passed.
    const mayBeOwn = kind.about !== 'limit' || kind.isLimitByName;
    if (mayBeOwn && kind.bettered === 0 && kind.hopeless >= NEVER_BETTERED) kind.about = 'own';
  }
}

/** So often the same is enough, and so many domains whose failures no retry bettered. */
export const HOPELESS = 3;
const NEVER_BETTERED = 5;
