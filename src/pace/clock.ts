import { setTimeout as delay } from 'node:timers/promises';

/** Time, as everything that waits sees it; tests bring their own. */
export interface Clock {
  /** Milliseconds since some start; never goes back. */
  nowMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when that fires first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  sleep: async (ms, signal) => {
    signal.throwIfAborted();
    try {
      await delay(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal });
    } catch (error) {
      signal.throwIfAborted(); // its reason, not the timer's own error
      throw error;
    }
  },
};

/** Node.js fires longer timers at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
