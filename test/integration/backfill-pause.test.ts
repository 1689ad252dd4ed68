import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { expect, it, onTestFinished } from 'vitest';
import { delayUntilResumed, readBacklog } from '../../src/queue/bullmq/backfills/backfill-pause.ts';
import { LOOKUPS_JOB, LOOKUPS_QUEUE, PREFIX, QUEUE_OPTIONS } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';

it('a chunk that is set aside when backfills were just resumed is back, and not noted any more', async () => {
  const redis = await useRedis();
  const options = { connection: { port: redis.port }, ...QUEUE_OPTIONS };
  const queue = new Queue(LOOKUPS_QUEUE, options);
  const worker = new Worker(LOOKUPS_QUEUE, null, { ...options, autorun: false });
  onTestFinished(async () => {
    await Promise.all([queue.close(), worker.close()]);
  });
  await queue.add(LOOKUPS_JOB, { v: 1, domains: ['acme.com'] });
  const token = randomUUID();
  const job = await worker.getNextJob(token);
  if (!job) throw new Error('There is no job.');
  await delayUntilResumed(redis.client, job, token);
  expect(await readBacklog(redis.client, queue)).toMatchObject({ waiting: 1, isPaused: false });
  expect(await redis.client.exists(`${PREFIX}:aside`)).toBe(0);
});
