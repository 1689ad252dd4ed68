import type { Limiter, LimitRate, Verdict } from './limiter.ts';

/** At most `count` calls in any stretch of `perMs`. It remembers the time of each of the last `count` calls. */
export class SlidingWindow implements Limiter {
  readonly #rate: LimitRate;
  /** A ring: the slot to be written next holds the oldest call. */
  readonly #calledMs: Float64Array;
  #next = 0;
  #open = 0;

  constructor(rate: LimitRate) {
    this.#rate = rate;
    this.#calledMs = new Float64Array(rate.count);
  }

  take(nowMs: number): Verdict {
    const { count, perMs } = this.#rate;
    this.#forget(nowMs - perMs);
    const allowed = this.#open < count;
    if (allowed) this.#book(nowMs);
    return {
      allowed,
      remaining: count - this.#open,
      retryAfterMs: this.#open < count ? 0 : this.#at(this.#open) + perMs - nowMs,
      resetMs: this.#open === 0 ? 0 : this.#at(1) + perMs - nowMs,
    };
  }

  release(): void {}

  /** Drop the calls that are no longer in the window. */
  #forget(untilMs: number): void {
    while (this.#open > 0 && this.#at(this.#open) <= untilMs) this.#open -= 1;
  }

  #book(nowMs: number): void {
    this.#calledMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#rate.count;
    this.#open += 1;
  }

  /** The time of the call `back` calls ago; 1 is the latest. */
  #at(back: number): number {
    const { count } = this.#rate;
    return this.#calledMs[(this.#next - back + count) % count] ?? 0;
  }
}
