import { CLOCK_TOLERANCE_MS } from '../common/calls.ts';
import type { Clock } from '../pace/clock.ts';

/** Keeps retries in proportion to calls. */
export interface RetryBudget {
  /** The first attempt of a lookup has ended. */
  firstAttemptEnded(): void;
  /**
   * Waits until a retry may be made.
   *
   * @throws the signal's reason when it fires first
   */
  acquire(signal: AbortSignal): Promise<void>;
  /** For how long at least one retry was held back, in milliseconds. */
  readonly waitedMs: () => number;
}

/**
 * Keeps the budget of this process. A retry that waits here occupies its caller, so other calls
 * slow down as well.
 */
export function createRetryBudget(clock: Clock): RetryBudget {
  const tokens = createRetryTokens();
  let waiting = 0;
  let waitingSinceMs = 0;
  let waitedMs = 0;

  async function wait(ms: number, signal: AbortSignal): Promise<void> {
    if (waiting === 0) waitingSinceMs = clock.nowMs();
    waiting += 1;
    try {
      await clock.sleep(ms, signal);
    } finally {
      waiting -= 1;
      if (waiting === 0) waitedMs += clock.nowMs() - waitingSinceMs;
    }
  }

  return {
    firstAttemptEnded: () => onCall(tokens, clock.nowMs()),
    acquire: async (signal) => {
      for (;;) {
        const nowMs = clock.nowMs();
        const { atMs } = mayRetry(tokens, nowMs);
        if (atMs <= nowMs) break;
        await wait(atMs - nowMs, signal);
      }
      onRetry(tokens, clock.nowMs());
    },
    waitedMs: () => waitedMs + (waiting > 0 ? clock.nowMs() - waitingSinceMs : 0),
  };
}

/**
 * Bounds retries to a fifth of the calls plus ten a second, so that retries do not overwhelm an API
 * in trouble. A token bucket: each call adds a fifth of a token, each second ten, and each retry
 * takes one. Unused tokens decay within about ten seconds, so a quiet night saves nothing up for a
 * storm of retries.
 *
 * Plain data and functions of it and the time. Any clock will do, and it may go back.
 *
 * @see {@link https://sre.google/sre-book/handling-overload/ Handling overload, retry budgets}
 */
export interface RetryTokens {
  /** Retries that may be made now. */
  tokens: number;
  /** When `tokens` was counted; null before the first event. */
  countedAtMs: number | null;
}

const TOKENS_PER_CALL = 0.2;
const TOKENS_PER_MS = 10 / 1_000;
/** Tokens beyond the idle level decay with this time constant. */
const MEMORY_MS = 10_000;
/** The level of a budget that is not used. */
const IDLE_TOKENS = TOKENS_PER_MS * MEMORY_MS;

/** A budget that has not been used yet. A hundred retries at once are allowed. */
export function createRetryTokens(): RetryTokens {
  return { tokens: IDLE_TOKENS, countedAtMs: null };
}

/** The first attempt of a lookup has ended. */
export function onCall(budget: RetryTokens, nowMs: number): void {
  count(budget, nowMs);
  budget.tokens += TOKENS_PER_CALL;
}

/**
 * When a retry may start: at once, or in at most a tenth of a second. The retry must ask again
 * then, because others wait too.
 */
export function mayRetry(budget: RetryTokens, nowMs: number): { readonly atMs: number } {
  if (isClockSetBack(budget, nowMs)) return { atMs: nowMs };
  const tokens = tokensAt(budget, nowMs);
  if (tokens >= 1) return { atMs: nowMs };
  // Solves for when the exponential approach to the idle level passes one token.
  const waitMs = MEMORY_MS * Math.log((IDLE_TOKENS - tokens) / (IDLE_TOKENS - 1));
  return { atMs: nowMs + Math.ceil(waitMs) };
}

/** A retry was started. Must be called in the same turn of the event loop as `mayRetry`. */
export function onRetry(budget: RetryTokens, nowMs: number): void {
  count(budget, nowMs);
  // Tokens never go below zero: a retry that did not ask must not make the others wait for long.
  budget.tokens = Math.max(0, budget.tokens - 1);
}

function count(budget: RetryTokens, nowMs: number): void {
  budget.tokens = tokensAt(budget, nowMs);
  const isLate = nowMs < (budget.countedAtMs ?? nowMs) && !isClockSetBack(budget, nowMs);
  if (!isLate) budget.countedAtMs = nowMs;
}

function tokensAt({ tokens, countedAtMs }: RetryTokens, nowMs: number): number {
  const elapsedMs = Math.max(0, nowMs - (countedAtMs ?? nowMs));
  return IDLE_TOKENS + (tokens - IDLE_TOKENS) * Math.exp(-elapsedMs / MEMORY_MS);
}

function isClockSetBack({ countedAtMs }: RetryTokens, nowMs: number): boolean {
  return countedAtMs !== null && countedAtMs - nowMs > CLOCK_TOLERANCE_MS;
}
