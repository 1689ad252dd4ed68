import type { LimitHints } from '../../src/common/calls.ts';

/** What our clock shows at the time 0 of a simulation. */
export const OUR_EPOCH_MS: number = Date.UTC(2026, 10, 20);

/** What a server says to a call. */
export interface Verdict {
  readonly isAccepted: boolean;
  readonly retryAfterMs?: number;
  readonly limits?: LimitHints;
  /** Headers that are still to be read: what they say depends on when they come. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server's limit: it decides when a call arrives, and may count until the call is done. */
export interface Limit {
  arrive(nowMs: number): Verdict;
  done?(): void;
  /** Calls it would have let through between two times; undefined for a limit on concurrency. */
  allowed?(fromMs: number, toMs: number): number;
  /** Windows begin at multiples of this: what is allowed is only known for whole ones. */
  readonly windowMs?: number;
  /** How long before the time 0 those are counted from. @default 0 */
  readonly begunMs?: number;
  readonly concurrent?: number;
}

/** Calls per ms at a time; limits change. */
export type RateOverTime = (nowMs: number) => number;

export interface SayOptions {
  /**
   * What the server says of itself: `retry_after` with a 429, in whole seconds; `x_ratelimit` with every
   * answer, and when there are calls again, in whole seconds since 1970; `ratelimit` also the quota.
   * @default 'nothing'
   */
  readonly says?: Says;
}

/** What the server's clock shows at the time 0: it is ahead of ours. */
const SERVER_EPOCH_MS = OUR_EPOCH_MS + 37_213;

type Says = 'nothing' | 'retry_after' | 'x_ratelimit' | 'ratelimit';

/** What is said with a verdict, as the client hands it on. */
function said(
  says: Says,
  nowMs: number,
  {
    isAccepted,
    remaining,
    leftMs,
    quota,
    limit = quota.count,
  }: {
    readonly isAccepted: boolean;
    readonly remaining: number;
    /** Until there are calls again. */
    readonly leftMs: number;
    readonly quota: { readonly count: number; readonly perMs: number };
    /** Most calls that can be left. @default those of the quota */
    readonly limit?: number;
  },
): Verdict {
  const seconds = Math.ceil(leftMs / 1_000) * 1_000;
  switch (says) {
    case 'nothing':
      return { isAccepted };
    case 'retry_after':
      return { isAccepted, ...(isAccepted ? {} : { retryAfterMs: seconds }) };
    case 'x_ratelimit': {
      const clockMs = SERVER_EPOCH_MS + nowMs;
      return {
        isAccepted,
        headers: {
          date: new Date(clockMs).toUTCString(),
          'x-ratelimit-limit': String(limit),
          'x-ratelimit-remaining': String(remaining),
          'x-ratelimit-reset': String(Math.ceil((clockMs + leftMs) / 1_000)),
        },
      };
    }
    case 'ratelimit':
      return {
        isAccepted,
        limits: { quota, remaining, resetMs: seconds },
        ...(isAccepted ? {} : { retryAfterMs: seconds }),
      };
  }
}

/** A bucket with `burst` tokens that fills at a rate. */
export function tokenBucket(
  rate: RateOverTime | number,
  burst: number,
  { says = 'nothing' }: SayOptions = {},
): Limit {
  const rateAt = typeof rate === 'number' ? () => rate : rate;
  let tokens = burst;
  let lastMs = 0;
  return {
    arrive(nowMs) {
      tokens = Math.min(burst, tokens + (nowMs - lastMs) * rateAt(nowMs));
      lastMs = nowMs;
      const isAccepted = tokens >= 1;
      if (isAccepted) tokens -= 1;
      return said(says, nowMs, {
        isAccepted,
        remaining: Math.floor(tokens),
        leftMs: Math.max(0, 1 - tokens) / rateAt(nowMs),
        quota: { count: rateAt(nowMs) * 1_000, perMs: 1_000 },
        limit: burst,
      });
    },
    allowed: (fromMs, toMs) => integrate(rateAt, fromMs, toMs),
  };
}

export interface WindowOptions extends SayOptions {
  /** How much more it claims to allow than it does. @default 1 */
  readonly claims?: number;
}

/** At most `count` calls from one full `perMs` to the next. */
export function fixedWindow(
  count: number,
  perMs: number,
  { says = 'nothing', claims = 1 }: WindowOptions = {},
): Limit {
  let window = -1;
  let calls = 0;
  return {
    arrive(nowMs) {
      const current = Math.floor(nowMs / perMs);
      if (current !== window) calls = 0;
      window = current;
      const isAccepted = calls < count;
      if (isAccepted) calls += 1;
      return said(says, nowMs, {
        isAccepted,
        remaining: Math.max(0, Math.floor(count * claims) - calls),
        leftMs: (current + 1) * perMs - nowMs,
        quota: { count: count * claims, perMs },
      });
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * count) / perMs,
    windowMs: perMs,
  };
}

/** At most `count` calls in any `perMs`. */
export function slidingWindow(
  count: number,
  perMs: number,
  { says = 'nothing' }: SayOptions = {},
): Limit {
  const startsMs: number[] = [];
  let oldest = 0;
  return {
    arrive(nowMs) {
      while ((startsMs[oldest] ?? Number.POSITIVE_INFINITY) <= nowMs - perMs) oldest += 1;
      const isAccepted = startsMs.length - oldest < count;
      if (isAccepted) startsMs.push(nowMs);
      const remaining = count - (startsMs.length - oldest);
      const nextMs = (startsMs[remaining > 0 ? startsMs.length - 1 : oldest] ?? nowMs) + perMs;
      return said(says, nowMs, {
        isAccepted,
        remaining,
        leftMs: nextMs - nowMs,
        quota: { count, perMs },
      });
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * count) / perMs,
  };
}

/**
 * At most `count` calls in any `perMs`, as counters of two periods tell it: of the period before, as
 * much as the last `perMs` still reach into it. Refused calls count, too (HAProxy's `http_req_rate`).
 */
export function slidingCounter(count: number, perMs: number): Limit {
  let beganMs = 0;
  let before = 0;
  let calls = 0;
  return {
    arrive(nowMs) {
      if (nowMs - beganMs >= perMs) {
        before = nowMs - beganMs >= 2 * perMs ? 0 : calls;
        beganMs = nowMs - beganMs >= 2 * perMs ? nowMs : beganMs + perMs;
        calls = 0;
      }
      calls += 1;
      const leftMs = beganMs + perMs - nowMs;
      return { isAccepted: Math.floor(calls + (before * leftMs) / perMs) <= count };
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * count) / perMs,
  };
}

/** A bucket that leaks `perSecond` calls and holds `burst` more than one (nginx's `limit_req`). */
export function leakyBucket(perSecond: number, burst: number): Limit {
  let excess = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    arrive(nowMs) {
      // It counts in whole milliseconds.
      const atMs = Math.floor(nowMs);
      const then = Math.max(0, excess - ((atMs - lastMs) * perSecond) / 1_000 + 1);
      if (then > burst) return { isAccepted: false };
      excess = lastMs === Number.NEGATIVE_INFINITY ? 0 : then;
      lastMs = atMs;
      return { isAccepted: true };
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * perSecond) / 1_000,
  };
}

