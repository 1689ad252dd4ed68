import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { startSandbox } from '../../src/index.ts';
import { QUEUE_OPTIONS } from '../../src/queue/names.ts';
import { start } from '../integration/support/command.ts';
import { type TestRedis, useRedis } from './redis.ts';
import { useTempFolder } from './temp-folder.ts';

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
  const args = ['worker', '--queue', redis.url, '--base-url', sandbox.url];
  await start(args, { cwd: useTempFolder() });
  const queueOf = (name: string): Queue => {
    const queue = new Queue(name, { connection: { port: redis.port }, ...QUEUE_OPTIONS });
    onTestFinished(() => queue.close());
    return queue;
  };
  return { redis, name: new URL(sandbox.url).host.replace(':', '-'), queueOf };
}
