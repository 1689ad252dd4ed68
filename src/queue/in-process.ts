import type { Chunk, HandleChunk, LookupQueue, Reply } from '../calls/lookup-queue.ts';
import { createChange } from '../common/run-control.ts';

interface InProcessQueueOptions {
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** How many chunks are worked on at once. */
  readonly window: number;
  /** With more outcomes than this that are not stored yet, callers wait. @default 500 */
  readonly mostUnstored?: number;
}

const MOST_UNSTORED = 500;
/** The same for all: a promise for each outcome would cost time. */
const HANDED_OVER = Promise.resolve();

/**
 * The queue of a single process. It needs no server. A chunk is done before its outcomes are
 * stored: otherwise a few callers of a fast API would wait for each commit. `work` and `settled`
 * wait until they are.
 */
export function createInProcessQueue(options: InProcessQueueOptions): LookupQueue {
  const { collect, window, mostUnstored = MOST_UNSTORED } = options;
  let inFlight = 0;
  let unstored = 0;
  let hasEnded = false;
  let failure: { readonly error: unknown } | undefined;
  const change = createChange();
  let begin = (_: HandleChunk): void => {};
  const begun = new Promise<HandleChunk>((resolve) => {
    begin = resolve;
  });

  function end(): void {
    hasEnded = true;
    change.notify();
  }

  function fail(error: unknown): void {
    failure ??= { error };
    end();
  }

  const reply: Reply = (outcomes) => {
    unstored += outcomes.length;
    const stored = (): void => {
      const wasFull = unstored > mostUnstored;
      unstored -= outcomes.length;
      if (unstored === 0 || (wasFull && unstored <= mostUnstored)) change.notify();
    };
    collect(outcomes).then(stored, fail);
    return unstored > mostUnstored ? untilRoom() : HANDED_OVER;
  };

  async function untilRoom(): Promise<void> {
    while (unstored > mostUnstored && !failure) await change.wait();
  }

  async function settled(): Promise<void> {
    const isDone = (): boolean => hasEnded && inFlight === 0 && unstored === 0;
    while (!isDone() && !failure) await change.wait();
  }

  async function handOut(chunk: Chunk): Promise<void> {
    inFlight += 1;
    const handle = await begun;
    await handle(chunk, reply);
    inFlight -= 1;
    change.notify();
  }

  return {
    add: async (chunk) => {
      while (inFlight >= window && !hasEnded) await change.wait();
      if (!hasEnded) handOut(chunk).catch(fail);
    },
    end,
    work: async (handle) => {
      begin(handle);
      await settled();
      if (failure) throw failure.error;
    },
    settled,
    close: async () => {},
  };
}
