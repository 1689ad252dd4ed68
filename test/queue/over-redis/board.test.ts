import { expect, it } from 'vitest';
import {
  createQueueReader,
  findServing,
  readShownWorkers,
  takeFailedAgain,
} from '../../../src/queue/board.ts';
import { LOOKUPS_JOB, WORKERS_KEY } from '../../../src/queue/names.ts';
import { openStage, QUEUE, type Stage } from './stage.ts';

const MINUTE_MS = 60_000;

/** Workers that announced themselves so many minutes ago; of some it is known why they stopped. */
async function announced(
  { redis }: Stage,
  workers: Readonly<Record<string, readonly [agoMinutes: number, stopped?: string]>>,
): Promise<void> {
  const [seconds = 0] = await redis.client.time();
  for (const [id, [ago, stopped]] of Object.entries(workers)) {
    const seenMs = seconds * 1_000 - ago * MINUTE_MS;
    const notice = { host: 'h', pid: 1, api: '', queue: QUEUE, concurrency: 1, calls: 0, stopped };
    await redis.client.hset(WORKERS_KEY, id, JSON.stringify({ ...notice, seenMs }));
  }
}

it('workers that are gone are shown as lost for ten minutes, and the last of a queue for a day', async () => {
  const stage = await openStage();
  await announced(stage, {
    there: [0],
    lost: [1],
    'long lost': [11],
    stopped: [2, 'The quota is used up.'],
    'stopped at night': [600, 'The credential is refused (401).'],
  });
  const shown = await readShownWorkers(stage.redis.client);
  expect(shown.map(({ id, state }) => [id, state])).toEqual([
    ['there', 'there'],
    ['lost', 'lost'],
    ['stopped', 'stopped'],
  ]);
  // When all are gone but the one of the night
  await stage.redis.client.hdel(WORKERS_KEY, 'there', 'lost', 'stopped');
  const [last] = await readShownWorkers(stage.redis.client);
  expect(last).toMatchObject({ id: 'stopped at night', stopped: /401/ });
  const { workers, lastStop } = await findServing(stage.redis.client, QUEUE);
  expect([workers, lastStop?.id]).toEqual([0, 'stopped at night']);
});

it('failed jobs are shown with their reasons, and taken again in their turns', async () => {
  const stage = await openStage();
  const { queue, redis } = stage;
  const worker = stage.worker();
  await queue.add(LOOKUPS_JOB, { domains: 5 }, { priority: 7 });
  const read = async () => (await createQueueReader(redis)())?.queues[0];
  await expect.poll(async () => (await read())?.jobs['failed']).toBe(1);
  expect((await read())?.failures).toMatchObject([{ job: '1', reason: /domains/ }]);
  await worker.stop();
  await takeFailedAgain(redis, QUEUE);
  expect(await read()).toMatchObject({ jobs: { failed: 0, prioritized: 1 }, failures: [] });
});
