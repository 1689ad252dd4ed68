import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRunControl } from '../../src/common/run-control.ts';
import { openQueueServer, openRunQueue, takeChunks } from '../../src/queue/bullmq/index.ts';
import { ledgerKey } from '../../src/queue/bullmq/names.ts';
import { createInProcessQueue } from '../../src/queue/in-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { openSwallowingProxy } from '../support/swallowing-proxy.ts';
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

it('a run leaves nothing in Redis when the last thing it said was lost on the way', async () => {
  const proxy = await openSwallowingProxy(redis.port);
  const common = { acceptEviction: false, onNotice: (): void => {} };
  const server = await openQueueServer({ ...common, url: redis.url });
  const lossy = await openQueueServer({ ...common, url: `redis://127.0.0.1:${proxy.port}` });
  const outstanding = new Set(['a.com']);
  const shared = {
    concurrency: 1,
    api: 'an-api',
    normalize: (domain: string) => ({ domain }),
    onNotice: (): void => {},
  };
  const taker = takeChunks({
    ...shared,
    redis: server,
    handle: async ({ domains }, reply) => {
      const asked = { reason: 'http_404', httpStatus: 404, attempts: 1, fetchedAtMs: 1, json: '' };
      await reply(domains.map((domain) => ({ domain, status: 'not_found' as const, ...asked })));
    },
  });
  const name = randomUUID();
  const queue = await openRunQueue({
    ...shared,
    redis: { ...server, connect: lossy.connect }, // replies are taken, and acknowledged, over it
    name,
    outstanding,
    collect: async (outcomes) => {
      proxy.isSwallowing = true;
      for (const { domain } of outcomes) outstanding.delete(domain);
    },
    window: 10,
    signal: new AbortController().signal,
    giveUp: new AbortController().signal,
  });
  await queue.add({ domains: ['a.com'] });
  queue.end();
  await queue.settled();
  await queue.close();
  expect(await redis.client.keys(`*${name}*`)).toEqual([]);
  await taker.stop();
  await Promise.all([server.close(), lossy.close()]);
});

it('all that a run leaves goes by itself, however soon after its start it is killed', async () => {
  const onNotice = (): void => {};
  const server = await openQueueServer({ url: redis.url, acceptEviction: false, onNotice });
  const [name, never] = [randomUUID(), new AbortController().signal];
  const queue = await openRunQueue({
    redis: server,
    name,
    outstanding: new Set(),
    concurrency: 1,
    api: 'an-api',
    normalize: (domain) => ({ domain }),
    collect: async () => {},
    window: 10,
    signal: never,
    giveUp: never,
    onNotice,
  });
  const keys = await redis.client.keys(`*${name}*`);
  const left = await Promise.all(keys.map((key) => redis.client.pttl(key)));
  expect(keys).toContainEqual(expect.stringMatching(/:meta$/));
  expect(left.filter((leftMs) => leftMs < 0)).toEqual([]);
  await queue.close();
  await server.close();
});

it('a run that was paused leaves out what another one has asked meanwhile', async () => {
  const onNotice = (): void => {};
  const server = await openQueueServer({ url: redis.url, acceptEviction: false, onNotice });
  const [outstanding, control, giveUp] = [
    new Set(['a.com', 'b.com', 'c.com']),
    createRunControl(),
    new AbortController(),
  ];
  const name = randomUUID();
  const queue = await openRunQueue({
    redis: server,
    name,
    outstanding,
    control,
    concurrency: 1,
    api: 'an-api',
    normalize: (domain) => ({ domain }),
    collect: async () => {},
    claim: () => ({ granted: ['b.com'], refused: ['c.com'] }),
    window: 10,
    signal: new AbortController().signal,
    giveUp: giveUp.signal,
    onNotice,
  });
  const chunks = async () =>
    (await redis.client.hvals(ledgerKey(name))).filter((value) => value.startsWith('['));
  await queue.add({ domains: [...outstanding] });
  expect(await chunks()).toEqual(['["a.com","b.com","c.com"]']);
  control.pause();
  await expect.poll(chunks).toEqual([]);
  control.resume();
  await expect.poll(chunks).toEqual(['["b.com"]']);
  expect([...outstanding]).toEqual(['b.com', 'c.com']);
  giveUp.abort();
  await queue.close();
  await server.close();
});
