import { createRetryBudget, mayRetry, onCall, onRetry } from '../guard/retry-budget.ts';
import type { Clock } from '../pace/clock.ts';

/** Keeps retries in proportion to calls. */
export interface RetryGate {
  /** The first attempt of a lookup has ended. */
  firstAttemptEnded(): void;
  /**
   * Waits until a retry may be made.
   *
   * @throws the signal's reason when it fires first
   */
  pass(signal: AbortSignal): Promise<void>;
  /** For how long at least one retry was held back, in milliseconds. */
  readonly waitedMs: () => number;
}

/**
 * Keeps the budget of this process. A retry that waits here occupies its caller, so other calls
 * slow down as well.
 */
export function createRetryGate(clock: Clock): RetryGate {
  const budget = createRetryBudget();
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
    firstAttemptEnded: () => onCall(budget, clock.nowMs()),
    pass: async (signal) => {
      for (;;) {
        const nowMs = clock.nowMs();
        const { atMs } = mayRetry(budget, nowMs);
        if (atMs <= nowMs) break;
        await wait(atMs - nowMs, signal);
      }
      onRetry(budget, clock.nowMs());
    },
    waitedMs: () => waitedMs + (waiting > 0 ? clock.nowMs() - waitingSinceMs : 0),
  };
}
