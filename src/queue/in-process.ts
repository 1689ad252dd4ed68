import type { Chunk, LookupQueue, Reply } from './lookup-queue.ts';

export interface InProcessQueueOptions {
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** How many chunks are worked on at once, and how many more may wait. */
  readonly window: number;
}

/** The queue of a single process: no server, nothing to install. */
export function createInProcessQueue({ collect, window }: InProcessQueueOptions): LookupQueue {
  const waiting: Chunk[] = [];
  let hasEnded = false;
  let wakeAll: (() => void)[] = [];

  /** Waits until something changes; whoever wakes up looks for himself whether it concerns him. */
  function change(): Promise<void> {
    return new Promise((resolve) => wakeAll.push(resolve));
  }

  function changed(): void {
    const sleepers = wakeAll;
    wakeAll = [];
    for (const wake of sleepers) wake();
  }

  function end(): void {
    hasEnded = true;
    changed();
  }

  async function takeChunks(handle: (chunk: Chunk, reply: Reply) => Promise<void>): Promise<void> {
    for (;;) {
      const chunk = waiting.shift();
      if (chunk) {
        changed();
        await handle(chunk, collect);
      } else if (hasEnded) return;
      else await change();
    }
  }

  return {
    add: async (chunk) => {
      while (waiting.length >= window && !hasEnded) await change();
      if (hasEnded) return;
      waiting.push(chunk);
      changed();
    },
    end,
    work: async (handle) => {
      try {
        await Promise.all(Array.from({ length: window }, () => takeChunks(handle)));
      } finally {
        waiting.length = 0;
        end();
      }
    },
  };
}
