import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { QUEUE_OPTIONS } from '../../../src/queue/bullmq/names.ts';
import type { TestRedis } from '../../support/redis.ts';

/** A queue as other programs see it, with BullMQ alone; it is closed when the test ends. */
export function openQueue(name: string, { port }: Pick<TestRedis, 'port'>): Queue {
  const queue = new Queue(name, { connection: { port }, ...QUEUE_OPTIONS });
  onTestFinished(() => queue.close());
  return queue;
}
