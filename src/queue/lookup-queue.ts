import type { Outcome } from '../brand/outcome.ts';
import type { CallCounters } from '../common/calls.ts';
import { createChange } from '../common/run-control.ts';
import type { Budget } from '../guard/budget.ts';

/** Domains that travel together. */
export interface Chunk {
  readonly domains: readonly string[];
  /** Bounds the chunk's calls in addition to the worker's own budget. @default no such bound */
  readonly budget?: Budget | undefined;
  /** Counts the chunk's calls as they are made. @default nothing */
  readonly counters?: CallCounters | undefined;
  /** Tells chunks with the same domains apart, which are given out again. @default 0 */
  readonly round?: number | undefined;
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

/** Something that can be paused, such as a run. */
export interface Pausable {
  readonly isPaused: boolean;
  /** Calls `listener` on each change. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Whether a worker can make calls, when there are others that might. */
export interface WorkerStanding {
  /** How many chunks it should take at present: one is to find out whether its calls go through. */
  readonly appetite: () => 'any' | 'one_chunk' | 'none';
  /** Why it makes no calls although others do, in a sentence; undefined when it makes some. */
  readonly describeStepBack: () => string | undefined;
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
   * @param standing whether it should take chunks at all. @default it always should
   * @throws what `handle` throws; the queue then takes no more chunks
   */
  work(handle: HandleChunk, standing?: WorkerStanding): Promise<void>;
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
  /** How many chunks are worked on at once, and how many more may wait. */
  readonly window: number;
  /** With more outcomes than this that are not stored yet, callers wait. @default 500 */
  readonly mostUnstored?: number;
}

const MOST_UNSTORED = 500;

interface InProcessQueue extends LookupQueue {
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

/** Outcomes that were handed to the collector, until they are stored. */
interface UnstoredOutcomes {
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
function createUnstored(collect: Reply, most: number): UnstoredOutcomes {
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
