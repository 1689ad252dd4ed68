import { expect, it } from 'vitest';
import { createQueueMetrics } from '../../src/metrics/create-instruments.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import type { ReadQueues } from '../../src/queue/bullmq/queues.ts';

it('the last reader of the queues that has not ended tells, also when another one ends twice', async () => {
  const metrics = createMetrics({ command: 'schedule', version: '1.2.3' });
  const look = createQueueMetrics(metrics);
  const readerOf =
    (workers: number): ReadQueues =>
    async () => ({ queues: [], workers });
  const workersTold = async (): Promise<string | undefined> =>
    /^brandfill_queue_workers (\d+)$/m.exec(await metrics.text())?.[1];
  const endFirst = look(readerOf(1));
  const endSecond = look(readerOf(2));
  expect(await workersTold()).toBe('2');
  endSecond();
  endSecond();
  expect(await workersTold()).toBe('1');
  endFirst();
  expect(await workersTold()).toBeUndefined();
});
