import { createChange } from '../common/change.ts';
import type { Reply } from './lookup-queue.ts';

/** Outcomes that were handed to the collector, until they are stored. */
export interface UnstoredOutcomes {
  /** Hands outcomes to the collector. Resolves when no more than the most are unstored. */
  readonly add: Reply;
  /** How many are not stored. */
  readonly count: number;
  /** Waits until all are stored. */
  settled(): Promise<void>;
  /** Rejects with the first error of the collector; never resolves. */
  readonly failed: Promise<never>;
}

/** @param most the most outcomes that may be unstored, so that a slow disk does not fill memory */
export function createUnstored(collect: Reply, most: number): UnstoredOutcomes {
  /** Outcomes that are written together share one promise, so there are few. */
  const counts = new Map<Promise<void>, number>();
  const change = createChange();
  let count = 0;
  let fail = (_: unknown): void => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {}); // nobody may be waiting

  async function watch(stored: Promise<void>): Promise<void> {
    try {
      await stored;
    } catch (error) {
      fail(error);
    } finally {
      count -= counts.get(stored) ?? 0; // those that could not be stored must not hold callers up either
      counts.delete(stored);
      change.notify();
    }
  }

  async function room(): Promise<void> {
    while (count > most) await change.wait();
  }

  return {
    add: (outcomes) => {
      const stored = collect(outcomes);
      const before = counts.get(stored);
      counts.set(stored, (before ?? 0) + outcomes.length);
      count += outcomes.length;
      if (before === undefined) void watch(stored);
      return count > most ? room() : HANDED_OVER;
    },
    get count() {
      return count;
    },
    settled: async () => {
      while (counts.size > 0) await change.wait();
    },
    failed,
  };
}

/** The same for all: a promise for each outcome would cost time. */
const HANDED_OVER = Promise.resolve();
