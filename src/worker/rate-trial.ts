import type { AnswerKind } from './answer-kinds.ts';

/**
 * Finds out whether a kind of bad answer has to do with the rate: goes slower, and compares two
 * explanations. A fault of the server has one share at all rates; a limit has none below some rate,
 * and refuses all that is more than it accepts.
 *
 * ```text
 *   slower ──as often──▶ fault      the rate is what it was
 *     │ less often
 *     ▼
 *   climbing ──back at a higher rate──▶ limit
 *     └──not back at all──▶ gone
 * ```
 */
export class RateTrial {
  readonly kind: AnswerKind;
  /** Answers to calls that began before this one say nothing. */
  fromAnswer: number;
  state: 'slower' | 'climbing' = 'slower';
  /** The rate to go at. */
  readonly ratePerMs: number;
  /** The share that is left at the slower rate. */
  cleanShare = 0;
  readonly #test: ShareTest;
  /** While climbing. */
  #calls = 0;
  #bad = 0;
  #atTop = 0;

  constructor(kind: AnswerKind, fromAnswer: number, ratePerMs: number, share: number) {
    this.kind = kind;
    this.fromAnswer = fromAnswer;
    this.#test = new ShareTest(share);
    // Half of what was accepted, but not too little at once.
    this.ratePerMs = Math.max(
      (ratePerMs * (1 - this.#test.share)) / 2,
      ratePerMs / 8,
      Math.min(ratePerMs / 2, LEAST_PER_MS),
    );
  }

  /** The share that a fault has. */
  get share(): number {
    const { share, calls, bad } = this.#test;
    return (share * PRIOR_CALLS + bad) / (PRIOR_CALLS + calls);
  }

  /** Notes an answer. Returns what it tells. */
  note(isBad: boolean, answersBefore: number, ratePerMs: number): Told | undefined {
    if (answersBefore < this.fromAnswer) return undefined;
    if (this.state === 'climbing') return this.#climbed(isBad, ratePerMs);
    const told = this.#test.note(isBad);
    const { calls, bad } = this.#test;
    if ((told === undefined && calls <= MOST_CALLS) || calls < LEAST_CALLS) return undefined;
    if (told !== 'other' || bad / calls > this.#test.share) return 'fault';
    this.cleanShare = bad / calls;
    this.state = 'climbing';
    this.#atTop = 0;
    return 'clean';
  }

  /**
   * The rate is what it was. Returns whether it has been for long enough to show what comes there.
   */
  isAtTop(): boolean {
    this.#atTop += 1;
    return this.state === 'slower' || this.#atTop > AT_TOP_CALLS;
  }

  #climbed(isBad: boolean, ratePerMs: number): Told | undefined {
    this.#calls += 1;
    if (isBad) this.#bad += 1;
    const isFaster = ratePerMs > 1.2 * this.ratePerMs;
    const clean = (this.#test.bad + 1) / (this.#test.calls + 2);
    const base = Math.max(this.kind.baseShare, clean) * this.#calls;
    // Far more than chance brings.
    if (isBad && isFaster && this.#bad >= base + FAR * Math.sqrt(base)) return 'limit';
    if (this.#calls >= MOST_CLIMBING) {
      this.#calls /= 2;
      this.#bad /= 2;
    }
    return undefined;
  }
}

type Told = 'fault' | 'clean' | 'limit';
/** In standard deviations, of at least such a share. */
const FAR = 3;
const MOST_CLIMBING = 48;
/** Slower would take too long to tell. */
const LEAST_PER_MS = 1 / 1_000;
const MOST_CALLS = 600;
const LEAST_CALLS = 8;
/** What made it suspect is worth so many calls. */
const PRIOR_CALLS = 16;
const AT_TOP_CALLS = 60;

/**
 * Whether a share of bad answers is still what it was, or another one: two explanations, compared
 * by their likelihood. The other one is any share of a grid, none of which is near.
 */
export class ShareTest {
  readonly share: number;
  calls = 0;
  bad = 0;
  readonly #others: readonly { readonly bad: number; readonly good: number }[];
  readonly #same: { readonly bad: number; readonly good: number };

  /** @param share what it was, from 0 to 1 */
  constructor(share: number) {
    this.share = Math.min(0.99, Math.max(0.01, share));
    this.#same = logsOf(this.share);
    // A third of the share, or three times of what was not bad, are other shares.
    const most = Math.max(this.share / 3, 1 - 3 * (1 - this.share));
    const less = [0.01, 0.1, 0.35, 0.7, 1].map((part) => Math.max(0.002, most * part));
    const rest = 1 - this.share;
    const more = this.share < 0.4 ? [1 - rest * 0.7, 1 - rest * 0.4] : [];
    this.#others = [...less, ...more].map(logsOf);
  }

  /** Notes an answer. Returns what is thirty times likelier by now. */
  note(isBad: boolean): 'same' | 'other' | undefined {
    this.calls += 1;
    if (isBad) this.bad += 1;
    const goods = this.calls - this.bad;
    const same = this.bad * this.#same.bad + goods * this.#same.good;
    const likelihoods = this.#others.map(({ bad, good }) =>
      Math.exp(this.bad * bad + goods * good - same),
    );
    const odds = likelihoods.reduce((sum, one) => sum + one, 0) / likelihoods.length;
    if (odds < 1 / DECIDED) return 'same';
    return odds > DECIDED ? 'other' : undefined;
  }
}

const DECIDED = 30;

function logsOf(share: number): { readonly bad: number; readonly good: number } {
  return { bad: Math.log(share), good: Math.log(1 - share) };
}
