/** The history of a chunk, by which it is judged. */
export interface ChunkRecord {
  /** How many domains are left to look up. */
  readonly domains: number;
  /** Whether it was cut from a chunk that had lost too many workers. */
  readonly isSuspect: boolean;
  /** Workers that were lost while they had it. */
  readonly lostWorkers: number;
  /** How often it was looked up with no other chunk beside it. */
  readonly isolatedAttempts: number;
}

/**
 * - `look_up`: together with other chunks.
 * - `look_up_alone`: with no other beside it, so that a worker that is lost says something about it.
 * - `cut`: goes back in halves.
 * - `give_up`: the one domain of it crashes workers.
 */
export type ChunkVerdict = 'look_up' | 'look_up_alone' | 'cut' | 'give_up';

const MOST_LOST_WORKERS = 3;

/** Decides what to do with a chunk that a worker has taken. */
export function judgeChunk(record: ChunkRecord): ChunkVerdict {
  const { domains, isSuspect, lostWorkers, isolatedAttempts } = record;
  const isBad = lostWorkers >= MOST_LOST_WORKERS;
  if (domains > 1) {
    if (isSuspect ? isolatedAttempts > 0 : isBad) return 'cut';
    return isSuspect ? 'look_up_alone' : 'look_up';
  }
  if (domains === 0 || (!isSuspect && !isBad)) return 'look_up';
  return isolatedAttempts >= MOST_LOST_WORKERS ? 'give_up' : 'look_up_alone';
}
