import { Queue } from 'bullmq';
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

const PAGE = 64;
const MOST_READ = 1_024;

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

  return {
    bringBefore: async (priority, lookups) => {
      let found = 0;
      for (let at = 0; at < MOST_READ && found < lookups; at += PAGE) {
        const waiting = await queue.getJobs(['wait', 'prioritized'], at, at + PAGE - 1, true);
        if (waiting.length === 0) break;
        for (const job of waiting) {
          const data = parseLookups(job.data);
          const isOwn = typeof data === 'string' || data.api === undefined || data.api === api;
          if (!isOwn || found >= lookups) continue;
          // Among equals BullMQ goes by their ids once they were put in front.
          const before = Math.max(0, Math.min(job.priority, priority - 1));
          await job.changePriority({ priority: before, lifo: true });
          found += typeof data === 'string' ? 1 : data.domains.length;
        }
      }
      return found > 0;
    },
    close: () => queue.close(),
  };
}
