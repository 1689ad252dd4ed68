import { createRetryBudget, mayRetry, onCall, onRetry } from '../guard/retry-budget.ts';
import type { Clock } from '../pace/clock.ts';

/** Keeps retries in proportion to calls. */
export interface RetryGate {
  /** A lookup begins. */
  counted(): void;
  /**
   * Waits until a retry may be made.
   *
   * @throws the signal's reason when it fires first
   */
  pass(signal: AbortSignal): Promise<void>;
}

/** Keeps the budget of this process. Whoever waits here keeps its caller, so calls slow down as well. */
export function createRetryGate(clock: Clock): RetryGate {
  const budget = createRetryBudget();
  return {
    counted: () => onCall(budget, clock.nowMs()),
    pass: async (signal) => {
      for (;;) {
        const nowMs = clock.nowMs();
        const { atMs } = mayRetry(budget, nowMs);
        if (atMs <= nowMs) break;
        await clock.sleep(atMs - nowMs, signal);
      }
      onRetry(budget, clock.nowMs());
    },
  };
}
