import type { Outcome } from '../brand/outcome.ts';
import type { CallCounters } from '../common/call-counters.ts';

/** Domains that travel together. */
export interface Chunk {
  readonly domains: readonly string[];
  /** What bounds their calls beside the worker's own budget. @default nothing */
  readonly allowance?: CallAllowance | undefined;
  /** Where its calls are counted, as they are made. @default nowhere */
  readonly counters?: CallCounters | undefined;
}

/** Calls that may be made for all chunks of a run together, whoever makes them. */
export interface CallAllowance {
  /** Takes one; false when there is none left. Never rejects. */
  take(): Promise<boolean>;
  /** One that was taken was not needed, or was answered 429. */
  giveBack(): void;
}

/** Hands outcomes back. Resolves when they are kept for good. */
export type Reply = (outcomes: readonly Outcome[]) => Promise<void>;

/**
 * Looks a chunk up; when it resolves, the chunk is done.
 *
 * @param isWanted asked at the last moment: false spares the lookup. @default always true
 */
export type HandleChunk = (
  chunk: Chunk,
  reply: Reply,
  isWanted?: (domain: string) => boolean,
) => Promise<void>;

/** Something that can be paused, such as a run. */
export interface Pausable {
  readonly isPaused: boolean;
  /** Tells of each change; returns what ends that. */
  onChange(listener: () => void): () => void;
}

/**
 * Carries chunks to workers and their outcomes back. Everything may be carried more than once; an
 * outcome that is written twice changes nothing.
 */
export interface LookupQueue {
  /** Puts a chunk on the queue; waits while the window of outstanding chunks is full. */
  add(chunk: Chunk): Promise<void>;
  /** Says that no chunk will be added any more. */
  end(): void;
  /**
   * Takes chunks in this process, until all that were added are done.
   *
   * @throws what `handle` throws; the queue then takes no more chunks
   */
  work(handle: HandleChunk): Promise<void>;
  /**
   * Resolves after `end`, when the outcomes of all chunks are kept, whoever took them; after a stop,
   * when no more will come.
   */
  settled(): Promise<void>;
  close(): Promise<void>;
}
