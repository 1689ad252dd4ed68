import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE, QUEUE_OPTIONS } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
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
