import type { Limiter, LimitRate, Verdict } from './limiter.ts';

/**
 * A bucket that holds up to `burst` tokens and refills steadily, `count` per `perMs`. A call takes one token.
 * @see https://en.wikipedia.org/wiki/Token_bucket
 */
export class TokenBucket implements Limiter {
  readonly #burst: number;
  readonly #tokensPerMs: number;
  #tokens: number;
  #refilledMs: number | undefined;

  /** @param burst tokens in a full bucket. Default: what one second refills, at least 1 */
  constructor(
    rate: LimitRate,
    burst: number = Math.max(1, Math.ceil((rate.count / rate.perMs) * 1000)),
  ) {
    this.#tokensPerMs = rate.count / rate.perMs;
    this.#burst = burst;
    this.#tokens = burst;
  }

  take(nowMs: number): Verdict {
    this.#refill(nowMs);
    // A token that is short by a rounding error counts as whole: otherwise a caller that waits
    // exactly as told is refused.
    const allowed = this.#tokens > 1 - 1e-9;
    if (allowed) this.#tokens = Math.max(0, this.#tokens - 1);
    return {
      allowed,
      remaining: Math.floor(this.#tokens + 1e-9),
      retryAfterMs: Math.max(0, 1 - this.#tokens) / this.#tokensPerMs,
      resetMs: (this.#burst - this.#tokens) / this.#tokensPerMs,
    };
  }

  release(): void {}

  #refill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - (this.#refilledMs ?? nowMs));
    this.#tokens = Math.min(this.#burst, this.#tokens + passedMs * this.#tokensPerMs);
    this.#refilledMs = nowMs;
  }
}
