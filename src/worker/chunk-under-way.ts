import type { Reply } from '../queue/lookup-queue.ts';
import type { LookupBounds } from './lookup.ts';

/** A chunk whose lookups are made one by one by free callers. */
export interface ChunkUnderWay {
  readonly reply: Reply;
  readonly bounds: LookupBounds;
  /** The next domain; undefined when all have been handed out. */
  next(): string | undefined;
  /**
   * The lookup of a domain has ended.
   *
   * @param replied settles when the outcome is stored. @default there is no outcome
   */
  ended(replied?: Promise<void>): void;
  /** The lookup threw an unexpected error. */
  failed(error: unknown): void;
  /**
   * Resolves when all lookups have ended and their outcomes are stored; rejects with the first
   * error.
   */
  readonly settled: Promise<void>;
}

export function createChunkUnderWay(
  domains: readonly string[],
  { reply, bounds }: Pick<ChunkUnderWay, 'reply' | 'bounds'>,
): ChunkUnderWay {
  let taken = 0;
  let left = domains.length;
  // Outcomes that are written together share one promise, so the set stays small.
  const replies = new Set<Promise<void>>();
  let settle = (): void => {};
  let fail = (_: unknown): void => {};
  const settled = new Promise<void>((resolve, reject) => {
    settle = () => void Promise.all(replies).then(() => resolve(), reject);
    fail = reject;
  });

  function ended(replied?: Promise<void>): void {
    if (replied && !replies.has(replied)) {
      replies.add(replied);
      replied.catch(fail);
    }
    left -= 1;
    if (left === 0) settle();
  }

  return {
    reply,
    bounds,
    next: () => {
      const domain = domains[taken];
      taken += 1;
      return domain;
    },
    ended,
    failed: (error) => {
      fail(error);
      ended();
    },
    settled,
  };
}
