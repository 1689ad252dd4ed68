import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { openQueueServer, openRunQueue } from '../../src/queue/bullmq/index.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { describeLookupQueue } from './support/lookup-queue-contract.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

describeLookupQueue('the queue of a process', async ({ collect, window }) =>
  createInProcessQueue({ collect, window }),
);

describeLookupQueue('the queue over Redis', async ({ collect, window, outstanding, stop }) => {
  const server = await openQueueServer({
    url: redis.url,
    acceptEviction: false,
    onNotice: () => {},
  });
  const giveUp = new AbortController();
  stop.signal.addEventListener('abort', () => setTimeout(() => giveUp.abort(), 2_000));
  const name = randomUUID();
  const queue = await openRunQueue({
    redis: server,
    name,
    collect,
    outstanding,
    window: window * 5,
    concurrency: 10,
    api: 'an-api',
    normalize: (domain) => ({ domain }),
    signal: stop.signal,
    giveUp: giveUp.signal,
    onNotice: () => {},
  });
  return {
    ...queue,
    close: async () => {
      await queue.close();
      await server.close();
      // A run that could not keep its outcomes leaves them to the next one.
      if (outstanding.size === 0) expect(await redis.client.keys(`*${name}*`)).toEqual([]);
    },
  };
});
