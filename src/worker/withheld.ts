import type { Meaning } from '../brand/meaning.ts';
import type { AnswerKind } from './answer-kinds.ts';

/**
 * Answers whose verdict is withheld until others have told more, and what each of their lookups got
 * so far.
 *
 * ```text
 *   withhold ──▶ withheld ──another domain is well──▶ due ──▶ asked again, or a verdict
 * ```
 */
export class Withheld {
  #all: WithheldAnswer[] = [];
  /** How many are of a kind that is not known yet. */
  unknown = 0;

  get length(): number {
    return this.#all.length;
  }

  get kinds(): ReadonlySet<AnswerKind> {
    return new Set(this.#all.map(({ history: { kind } }) => kind));
  }

  [Symbol.iterator](): Iterator<WithheldAnswer> {
    return this.#all.values();
  }

  some(is: (one: WithheldAnswer) => boolean): boolean {
    return this.#all.some(is);
  }

  withhold(subject: Subject, meaning: Meaning, history: History): Promise<Verdict> {
    if (history.kind.about === 'unknown') this.unknown += 1;
    return new Promise((release) =>
      this.#all.push({ subject, meaning, history, release, isDue: false }),
    );
  }

  /** Lets those go for which there is a verdict. */
  release(verdictOf: (one: WithheldAnswer) => Verdict | undefined): void {
    const all = this.#all;
    this.#all = [];
    this.unknown = 0;
    for (const one of all) {
      const verdict = verdictOf(one);
      if (verdict) one.release(verdict);
      else this.#all.push(one);
      if (!verdict && one.history.kind.about === 'unknown') this.unknown += 1;
    }
  }

  /** Lets the one go that has waited longest. */
  releaseFirst(verdict: Verdict): void {
    this.#all.shift()?.release(verdict);
  }
}

/** A lookup, or whatever else is asked about as one. */
export interface Subject {
  readonly domain: string;
  /** Whether it is several lookups that go together. @default false */
  readonly isSeveral?: boolean;
  /** Those of which it is a half: what they got, it got. @default none */
  readonly partOf?: Subject | undefined;
}

/**
 * What becomes of an answer: it is believed; its lookup asks again at once; or after a backoff, as
 * another attempt, or soon, where failures have nothing to do with each other; it is no verdict, so
 * the lookup failed; or the lookup was as good as not made.
 */
export type Verdict = 'believe' | 'again' | 'retry' | 'soon' | 'fail' | 'drop';

/** What a lookup got that had a bad answer. Counts of answers take the place of times. */
export interface History {
  kind: AnswerKind;
  /** Bad answers, and those of them that came again although another domain was well in between. */
  bad: number;
  same: number;
  /** The same of another kind that it got before this one. @default none */
  before?: Pick<History, 'kind' | 'same'>;
  /** The last of them that are of one kind. */
  alike: number;
  /** Answers that had come with the last one. */
  answeredAt: number;
}

export interface WithheldAnswer {
  readonly subject: Subject;
  readonly meaning: Meaning;
  readonly history: History;
  readonly release: (verdict: Verdict) => void;
  /** A good answer has come since. */
  isDue: boolean;
}
