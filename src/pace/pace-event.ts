import type { LimitHints } from '../common/limit-hints.ts';

/** What came of one call. */
export interface PaceEvent {
  /**
   * `accepted`: any other answer; `throttled`: 429, or 503 where that is how the API limits calls; `failed`: no
   * answer, or one that says nothing about the pace; `abandoned`: given up before there was an answer.
   */
  readonly kind: 'accepted' | 'throttled' | 'failed' | 'abandoned';
  readonly sentAtMs: number;
  readonly latencyMs: number;
  /** Calls in flight when it was sent, itself included. */
  readonly inFlight: number;
  /** How long the server said to wait, if it did. */
  readonly retryAfterMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
  /** Between 0 and 1; spreads the backoffs of several processes. */
  readonly random: number;
}
