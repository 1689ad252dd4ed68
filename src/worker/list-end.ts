import type { AnswerKind, AnswerKinds } from './answer-kinds.ts';
import { HOPELESS } from './histories.ts';
import type { History, Verdict, Withheld, WithheldAnswer } from './withheld.ts';

/**
 * What becomes of what is withheld when nothing new is left to compare it with: pauses tell, then a
 * probe, then how often the same came.
 *
 * ```text
 *   a few are left ──pause──▶ one is asked again ──well──▶ the next, after a pause
 *         │ many, or one alone        │ the same, twice
 *         └────────▶ probe? ◀─────────┘
 *                      │ well, or of no use
 *                      ▼
 *            verdict by how often it came
 * ```
 */
export class ListEnd {
  readonly #kinds: AnswerKinds;
  readonly #withheld: Withheld;

  constructor(kinds: AnswerKinds, withheld: Withheld) {
    this.#kinds = kinds;
    this.#withheld = withheld;
  }

  /** How long nothing is asked, in milliseconds: what is a limit's is gone by then. */
  get pauseMs(): number {
    const pauses = [...this.#next().keys()].map((kind) => PAUSE_MS * LONGER ** kind.pauses);
    return Math.max(0, ...pauses);
  }

  /** Asks again what a pause may have made good. Returns whether there is any. */
  askAfterPause(): boolean {
    const next = this.#next();
    for (const [kind] of next) kind.pauses += 1;
    this.#withheld.release(({ history }) =>
      next.get(history.kind) === history ? 'again' : undefined,
    );
    return next.size > 0;
  }

  /**
   * Of what may be a limit's, one at a time is asked again. Where that makes one good, others are
   * likely to be.
   */
  #next(): Map<AnswerKind, History> {
    const next = new Map<AnswerKind, History>();
    for (const { history } of this.#withheld) {
      const { kind } = history;
      const [isLifted, isChance] = [kind.lifted > 0, kind.about === 'chance'];
      // Of many a probe tells more; of one alone nothing speaks for a limit.
      const { unknown } = this.#withheld;
      if (!isLifted && (unknown >= ENOUGH_UNKNOWN || unknown === 1)) continue;
      const most = isLifted ? MOST_PAUSES + 1 : MOST_PAUSES;
      const isOpen = kind.about === 'unknown' || (isChance && isLifted);
      const mayBeLimit = isOpen && kind.mayBeLimit && !kind.isOfMoment;
      if (!mayBeLimit || kind.pauses >= most) continue;
      const first = next.get(kind);
      if (!first || history.bad <= first.bad) next.set(kind, history);
    }
    return next;
  }

  /**
   * Whether there may be more to it than some domains: many are left, or the last get the same
   * again.
   *
   * @param isFirst no probe was made yet while nothing else was left
   */
  isProbeOfUse(isFirst: boolean): boolean {
    if (this.#withheld.unknown >= ENOUGH_UNKNOWN) return true;
    return this.#withheld.some(({ meaning, history }) => {
      const { kind, alike, bad } = history;
      if (kind.isUncertain) return bad > 1;
      // Of a verdict on a domain, such as 422, pauses tell enough.
      if (!isFirst || meaning.kind === 'rejected') return false;
      return kind.about === 'unknown' && alike > 1;
    });
  }

  /**
   * @param known what becomes of it since its kind is known
   * @param areGoods whether any domain was well
   * @param areOthers whether the pace is shared
   */
  verdictOf(
    { history, meaning }: WithheldAnswer,
    known: Verdict | undefined,
    { areGoods, areOthers }: { readonly areGoods: boolean; readonly areOthers: boolean },
  ): Verdict {
    const { kind, alike } = history;
    if (kind.isOfMoment) return known ?? 'retry';
    const isOnly = !areGoods && !areOthers;
    if (kind.isPlain || isOnly || meaning.kind === 'found') return 'believe';
    // Twice the same is enough, unless asking again has made others good, here or elsewhere.
    const isOften = kind.bettered + kind.lifted > 0 || areOthers;
    const enough = isOften ? HOPELESS : 1;
    if (known || alike <= enough) return known ?? 'again';
    // Where domains that are well got it of late, too, it may be gone after a pause.
    return this.#kinds.isOfProbes(kind) ? 'retry' : 'believe';
  }
}

/** For so many a probe is asked where nothing else is left to tell. */
const ENOUGH_UNKNOWN = 5;
/** So many pauses, each so many times as long as the one before. */
const MOST_PAUSES = 2;
const PAUSE_MS = 150;
const LONGER = 3;
