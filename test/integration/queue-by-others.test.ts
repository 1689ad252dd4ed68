import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { add, work } from '../../src/index.ts';
import { delayUntilResumed, readBacklog } from '../../src/queue/bullmq/bulk-lookups.ts';
import {
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  OUTCOMES_QUEUE,
  PREFIX,
  QUEUE_OPTIONS,
} from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { domains, listOf } from './support/tables.ts';

describe('what others do to the queue with BullMQ', () => {
  it('a pause is told by worker and run, and so is its end', async () => {
    const { queue, enrich, worker } = await openStage();
    await queue.pause();
    const working = await worker();
    const running = await enrich();
    for (const each of [working, running]) await each.shows('was paused through BullMQ');
    await queue.resume();
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    await working.shows('The queue of lookups is no longer paused.');
    expect(stderr.split('was paused through BullMQ')).toHaveLength(2);
  });

  it('a pause of the outcomes is told by the collector, and so is its end', async () => {
    const { queueOf, collect } = await openStage();
    const outcomes = queueOf(OUTCOMES_QUEUE);
    await outcomes.pause();
    const collecting = await collect();
    await collecting.shows('The queue of outcomes was paused through BullMQ');
    await outcomes.resume();
    await collecting.shows('The queue of outcomes is no longer paused.');
  });

  it('a rate limit leaves a worker able to end', async () => {
    const { queue, enrich, worker } = await openStage();
    await queue.setGlobalRateLimit(1, 3_600_000);
    const working = await worker();
    await working.shows('Waiting for lookups');
    const running = await enrich('--chunk', '1');
    while ((await queue.getRateLimitTtl(1)) < 1) await delay(20);
    await delay(500); // in which it asks for the next chunk
    working.process.kill('SIGTERM');
    expect((await working.ended).code).toBe(0);
    running.process.kill('SIGTERM');
    expect((await running.ended).code).toBe(130);
  });
});

async function openStage() {
  const [api, redis, folder] = [await openApi(), await useRedis(), openFolder()];
  folder.write('list.csv', listOf(domains(5)));
  const queueOf = (name: string): Queue => {
    const queue = new Queue(name, { connection: { port: redis.port }, ...QUEUE_OPTIONS });
    onTestFinished(() => queue.close());
    return queue;
  };
  const env = { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url };
  return {
    queue: queueOf(LOOKUPS_QUEUE),
    queueOf,
    enrich: (...flags: readonly string[]) =>
      start(['enrich', 'list.csv', '--progress', 'none', '--workers', '0', ...flags], {
        cwd: folder.path,
        env,
      }),
    collect: () => start(['collect'], { cwd: folder.path, env }),
    worker: () => start(['worker'], { cwd: folder.path, env }),
  };
}

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

it('a worker says in words that it has lost a chunk when it was about to finish it', async () => {
  const redis = await useRedis();
  const stop = new AbortController();
  const notices: string[] = [];
  // As if the worker had been cut off at that moment for longer than its claim counts.
  async function loseClaims(): Promise<void> {
    const locks = await redis.client.keys(`${PREFIX}:${LOOKUPS_QUEUE}:*:lock`);
    await redis.client.del(...locks);
  }
  const server = await openServer((_, response) => {
    void loseClaims().then(() => response.end('{"name":"Acme"}'));
  });
  await add({ input: [{ domain: 'acme.com' }], queue: redis.url });
  await work({
    queue: redis.url,
    baseUrl: server.url,
    signal: stop.signal,
    onNotice: (message) => {
      notices.push(message);
      if (message.startsWith('Chunk ')) stop.abort();
    },
  });
  expect(notices).toContainEqual(
    expect.stringMatching(
      /^Chunk add-[\w-]+ was left to others: this worker was cut off for too long\.$/,
    ),
  );
});
