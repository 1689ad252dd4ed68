import { setTimeout as delay } from 'node:timers/promises';

/** Gathers writes, so that many share one commit. */
export interface CommitBatches<T> {
  /** @returns when the write is committed, along with others that came at about the same time */
  add(write: T): Promise<void>;
  /** Waits until all writes so far are committed. */
  settle(): Promise<void>;
}

/**
 * @param commit writes all of a batch in one transaction
 * @param delayMs how long a batch waits for more writes after its first one
 */
export function createCommitBatches<T>(
  commit: (batch: readonly T[]) => Promise<void>,
  delayMs: number,
): CommitBatches<T> {
  let gathering: T[] = [];
  let next: Promise<void> | undefined;
  let latest: Promise<void> = Promise.resolve();

  async function commitLater(): Promise<void> {
    await delay(delayMs);
    const batch = gathering;
    gathering = [];
    next = undefined;
    await commit(batch);
  }

  return {
    add: (write) => {
      gathering.push(write);
      if (!next) {
        next = commitLater();
        latest = next;
      }
      return next;
    },
    // Commits come one after the other, so the latest is the last.
    settle: () => latest,
  };
}
