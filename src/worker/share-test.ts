/**
 * Whether a share of bad answers is still what it was, or another one: two explanations, compared by their
 * likelihood. The other one is any share of a grid, none of which is near.
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
