/** The kind of a limit. */
export type LimitKind = (typeof LIMIT_KINDS)[number];

export const LIMIT_KINDS = ['token-bucket', 'fixed-window', 'sliding-window'] as const;

/**
 * Which headers speak of the limit: `none`; `retry-after` on a 429; `ratelimit` (`RateLimit` and
 * `RateLimit-Policy`) or `x-ratelimit` (`X-RateLimit-Limit`, `-Remaining` and `-Reset`, the last in Unix seconds)
 * on every answer.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export type LimitHeaders = (typeof LIMIT_HEADERS)[number];

export const LIMIT_HEADERS = ['none', 'retry-after', 'ratelimit', 'x-ratelimit'] as const;

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
  /** Milliseconds until a call may be allowed again; 0 when one is now. */
  retryAfterMs: number;
  /** Milliseconds until the whole quota is there again. */
  resetMs: number;
}

/** Asks for one call, and books it if it is allowed. `nowMs` must not go backwards. */
export type Limiter = (nowMs: number) => Verdict;

/** @param burst for the token bucket only */
export function createLimiter(kind: LimitKind, rate: LimitRate, burst?: number): Limiter {
  if (kind === 'fixed-window') return createFixedWindow(rate);
  return kind === 'sliding-window' ? createSlidingWindow(rate) : createTokenBucket(rate, burst);
}

/**
 * At most `count` calls in each window of `perMs`. Windows are aligned to the clock, as with a counter per
 * minute, so up to twice the count may pass around the edge between two of them.
 */
function createFixedWindow({ count, perMs }: LimitRate): Limiter {
  let window = -1;
  let used = 0;
  return (nowMs) => {
    const now = Math.floor(nowMs / perMs);
    if (now !== window) used = 0;
    window = now;
    const allowed = used < count;
    if (allowed) used += 1;
    const resetMs = (window + 1) * perMs - nowMs;
    return { allowed, remaining: count - used, retryAfterMs: used < count ? 0 : resetMs, resetMs };
  };
}

/**
 * A bucket that holds up to `burst` tokens and refills steadily, `count` per `perMs`. A call takes one token.
 * @see https://en.wikipedia.org/wiki/Token_bucket
 * @param burst tokens in a full bucket. Default: what one second refills, at least 1
 */
function createTokenBucket(
  { count, perMs }: LimitRate,
  burst: number = Math.max(1, Math.ceil((count / perMs) * 1000)),
): Limiter {
  const perToken = perMs / count;
  let tokens = burst;
  let refilledMs: number | undefined;
  return (nowMs) => {
    tokens = Math.min(burst, tokens + Math.max(0, nowMs - (refilledMs ?? nowMs)) / perToken);
    refilledMs = nowMs;
    // A token that is short by a rounding error counts as whole: otherwise a caller that waits
    // exactly as told is refused.
    const allowed = tokens > 1 - 1e-9;
    if (allowed) tokens = Math.max(0, tokens - 1);
    return {
      allowed,
      remaining: Math.floor(tokens + 1e-9),
      retryAfterMs: Math.max(0, 1 - tokens) * perToken,
      resetMs: (burst - tokens) * perToken,
    };
  };
}

/** At most `count` calls in any stretch of `perMs`. It remembers the time of each of them. */
function createSlidingWindow({ count, perMs }: LimitRate): Limiter {
  const calledMs: number[] = [];
  return (nowMs) => {
    const gone = calledMs.findIndex((ms) => ms > nowMs - perMs);
    calledMs.splice(0, gone === -1 ? calledMs.length : gone);
    const allowed = calledMs.length < count;
    if (allowed) calledMs.push(nowMs);
    const until = (ms = nowMs - perMs): number => ms + perMs - nowMs;
    return {
      allowed,
      remaining: count - calledMs.length,
      retryAfterMs: calledMs.length < count ? 0 : until(calledMs[0]),
      resetMs: until(calledMs.at(-1)),
    };
  };
}

/** The headers that tell of a limit. */
export function limitHeaders(
  style: LimitHeaders,
  { count, perMs }: LimitRate,
  { allowed, remaining, retryAfterMs, resetMs }: Verdict,
  nowMs: number,
): Record<string, string> {
  // With nothing left, the time until the next call; else, the time until the whole quota is back.
  const untilMs = remaining > 0 ? resetMs : retryAfterMs;
  switch (style) {
    case 'none':
      return {};
    case 'retry-after':
      // At least a second: a `Retry-After: 0` would invite the caller to hammer.
      return allowed ? {} : { 'Retry-After': String(Math.max(1, seconds(retryAfterMs))) };
    case 'ratelimit':
      return {
        'RateLimit-Policy': `"default";q=${count};w=${seconds(perMs)}`,
        RateLimit: `"default";r=${remaining};t=${seconds(untilMs)}`,
      };
    case 'x-ratelimit':
      return {
        'X-RateLimit-Limit': String(count),
        'X-RateLimit-Remaining': String(remaining),
        'X-RateLimit-Reset': String(seconds(nowMs + untilMs)),
      };
  }
}

/** Rounded up, because a caller that comes a moment early is refused again. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
