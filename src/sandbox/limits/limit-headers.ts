import type { LimitKind, LimitRate, Verdict } from './limiter.ts';

/**
 * Which headers speak of the limit: `none`; `retry-after` on a 429; `ratelimit` (`RateLimit` and
 * `RateLimit-Policy`) or `x-ratelimit` (`X-RateLimit-Limit`, `-Remaining` and `-Reset`, the last in Unix seconds)
 * on every answer.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export type LimitHeaders = 'none' | 'retry-after' | 'ratelimit' | 'x-ratelimit';

/** Makes the headers that go with a verdict. */
export type LimitHeaderWriter = (verdict: Verdict, nowMs: number) => Record<string, string>;

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
