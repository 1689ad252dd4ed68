import { expect, it } from 'vitest';
import { work } from '../../src/index.ts';
import type { OutcomesData } from '../../src/queue/bullmq/contract.ts';
import { LOOKUPS_JOB, LOOKUPS_QUEUE } from '../../src/queue/bullmq/names.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { openQueue } from './support/open-queue.ts';

/** Sorted, so that parts which a second worker sends again are the same and replace each other. */
it('long answers come back in parts of some 4 MB, in the order of their domains', async () => {
  const redis = await useRedis();
  const api = await openApi({
    respond: (domain) => ({ body: { name: domain, about: 'x'.repeat(3_000_000) } }),
  });
  const names = ['d.com', 'b.com', 'e.com', 'a.com', 'c.com'];
  await openQueue(LOOKUPS_QUEUE, redis).add(LOOKUPS_JOB, { v: 1, domains: names, replyTo: 'mine' });
  const stop = new AbortController();
  const working = work({ queue: redis.url, baseUrl: api.url, signal: stop.signal });
  const replies = openQueue('mine', redis);
  await expect.poll(() => replies.getWaitingCount()).toBe(3);
  stop.abort();
  await working;
  const jobs = await replies.getWaiting();
  const parts = jobs
    .sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1))
    .map(({ data }) => (data as OutcomesData).outcomes.map(({ domain }) => domain));
  expect(parts).toEqual([['a.com', 'b.com'], ['c.com', 'd.com'], ['e.com']]);
});
