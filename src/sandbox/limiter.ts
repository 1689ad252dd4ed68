/** Create a limiter of a kind. `burst` is for the token bucket only. */
export function createLimiter(kind: LimitKind, rate: LimitRate, burst?: number): Limiter {
  switch (kind) {
    case 'token-bucket':
      return new TokenBucket(rate, burst);
    case 'fixed-window':
      return new FixedWindow(rate);
    case 'sliding-window':
      return new SlidingWindow(rate);
    case 'concurrent':
      return new Concurrent(rate.count);
  }
}

/** At most `count` calls open at once, however many that makes per second. */
class Concurrent implements Limiter {
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

/**
 * At most `count` calls in each window of `perMs`. Windows are aligned to the clock, as with a counter per
 * minute, so up to twice the count may pass around the edge between two of them.
 */
class FixedWindow implements Limiter {
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

/**
 * A bucket that holds up to `burst` tokens and refills steadily, `count` per `perMs`. A call takes one token.
 * @see https://en.wikipedia.org/wiki/Token_bucket
 */
class TokenBucket implements Limiter {
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

/** At most `count` calls in any stretch of `perMs`. It remembers the time of each of the last `count` calls. */
class SlidingWindow implements Limiter {
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

/**
 * Which headers speak of the limit: `none`; `retry-after` on a 429; `ratelimit` (`RateLimit` and
 * `RateLimit-Policy`) or `x-ratelimit` (`X-RateLimit-Limit`, `-Remaining` and `-Reset`, the last in Unix seconds)
 * on every answer.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export type LimitHeaders = (typeof LIMIT_HEADERS)[number];

export const LIMIT_HEADERS = ['none', 'retry-after', 'ratelimit', 'x-ratelimit'] as const;

/** Makes the headers that go with a verdict. */
type LimitHeaderWriter = (verdict: Verdict, nowMs: number) => Record<string, string>;

/** Create the writer of the headers that describe a limit. */
export function createLimitHeaders(
  style: LimitHeaders,
  kind: LimitKind,
  rate: LimitRate,
): LimitHeaderWriter {
  switch (style) {
    case 'none':
      return () => ({});
    case 'retry-after':
      return (verdict) => (verdict.allowed ? {} : { 'Retry-After': String(waitSeconds(verdict)) });
    case 'ratelimit': {
      const unit =
        kind === 'concurrent' ? 'qu="concurrent-requests"' : `w=${wholeSeconds(rate.perMs)}`;
      const policy = `"default";q=${rate.count};${unit}`;
      return (verdict) => ({ 'RateLimit-Policy': policy, RateLimit: describeRemaining(verdict) });
    }
    case 'x-ratelimit':
      return (verdict, nowMs) => ({
        'X-RateLimit-Limit': String(rate.count),
        'X-RateLimit-Remaining': String(verdict.remaining),
        'X-RateLimit-Reset': String(Math.ceil((nowMs + untilResetMs(verdict)) / 1000)),
      });
  }
}

function describeRemaining(verdict: Verdict): string {
  const remaining = `"default";r=${verdict.remaining}`;
  if (verdict.resetMs === undefined) return remaining;
  return `${remaining};t=${wholeSeconds(untilResetMs(verdict))}`;
}

/**
 * With nothing left, the time until the next call; otherwise, the time until the whole quota is
 * back.
 */
function untilResetMs(verdict: Verdict): number {
  return (verdict.remaining > 0 ? verdict.resetMs : verdict.retryAfterMs) ?? 1000;
}

/** At least a second: a `Retry-After: 0` would invite the caller to hammer. */
function waitSeconds(verdict: Verdict): number {
  return Math.max(1, wholeSeconds(verdict.retryAfterMs ?? 1000));
}

/** Rounded up, because a caller that comes a moment early is refused again. */
function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** The kind of a limit. */
export type LimitKind = (typeof LIMIT_KINDS)[number];

export const LIMIT_KINDS = [
  'token-bucket',
  'fixed-window',
  'sliding-window',
  'concurrent',
] as const;

/** `count` calls per `perMs` milliseconds. */
export interface LimitRate {
  count: number;
  perMs: number;
}

/** The decision of a limiter about one call. */
interface Verdict {
  allowed: boolean;
  /** Calls that would be allowed at this moment, after this one. */
  remaining: number;
  /**
   * Milliseconds until a call may be allowed again (0 when one is now); `undefined` when that is
   * unknown.
   */
  retryAfterMs: number | undefined;
  /** Milliseconds until the whole quota is there again; `undefined` when that is unknown. */
  resetMs: number | undefined;
}

/** Allows calls or refuses them. Refused calls do not count. */
export interface Limiter {
  /** Ask for one call and book it if it is allowed. `nowMs` must not go backwards. */
  take(nowMs: number): Verdict;
  /** Must be called when an allowed call has ended. */
  release(): void;
}
