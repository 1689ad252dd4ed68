import type { Limiter, LimitRate, Verdict } from './limiter.ts';

/**
 * At most `count` calls in each window of `perMs`. Windows are aligned to the clock, as with a counter per
 * minute, so up to twice the count may pass around the edge between two of them.
 */
export class FixedWindow implements Limiter {
  readonly #rate: LimitRate;
  #window: number | undefined;
  #used = 0;

  constructor(rate: LimitRate) {
    this.#rate = rate;
  }

  take(nowMs: number): Verdict {
    const { count, perMs } = this.#rate;
    const window = Math.floor(nowMs / perMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#used = 0;
    }
    const allowed = this.#used < count;
    if (allowed) this.#used += 1;
    const resetMs = (window + 1) * perMs - nowMs;
    return {
      allowed,
      remaining: count - this.#used,
      retryAfterMs: this.#used < count ? 0 : resetMs,
      resetMs,
    };
  }

  release(): void {}
}
