import { Queue } from 'bullmq';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE, QUEUE_OPTIONS } from './names.ts';
import { findGroups } from './schedules/schedule-keepers.ts';
import { scheduleQueueName } from './schedules/schedule-queue.ts';
import type { RedisClient } from './server/redis.ts';

/** All queues on a Redis, for reading them. */
export interface AllQueues {
  /** Returns the queues of lookups, of outcomes and of each group of schedules. */
  find(): Promise<readonly Queue[]>;
  readonly lookups: Queue;
  close(): Promise<void>;
}

/** Opens each queue once, and keeps it open. */
export function openAllQueues(client: RedisClient): AllQueues {
  const open = new Map<string, Queue>();

  function openQueue(name: string): Queue {
    const known = open.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: client, ...QUEUE_OPTIONS });
    queue.on('error', () => {}); // errors of the connection are reported elsewhere
    open.set(name, queue);
    return queue;
  }

  return {
    lookups: openQueue(LOOKUPS_QUEUE),
    find: async () => {
      const groups = await findGroups(client);
      return [LOOKUPS_QUEUE, OUTCOMES_QUEUE, ...groups.map(scheduleQueueName)].map(openQueue);
    },
    close: async () => {
      await Promise.all([...open.values()].map((queue) => queue.close()));
    },
  };
}
