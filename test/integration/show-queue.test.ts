import { expect, it } from 'vitest';
import { describeSelf } from '../../src/common/owner.ts';
import { showQueue } from '../../src/dashboard/show-queue.ts';
import {
  announceKeeper,
  openAllQueues,
  openQueueServer,
  withScheduleQueue,
} from '../../src/queue/bullmq/index.ts';
import { resultsKey } from '../../src/queue/bullmq/schedules/schedule-queue.ts';
import { useRedis } from '../support/redis.ts';
import { FAR } from './support/schedules.ts';

it('shows a queue for days: of readings that fail, nothing is left open', async () => {
  const { url } = await useRedis();
  const redis = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  const { client } = redis;
  const { lookups, close } = openAllQueues(client);
  const keeper = { owner: describeSelf(), jobs: ['nightly'] };
  const presence = await announceKeeper(client, { name: 'jobs', folder: '/jobs' }, keeper);
  await withScheduleQueue(client, 'jobs', (queue) =>
    queue.keep('nightly', { cron: FAR, timezone: 'UTC' }),
  );
  let nowMs = 0;
  const now = (): number => (nowMs += 60_000); // schedules are read each time
  const shown = showQueue({ redis, lookups, now });
  expect((await shown.read()).schedules).toMatchObject([{ job: 'nightly' }]);
  const before = client.listenerCount('close');
  await client.set(resultsKey('jobs', 'nightly'), 'no list');
  for (let reading = 0; reading < 10; reading += 1) {
    await expect(shown.read()).rejects.toThrow('WRONGTYPE');
  }
  expect(client.listenerCount('close')).toBe(before);
  await presence.close();
  await close();
  await redis.close();
});
