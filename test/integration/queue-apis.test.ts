import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOwnChunks } from '../../src/queue/bullmq/chunks/take-chunks.ts';
import { openQueueServer } from '../../src/queue/bullmq/index.ts';
import { LOOKUPS_JOB, LOOKUPS_QUEUE } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { type Running, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { openQueue } from './support/open-queue.ts';
import { column, domains, listOf, rowsOf } from './support/tables.ts';

/** A queue, workers and runs on it, each with an API of its own. */
async function openStage() {
  const [redis, folder] = [await useRedis(), openFolder()];
  const command = (url: string, args: readonly string[]): Promise<Running> =>
    start(args, {
      cwd: folder.path,
      env: { BRANDFILL_BASE_URL: url, BRANDFILL_QUEUE: redis.url },
    });
  return {
    redis,
    folder,
    worker: async (url: string, ...flags: readonly string[]) => {
      const worker = await command(url, ['worker', ...flags]);
      await worker.shows('Waiting for lookups');
      return worker;
    },
    enrich: async (url: string, rows: number, ...flags: readonly string[]) => {
      folder.write(`${rows}.csv`, listOf(domains(rows)));
      return await command(url, ['enrich', `${rows}.csv`, '--progress', 'none', ...flags]);
    },
  };
}

async function stop(worker: Running): Promise<string> {
  worker.process.kill('SIGTERM');
  return (await worker.ended).stderr;
}

describe('lookups for two APIs on one queue', () => {
  it('are left to the workers that ask their API', async () => {
    const { worker, enrich } = await openStage();
    const [api, other] = [await openApi({ latencyMs: 20 }), await openApi()];
    const wrong = await worker(other.url, '--concurrency', '64');
    await worker(api.url);
    const ended = await (await enrich(api.url, 600, '--workers', '0')).ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(other.stats().calls).toBe(0);
    expect(api.stats().domains).toMatchObject({ distinct: 600, mostCalls: 1 });
    const stderr = await stop(wrong);
    expect(stderr.match(/There are lookups for another API, .* They are left/g)).toHaveLength(1);
    expect(stderr).not.toContain('was refused');
  });

  it('are refused when nobody asks their API', async () => {
    const { folder, worker, enrich } = await openStage();
    const [api, other] = [await openApi(), await openApi()];
    const wrong = await worker(other.url);
    const ended = await (await enrich(api.url, 10, '--workers', '0')).ended;
    expect(ended.code).toBe(3);
    expect(other.stats().calls).toBe(0);
    const failures = rowsOf(folder.read('10.failures.csv'));
    expect(new Set(column(failures, 'brand_reason'))).toEqual(new Set(['worker_has_other_api']));
    expect(await stop(wrong)).toContain('is meant for another API and was refused');
  });

  it('do not wait for those of an API that is slow', async () => {
    const { redis, worker, enrich } = await openStage();
    const [slow, fast] = [await openApi({ latencyMs: 3_000 }), await openApi()];
    await worker(slow.url, '--concurrency', '1');
    await enrich(slow.url, 3_000, '--workers', '0');
    const queue = openQueue(LOOKUPS_QUEUE, redis);
    while ((await queue.getPrioritizedCount()) < 50) await delay(20);
    const waiting = await enrich(fast.url, 1_000, '--workers', '0');
    await waiting.shows('No worker is there that asks this API: start one with brandfill worker');
    await worker(fast.url);
    const ended = await waiting.ended;
    expect(ended.code, ended.stderr).toBe(0);
    expect(fast.stats().domains).toMatchObject({ distinct: 1_000, mostCalls: 1 });
    expect(await queue.getPrioritizedCount()).toBeGreaterThan(50);
    expect(slow.stats().domains).toMatchObject({ mostCalls: 1 });
  });

  it('keep their priority where a worker that brought them forward gives them back', async () => {
    const { redis, worker } = await openStage();
    const api = await openApi({ latencyMs: 500 });
    const queue = openQueue(LOOKUPS_QUEUE, redis);
    const theirs = { v: 1, domains: ['acme.com'], api: 'theirs' };
    for (let each = 0; each < 20; each += 1) {
      await queue.add(LOOKUPS_JOB, theirs, { jobId: `theirs-${each}`, priority: 5 });
    }
    await queue.add(LOOKUPS_JOB, { v: 1, domains: domains(10) }, { jobId: 'own', priority: 10 });
    const working = await worker(api.url, '--concurrency', '1');
    await expect.poll(() => api.stats().calls).toBeGreaterThan(0);
    await stop(working);
    const waiting = await queue.getPrioritized();
    const left = waiting.find(({ id }) => id?.startsWith('part-'));
    expect(left?.priority).toBe(10);
    expect(left?.data.domains.length).toBeLessThan(10);
  });
});

describe('chunks of the own API', () => {
  it('are brought before others, the first of them and as many as are wanted', async () => {
    const { bringBefore, add, order } = await openChunks();
    for (let each = 0; each < 150; each += 1) await add(`theirs-${each}`, 'theirs', 5);
    for (const id of ['own-c', 'own-b', 'own-a']) await add(id, 'own', 10);
    expect(await bringBefore(5, 2)).toBe(true);
    expect((await order()).slice(0, 3)).toEqual(['own-b', 'own-c', 'theirs-0']);
    expect((await order()).at(-1)).toBe('own-a');
  });

  it('may name no API, or be no chunk at all', async () => {
    const { bringBefore, add, order } = await openChunks();
    for (const [id, api] of [['theirs', 'theirs'], ['any'], ['own', 'own']] as const) {
      await add(id, api, 1);
    }
    await add('odd', 4711, 1);
    expect(await bringBefore(1, 10)).toBe(true);
    expect(await order()).toEqual(['odd', 'own', 'any', 'theirs']);
  });

  it('are found also beside one that cannot be read', async () => {
    const { bringBefore, add, order, spoil } = await openChunks();
    for (const id of ['theirs', 'broken']) await add(id, 'theirs', 1);
    await add('own', 'own', 1);
    await spoil('broken');
    expect(await bringBefore(1, 10)).toBe(true);
    expect(await order()).toEqual(['own', 'theirs', 'broken']);
  });

  it('that go before others anyway stay where they are', async () => {
    const { bringBefore, add, order } = await openChunks();
    await add('theirs', 'theirs', 5);
    await add('own', 'own', 2);
    expect(await bringBefore(5, 10)).toBe(true);
    await add('later', 'own', 3);
    expect(await order()).toEqual(['own', 'later', 'theirs']);
  });

  it('are not there', async () => {
    const { bringBefore, add, order } = await openChunks();
    for (const id of ['a', 'b']) await add(id, 'theirs', 0);
    expect(await bringBefore(0, 10)).toBe(false);
    expect(await order()).toEqual(['a', 'b']);
  });
});

async function openChunks() {
  const redis = await useRedis();
  const server = await openQueueServer({
    url: redis.url,
    acceptEviction: true,
    onNotice: () => {},
  });
  onTestFinished(() => server.close());
  const chunks = createOwnChunks(server.client, 'own');
  onTestFinished(() => chunks.close());
  const queue = openQueue(LOOKUPS_QUEUE, redis);
  return {
    bringBefore: chunks.bringBefore,
    add: async (jobId: string, api: unknown, priority: number) =>
      await queue.add(LOOKUPS_JOB, { v: 1, domains: ['acme.com'], api }, { jobId, priority }),
    spoil: (id: string) => redis.client.hset(queue.toKey(id), 'data', '{"v":1,'),
    /** The ids of all chunks, in the order in which workers get them. */
    order: () => queue.getRanges(['wait', 'prioritized'], 0, -1, true),
  };
}
