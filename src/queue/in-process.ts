import { createChange } from '../common/change.ts';
import type { Chunk, HandleChunk, LookupQueue, Reply } from './lookup-queue.ts';
import { createUnstored } from './unstored.ts';

export interface InProcessQueueOptions {
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** How many chunks are worked on at once, and how many more may wait. */
  readonly window: number;
  /** With more outcomes than this that are not stored yet, callers wait. @default 500 */
  readonly mostUnstored?: number;
}

const MOST_UNSTORED = 500;

export interface InProcessQueue extends LookupQueue {
  /** Outcomes that are not stored yet. Their lookups have ended. */
  readonly unstored: number;
}

/**
 * The queue of a single process. It needs no server. A chunk is done before its outcomes are
 * stored: otherwise a few callers of a fast API would wait for each commit. `work` and `settled`
 * wait until they are.
 */
export function createInProcessQueue({
  collect,
  window,
  mostUnstored = MOST_UNSTORED,
}: InProcessQueueOptions): InProcessQueue {
  const waiting: Chunk[] = [];
  const unstored = createUnstored(collect, mostUnstored);
  let hasEnded = false;
  const change = createChange();
  let settle = (): void => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });

  function end(): void {
    hasEnded = true;
    change.notify();
  }

  async function takeChunks(handle: HandleChunk): Promise<void> {
    for (;;) {
      const chunk = waiting.shift();
      if (chunk) {
        change.notify();
        await handle(chunk, unstored.add);
      } else if (hasEnded) return;
      else await change.wait();
    }
  }

  async function workThrough(handle: HandleChunk): Promise<void> {
    await Promise.all(Array.from({ length: window }, () => takeChunks(handle)));
    await unstored.settled();
  }

  return {
    get unstored() {
      return unstored.count;
    },
    add: async (chunk) => {
      while (waiting.length >= window && !hasEnded) await change.wait();
      if (hasEnded) return;
      waiting.push(chunk);
      change.notify();
    },
    end,
    work: async (handle) => {
      try {
        await Promise.race([workThrough(handle), unstored.failed]);
      } finally {
        waiting.length = 0;
        end();
        settle();
      }
    },
    settled: () => settled,
    close: async () => {},
  };
}
