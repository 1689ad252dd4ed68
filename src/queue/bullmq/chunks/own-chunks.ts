import { type Job, Queue } from 'bullmq';
import { parseLookups } from '../contract.ts';
import { LOOKUPS_QUEUE, QUEUE_OPTIONS } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** Chunks of a worker's own API, of those that wait. */
export interface OwnChunks {
  /**
   * Puts some of them before all chunks of a priority.
   *
   * @param priority of a chunk that is first, and means another API
   * @param lookups that there should be in them
   * @returns whether there was any
   */
  bringBefore(priority: number, lookups: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How far it is looked. */
const MOST_CHUNKS = 1_024;
const READ_AT_ONCE = 64;

/**
 * BullMQ gives a worker the first chunk there is. If that means another API, those behind it would wait
 * for workers that have nothing to do with them, so the worker looks for its own among the next.
 *
 * @param api that the worker asks
 */
export function createOwnChunks(client: RedisClient, api: string): OwnChunks {
  const queue = new Queue(LOOKUPS_QUEUE, {
    connection: client,
    ...QUEUE_OPTIONS,
    skipMetasUpdate: true,
  });
  queue.on('error', () => {}); // told by what watches the connection
  /** Of those that wait, the ones that mean another API: each worker reads a chunk only once. */
  let others = new Set<string>();

  async function findUnknown(): Promise<readonly string[]> {
    const ids = await queue.getRanges(['wait', 'prioritized'], 0, MOST_CHUNKS - 1, true);
    const known = others;
    others = new Set(ids.filter((id) => known.has(id)));
    return ids.filter((id) => !others.has(id));
  }

  /** Of these chunks, those of the own API, and what can only be refused, with how much is in them. */
  async function readOwn(ids: readonly string[]): Promise<readonly (readonly [Job, number])[]> {
    // One that cannot be read is mended when it is first.
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
          // Among equals BullMQ goes by their ids once they were put in front.
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