/** A call that is refused has all others refused for a while, which is stated. */
export function penalized(limit: Limit, forMs: number): Limit {
  let untilMs = 0;
  return {
    ...limit,
    arrive(nowMs) {
      if (nowMs >= untilMs) {
        if (limit.arrive(nowMs).isAccepted) return { isAccepted: true };
        untilMs = nowMs + forMs;
      }
      return { isAccepted: false, retryAfterMs: Math.ceil((untilMs - nowMs) / 1_000) * 1_000 };
    },
  };
}

/** At most `count` calls at the same time. */
export function concurrentCalls(count: number): Limit {
  let calls = 0;
  return {
    arrive() {
      if (calls >= count) return { isAccepted: false };
      calls += 1;
      return { isAccepted: true };
    },
    done() {
      calls -= 1;
    },
    concurrent: count,
  };
}

/** A call has to pass all; one that is refused by a later one has still counted at those before. */
export function allOf(limits: readonly Limit[]): Limit {
  return {
    arrive(nowMs) {
      for (const limit of limits) {
        const verdict = limit.arrive(nowMs);
        if (!verdict.isAccepted) return verdict;
      }
      return { isAccepted: true };
    },
    allowed: (fromMs, toMs) =>
      Math.min(...limits.map((limit) => limit.allowed?.(fromMs, toMs) ?? Number.POSITIVE_INFINITY)),
    windowMs: Math.max(...limits.map(({ windowMs = 0 }) => windowMs)),
  };
}

/** The same with windows that began so long ago: a run starts in the midst of one. */
export function begunBefore(limit: Limit, begunMs: number): Limit {
  return { ...limit, begunMs, arrive: (nowMs) => limit.arrive(nowMs + begunMs) };
}

function integrate(rateAt: RateOverTime, fromMs: number, toMs: number): number {
  const steps = 1_000;
  const stepMs = (toMs - fromMs) / steps;
  let sum = 0;
  for (let step = 0; step < steps; step += 1)
    sum += rateAt(fromMs + (step + 0.5) * stepMs) * stepMs;
  return sum;
}
