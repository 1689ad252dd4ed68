/** The kind of a limit. */
export type LimitKind = (typeof LIMIT_KINDS)[number];

export const LIMIT_KINDS = ['token-bucket', 'fixed-window', 'sliding-window'] as const;

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
 * At most `count` calls in each window of `perMs`. Windows are aligned to the clock, as with a
 * counter per minute, so up to twice the count may pass around the edge between two of them.
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
 * A bucket that holds up to `burst` tokens and refills steadily, `count` per `perMs`. A call takes
 * one token.
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

/** What a limit says of a call. */
interface Told extends LimitRate {
  /** Calls that are left. */
  remaining: number;
  /**
   * With nothing left, the seconds until the next call; else those until the whole quota is back.
   */
  resetS: number;
  /** The same as a point in time, in seconds since 1970. */
  resetAtS: number;
  /** The seconds to wait, at least one: a `Retry-After: 0` would invite the caller to hammer. */
  waitS: number;
  /** The same as a point in time. */
  waitUntil: Date;
}

type ToHeaders = (told: Told) => Record<string, string | number>;

/** What is said of a call that is refused. */
const REFUSALS = {
  'retry-after': ({ waitS }) => ({ 'Retry-After': waitS }),
  'retry-after-date': ({ waitUntil }) => ({ 'Retry-After': waitUntil.toUTCString() }),
  'retry-after-epoch': ({ waitUntil }) => ({ 'Retry-After': seconds(waitUntil.getTime()) }),
  'retry-after-ms': ({ waitS }) => ({ 'Retry-After-Ms': waitS * 1_000 }),
  'x-retry-after': ({ waitS }) => ({ 'X-Retry-After': `${waitS}s` }),
} satisfies Record<string, ToHeaders>;

/** What is said of each call. */
const REPORTS = {
  ratelimit: ({ count, perMs, remaining, resetS }) => ({
    'RateLimit-Policy': `"default";q=${count};w=${seconds(perMs)}`,
    RateLimit: `"default";r=${remaining};t=${resetS}`,
  }),
  'ratelimit-7': ({ count, perMs, remaining, resetS }) => ({
    'RateLimit-Policy': `${count};w=${seconds(perMs)}`,
    RateLimit: `limit=${count}, remaining=${remaining}, reset=${resetS}`,
  }),
  'x-ratelimit': ({ count, remaining, resetAtS }) => ({
    'X-RateLimit-Limit': count,
    'X-RateLimit-Remaining': remaining,
    'X-RateLimit-Reset': resetAtS,
  }),
  'x-rate-limit': ({ count, remaining, resetS }) => ({
    'X-Rate-Limit-Limit': count,
    'X-Rate-Limit-Remaining': remaining,
    'X-Rate-Limit-Reset': `${resetS}s`,
  }),
  'x-ratelimit-lists': ({ count, perMs, remaining, resetS }) => ({
    'X-RateLimit-Limit': `${count}, 1000000`,
    'X-RateLimit-Remaining': `${remaining}, 900000`,
    'X-RateLimit-Reset': `${resetS}, 1209600`,
    'X-RateLimit-Policy': `${count};w=${seconds(perMs)}, 1000000;w=2592000`,
  }),
} satisfies Record<string, ToHeaders>;

const STYLES = { none: () => ({}), ...REFUSALS, ...REPORTS };

/**
 * Which headers speak of the limit, and in whose dialect: those of a wait on a 429, or of the limit
 * on every answer.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export type LimitHeaders = keyof typeof STYLES;

export const LIMIT_HEADERS = Object.keys(STYLES) as readonly LimitHeaders[];

/** The headers that tell of a limit. */
export function limitHeaders(
  style: LimitHeaders,
  rate: LimitRate,
  { allowed, remaining, retryAfterMs, resetMs }: Verdict,
  nowMs: number,
): Record<string, string> {
  if (allowed && style in REFUSALS) return {};
  const untilMs = remaining > 0 ? resetMs : retryAfterMs;
  const waitS = Math.max(1, seconds(retryAfterMs));
  const headers = STYLES[style]({
    ...rate,
    remaining,
    resetS: seconds(untilMs),
    resetAtS: seconds(nowMs + untilMs),
    waitS,
    // A date has no fractions.
    waitUntil: new Date(seconds(nowMs + waitS * 1_000) * 1_000),
  });
  return Object.fromEntries(Object.entries(headers).map(([name, one]) => [name, String(one)]));
}

/** Rounded up, because a caller that comes a moment early is refused again. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
