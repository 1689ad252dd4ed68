import type { Outcome } from '../brand/outcome.ts';
import type { CallCounters } from '../common/calls.ts';
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
