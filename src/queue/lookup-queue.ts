import type { Outcome } from '../brand/outcome.ts';

/** Domains that travel together. */
export interface Chunk {
  readonly domains: readonly string[];
}

/** Hands outcomes back. Resolves when they are kept for good. */
export type Reply = (outcomes: readonly Outcome[]) => Promise<void>;

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
   * Takes chunks until the queue has ended and is empty.
   *
   * @param handle looks a chunk up; when it resolves, the chunk is done
   * @throws what `handle` throws; the queue then takes no more chunks
   */
  work(handle: (chunk: Chunk, reply: Reply) => Promise<void>): Promise<void>;
}
