/**
 * Bounds retries to a fifth of the calls plus ten a second, so that an API in trouble is not
 * hammered by everybody trying again. A bucket of tokens: each call puts in a fifth, each second
 * ten, each retry takes one. What is not used within about ten seconds is forgotten, so a quiet
 * night saves nothing up for a storm of retries.
 *
 * Plain data and functions of it and the time; the clock may be anybody's, and may go back.
 *
 * @see {@link https://sre.google/sre-book/handling-overload/ Handling overload, retry budgets}
 */
export interface RetryBudget {
  /** Retries that may be made now. */
  tokens: number;
  /** When `tokens` was counted; null before the first event. */
  countedAtMs: number | null;
}

const TOKENS_PER_CALL = 0.2;
const TOKENS_PER_MS = 10 / 1_000;
/** Of what is saved, this much time's worth is kept. */
const MEMORY_MS = 10_000;
/** What a budget that nobody uses holds. */
const IDLE_TOKENS = TOKENS_PER_MS * MEMORY_MS;
/** Calls of several machines are reported a little out of order; more than this, a clock was set back. */
const CLOCK_TOLERANCE_MS = 1_000;

/** A budget that nobody has used yet: a hundred retries at once are no storm. */
export function createRetryBudget(): RetryBudget {
  return { tokens: IDLE_TOKENS, countedAtMs: null };
}

/** A call was started that is not a retry. */
export function onCall(budget: RetryBudget, nowMs: number): void {
  count(budget, nowMs);
  budget.tokens += TOKENS_PER_CALL;
}

/** When a retry may start: at once, or in at most a tenth of a second. To be asked again then, for others wait too. */
export function mayRetry(budget: RetryBudget, nowMs: number): { readonly atMs: number } {
  if (isClockSetBack(budget, nowMs)) return { atMs: nowMs };
  const tokens = tokensAt(budget, nowMs);
  if (tokens >= 1) return { atMs: nowMs };
  // Where exponential growth towards the idle level passes one.
  const waitMs = MEMORY_MS * Math.log((IDLE_TOKENS - tokens) / (IDLE_TOKENS - 1));
  return { atMs: nowMs + Math.ceil(waitMs) };
}

/** A retry was started. To be called in the same turn as the question. */
export function onRetry(budget: RetryBudget, nowMs: number): void {
  count(budget, nowMs);
  // No debt: whoever did not ask must not make the others wait for long.
  budget.tokens = Math.max(0, budget.tokens - 1);
}

function count(budget: RetryBudget, nowMs: number): void {
  budget.tokens = tokensAt(budget, nowMs);
  const isLate = nowMs < (budget.countedAtMs ?? nowMs) && !isClockSetBack(budget, nowMs);
  if (!isLate) budget.countedAtMs = nowMs;
}

function tokensAt({ tokens, countedAtMs }: RetryBudget, nowMs: number): number {
  const elapsedMs = Math.max(0, nowMs - (countedAtMs ?? nowMs));
  return IDLE_TOKENS + (tokens - IDLE_TOKENS) * Math.exp(-elapsedMs / MEMORY_MS);
}

function isClockSetBack({ countedAtMs }: RetryBudget, nowMs: number): boolean {
  return countedAtMs !== null && countedAtMs - nowMs > CLOCK_TOLERANCE_MS;
}
