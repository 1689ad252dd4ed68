import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { startSandbox, work } from '../../src/index.ts';
import { QUEUE_OPTIONS } from '../../src/queue/names.ts';
import { type TestRedis, useRedis } from './redis.ts';

/** A Redis with a worker on it, and its queues by name, as any service opens them. */
export interface WorkedQueue {
  readonly redis: TestRedis;
  /** The name of the queue of the worker's API. */
  readonly name: string;
  readonly queueOf: (name: string) => Queue;
}

/** Starts all of it, until the test ends. */
export async function useWorkedQueue(): Promise<WorkedQueue> {
  const redis = await useRedis();
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const stop = new AbortController();
  const working = work({ queue: redis.url, baseUrl: sandbox.url, signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await working;
  });
  const queueOf = (name: string): Queue => {
    const queue = new Queue(name, { connection: { port: redis.port }, ...QUEUE_OPTIONS });
    onTestFinished(() => queue.close());
    return queue;
  };
  return { redis, name: new URL(sandbox.url).host.replace(':', '-'), queueOf };
}
