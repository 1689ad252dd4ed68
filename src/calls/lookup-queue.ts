import type { Budget } from './budget.ts';
import type { Outcome } from './outcome.ts';

/** Domains that travel together. */
export interface Chunk {
  readonly domains: readonly string[];
  /** Bounds the chunk's calls in addition to the worker's own budget. @default no such bound */
  readonly budget?: Budget | undefined;
  /** Whose it is. Lists that are under way at the same time take turns. @default the only list's */
  readonly list?: unknown;
}

/**
 * Hands outcomes back. Resolves when they are stored for good, or earlier, when there is room for
 * more and the queue itself waits for that.
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

/**
 * Why no outcome comes from a queue: no worker is there, all go to others, or Redis is of no use.
 */
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
