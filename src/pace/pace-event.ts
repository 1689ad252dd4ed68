import type { LimitHints } from '../common/limit-hints.ts';

/** The end of one call. */
export interface PaceEvent {
  /**
   * `throttled`: 429, or 503 when the API uses that to limit calls; `failed`: no answer, or one
   * that says nothing about the pace; `abandoned`: given up before there was an answer; `accepted`:
   * any other answer.
   */
  readonly kind: 'accepted' | 'throttled' | 'failed' | 'abandoned';
  readonly sentAtMs: number;
  readonly latencyMs: number;
  /** Calls in flight when it was sent, itself included. */
  readonly inFlight: number;
  /** How long the server said to wait, if it did. */
  readonly retryAfterMs?: number | undefined;
  /** The same when only a part of it is kept, which `retryAfterMs` is then. */
  readonly statedMs?: number | undefined;
  readonly limits?: LimitHints | undefined;
  /** From 0 to 1. Spreads the backoffs of several processes. */
  readonly random: number;
}
