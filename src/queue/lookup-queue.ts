import type { Outcome } from '../brand/outcome.ts';
import { createChange } from '../common/run-control.ts';
import type { Budget } from '../worker/budget.ts';

/** Domains that travel together. */
export interface Chunk {
  readonly domains: readonly string[];
  /** Bounds the chunk's calls in addition to the worker's own budget. @default no such bound */
  readonly budget?: Budget | undefined;
  /** Whose it is. Lists that are under way at the same time take turns. @default the only list's */
  readonly list?: unknown;
}

/**
 * Hands outcomes back. Resolves when they are stored for good, or earlier, when there is room for more and
 * the queue itself waits for that.
 */
export type Reply = (outcomes: readonly Outcome[]) => Promise<void>;

/**
 * Looks a chunk up. The chunk is done when it resolves.
 *
 * @param isWanted asked just before each lookup. False spares it. @default always true
 */
export type HandleChunk = (
  chunk: Chunk,
  reply: Reply,
  isWanted?: (domain: string) => boolean,
) => Promise<void>;

/** Why no outcome comes from a queue: no worker is there, all go to others, or Redis is of no use. */
export interface Stall {
  readonly why: 'no_worker' | 'queue' | 'redis';
  /** In a sentence without a full stop. */
  readonly text: string;
}

/** Something that can be paused, such as a run. */
export interface Pausable {
  readonly isPaused: boolean;
  /** Calls `listener` on each change. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/**
 * Carries chunks to workers and their outcomes back. Anything may be carried more than once,
 * because storing an outcome twice changes nothing.
 */
export interface LookupQueue {
  /** Puts a chunk on the queue. Waits while the window of outstanding chunks is full. */
  add(chunk: Chunk): Promise<void>;
  /** Says that no chunk will be added any more. */
  end(): void;
  /**
   * Takes chunks in this process until all that were added are done.
   *
   * @throws what `handle` throws; the queue then takes no more chunks
   */
  work(handle: HandleChunk): Promise<void>;
  /**
   * Resolves after `end`, when the outcomes of all chunks are stored, from whichever worker; after
   * a stop, when no more outcomes will come.
   */
  settled(): Promise<void>;
  close(): Promise<void>;
}

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
  let underWay = 0;
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
    const isDone = (): boolean => hasEnded && underWay === 0 && unstored === 0;
    while (!isDone() && !failure) await change.wait();
  }

  async function handOut(chunk: Chunk): Promise<void> {
    underWay += 1;
    const handle = await begun;
    await handle(chunk, reply);
    underWay -= 1;
    change.notify();
  }

  return {
    add: async (chunk) => {
      while (underWay >= window && !hasEnded) await change.wait();
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
