import { createChange } from './change.ts';
import type { Chunk, HandleChunk, LookupQueue, Reply } from './lookup-queue.ts';

export interface InProcessQueueOptions {
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** How many chunks are worked on at once, and how many more may wait. */
  readonly window: number;
}

/** The queue of a single process. It needs no server. */
export function createInProcessQueue({ collect, window }: InProcessQueueOptions): LookupQueue {
  const waiting: Chunk[] = [];
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
        await handle(chunk, collect);
      } else if (hasEnded) return;
      else await change.wait();
    }
  }

  return {
    add: async (chunk) => {
      while (waiting.length >= window && !hasEnded) await change.wait();
      if (hasEnded) return;
      waiting.push(chunk);
      change.notify();
    },
    end,
    work: async (handle) => {
      try {
        await Promise.all(Array.from({ length: window }, () => takeChunks(handle)));
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
