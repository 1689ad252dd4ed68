import { setTimeout as delay } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../common/lifetime.ts';

/** The time for everything that waits. Tests pass their own clock. */
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
      signal.throwIfAborted(); // the signal's reason, not the timer's own error
      throw error;
    }
  },
};
