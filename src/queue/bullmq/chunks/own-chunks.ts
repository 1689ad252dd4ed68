import { type Job, Queue } from 'bullmq';
import { parseLookups } from '../contract.ts';
import { LOOKUPS_QUEUE, QUEUE_OPTIONS } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** The waiting chunks that are for a worker's own API. */
export interface OwnChunks {
  /**
   * Moves some of them before all chunks of a priority.
   *
   * @param priority the priority of the first chunk, which is for another API
   * @param lookups how many lookups the moved chunks should hold
   * @returns whether there was any such chunk
   */
  bringBefore(priority: number, lookups: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How many waiting chunks are searched. */
const MOST_CHUNKS = 1_024;
const READ_AT_ONCE = 64;

/**
 * BullMQ gives a worker the first chunk. If that is for another API, those behind it would wait for
 * workers that have nothing to do with them. So the worker looks for its own among the next chunks.
 *
 * @param api the API that the worker asks
 */
export function createOwnChunks(client: RedisClient, api: string): OwnChunks {
  const queue = new Queue(LOOKUPS_QUEUE, {
    connection: client,
    ...QUEUE_OPTIONS,
    skipMetasUpdate: true,
  });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  /** Waiting chunks known to be for other APIs. This way each worker reads a chunk only once. */
  let others = new Set<string>();

  async function findUnknown(): Promise<readonly string[]> {
    const ids = await queue.getRanges(['wait', 'prioritized'], 0, MOST_CHUNKS - 1, true);
    const known = others;
    others = new Set(ids.filter((id) => known.has(id)));
    return ids.filter((id) => !others.has(id));
  }

  /**
   * The chunks of the own API among these, and the invalid ones, with how many lookups they hold.
   */
  async function readOwn(ids: readonly string[]): Promise<readonly (readonly [Job, number])[]> {
    // A job that cannot be read is mended when it comes first.
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id).catch(() => undefined)));
    return jobs.flatMap((job) => {
      if (!job) return [];
      const data = parseLookups(job.data);
      if (typeof data === 'string') return [[job, 1] as const];
      if ((data.api ?? api) === api) return [[job, data.domains.length] as const];
      others.add(job.id ?? '');
      return [];
    });
  }

  return {
    bringBefore: async (priority, lookups) => {
      const unknown = await findUnknown();
      let found = 0;
      for (let at = 0; at < unknown.length && found < lookups; at += READ_AT_ONCE) {
        for (const [job, size] of await readOwn(unknown.slice(at, at + READ_AT_ONCE))) {
          if (found >= lookups) break;
          // Among jobs of equal priority, BullMQ orders by id once they were moved to the front.
          const before = Math.max(0, Math.min(job.priority, priority - 1));
          await job.changePriority({ priority: before, lifo: true });
          found += size;
        }
      }
      return found > 0;
    },
    close: () => queue.close(),
  };
}
