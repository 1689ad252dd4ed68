import type { LimitHints } from '../../src/pace/limit-hints.ts';

/** What a server says to a call. */
export interface Verdict {
  readonly isAccepted: boolean;
  readonly retryAfterMs?: number;
  readonly limits?: LimitHints;
}

/** A server's limit: it decides when a call arrives, and may count until the call is done. */
export interface Limit {
  arrive(nowMs: number): Verdict;
  done?(): void;
  /** Calls it would have let through between two times; undefined for a limit on concurrency. */
  allowed?(fromMs: number, toMs: number): number;
  /** Windows begin at multiples of this: what is allowed is only known for whole ones. */
  readonly windowMs?: number;
  readonly concurrent?: number;
}

/** Calls per ms at a time; limits change. */
export type RateOverTime = (nowMs: number) => number;

export interface SayOptions {
  /** Whether a 429 says how long to wait, in whole seconds. @default 'nothing' */
  readonly says?: 'nothing' | 'retry_after';
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
      if (tokens < 1) {
        const waitMs = Math.ceil((1 - tokens) / rateAt(nowMs) / 1_000) * 1_000;
        return { isAccepted: false, ...(says === 'nothing' ? {} : { retryAfterMs: waitMs }) };
      }
      tokens -= 1;
      return { isAccepted: true };
    },
    allowed: (fromMs, toMs) => integrate(rateAt, fromMs, toMs),
  };
}

export interface WindowOptions {
  /** What the server says of itself. @default 'nothing' */
  readonly says?: 'nothing' | 'retry_after' | 'everything';
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
      const leftMs = Math.ceil(((current + 1) * perMs - nowMs) / 1_000) * 1_000;
      const limits: LimitHints = {
        quota: { count: count * claims, perMs },
        remaining: Math.max(0, Math.floor(count * claims) - calls),
        resetMs: leftMs,
      };
      return {
        isAccepted,
        ...(says === 'everything' ? { limits } : {}),
        ...(says === 'nothing' || isAccepted ? {} : { retryAfterMs: leftMs }),
      };
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * count) / perMs,
    windowMs: perMs,
  };
}

/** At most `count` calls in any `perMs`. */
export function slidingWindow(count: number, perMs: number): Limit {
  const startsMs: number[] = [];
  let oldest = 0;
  return {
    arrive(nowMs) {
      while ((startsMs[oldest] ?? Number.POSITIVE_INFINITY) <= nowMs - perMs) oldest += 1;
      if (startsMs.length - oldest >= count) return { isAccepted: false };
      startsMs.push(nowMs);
      return { isAccepted: true };
    },
    allowed: (fromMs, toMs) => ((toMs - fromMs) * count) / perMs,
  };
}

/** At most `count` calls at the same time. */
export function concurrentCalls(count: number, { says = 'nothing' }: SayOptions = {}): Limit {
  let calls = 0;
  const refusal = { isAccepted: false, ...(says === 'nothing' ? {} : { retryAfterMs: 1_000 }) };
  return {
    arrive() {
      if (calls >= count) return refusal;
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

function integrate(rateAt: RateOverTime, fromMs: number, toMs: number): number {
  const steps = 1_000;
  const stepMs = (toMs - fromMs) / steps;
  let sum = 0;
  for (let step = 0; step < steps; step += 1)
    sum += rateAt(fromMs + (step + 0.5) * stepMs) * stepMs;
  return sum;
}
