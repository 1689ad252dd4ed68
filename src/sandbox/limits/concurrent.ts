import type { Limiter, Verdict } from './limiter.ts';

/** At most `count` calls open at once, however many that makes per second. */
export class Concurrent implements Limiter {
  readonly #count: number;
  #open = 0;

  constructor(count: number) {
    this.#count = count;
  }

  take(): Verdict {
    const allowed = this.#open < this.#count;
    if (allowed) this.#open += 1;
    const remaining = this.#count - this.#open;
    return { allowed, remaining, retryAfterMs: remaining > 0 ? 0 : undefined, resetMs: undefined };
  }

  release(): void {
    this.#open -= 1;
  }
}
