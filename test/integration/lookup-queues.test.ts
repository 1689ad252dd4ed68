import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createRunControl } from '../../src/common/run-control.ts';
import { work } from '../../src/index.ts';
import type { OutcomesData } from '../../src/queue/bullmq/contract.ts';
import { openQueueServer, openRunQueue, takeChunks } from '../../src/queue/bullmq/index.ts';
import {
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  ledgerKey,
  PREFIX,
  runStreamKey,
} from '../../src/queue/bullmq/names.ts';
import { GatheringRedis } from '../../src/queue/bullmq/server/redis.ts';
import { createInProcessQueue } from '../../src/queue/lookup-queue.ts';
import { startRedis, type TestRedis, useRedis } from '../support/redis.ts';
import { openSwallowingProxy } from '../support/swallowing-proxy.ts';
import { openApi } from './support/api.ts';
import { idleRun } from './support/idle-run.ts';
import { describeLookupQueue } from './support/lookup-queue-contract.ts';
import { openQueue } from './support/open-queue.ts';

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
  const name = randomUUID();
  const queue = await openRunQueue(idleRun(server, name));
  const keys = await redis.client.keys(`*${name}*`);
  const left = await Promise.all(keys.map((key) => redis.client.pttl(key)));
  expect(keys).toContain(ledgerKey(name));
  expect(left.filter((leftMs) => leftMs < 0)).toEqual([]);
  await queue.close();
  await server.close();
});

/** A run that nobody stops, and nothing has been given out for. */
async function openIdle(name: string) {
  const [stop, giveUp] = [new AbortController(), new AbortController()];
  const onNotice = (): void => {};
  const server = await openQueueServer({ url: redis.url, acceptEviction: false, onNotice });
  const begun = vi.spyOn(globalThis, 'setInterval');
  const ended = vi.spyOn(globalThis, 'clearInterval');
  onTestFinished(() => void [begun, ended].map((spy) => spy.mockRestore()));
  const opening = openRunQueue({
    ...idleRun(server, name),
    collect: async () => Promise.reject(new Error('the disk is full')),
    maxCalls: 10,
    signal: stop.signal,
    giveUp: giveUp.signal,
  });
  return {
    server,
    opening,
    /** Those begun since, and going on. */
    intervals: () => {
      const over = new Set(ended.mock.calls.map(([timer]) => timer));
      return begun.mock.results.filter(({ value }) => !over.has(value)).length;
    },
    listeners: () =>
      [stop, giveUp].flatMap(({ signal }) => getEventListeners(signal, 'abort')).length,
  };
}

it('a run that cannot take up what an earlier one left keeps neither its name nor its process', async () => {
  const name = randomUUID();
  const left =
    '{"outcomes":[{"domain":"a.com","status":"failed","reason":"","attempts":1,"size":0}]}\n';
  await redis.client.xadd(runStreamKey(name), '*', 'o', left);
  const { server, opening, intervals, listeners } = await openIdle(name);
  await expect(opening).rejects.toThrow('the disk is full');
  expect(await redis.client.exists(`${PREFIX}:claim:${name}`)).toBe(0);
  expect([intervals(), listeners()]).toEqual([0, 0]);
  await server.close();
});

it('a run that is closed listens to no signal any more', async () => {
  const { server, opening, listeners } = await openIdle(randomUUID());
  const queue = await opening;
  expect(listeners()).toBeGreaterThan(0);
  await queue.close();
  expect(listeners()).toBe(0);
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
    ...idleRun(server, name),
    outstanding,
    control,
    claim: () => ({ granted: ['b.com'], refused: ['c.com'] }),
    giveUp: giveUp.signal,
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

const COMMANDS = 100;

it('what is asked in one turn of the event loop reaches Redis in one packet, in its order', async () => {
  const { client: observer, port } = await useRedis({ isOwn: true });
  const client = new GatheringRedis({ port });
  onTestFinished(() => client.disconnect());
  await client.ping();
  const before = await readsOf(observer);
  const numbers = await Promise.all(
    Array.from({ length: COMMANDS }, async () => await client.incr('count')),
  );
  expect(numbers).toEqual(Array.from({ length: COMMANDS }, (_, at) => at + 1));
  // One for the commands, one for the observer.
  expect((await readsOf(observer)) - before).toBeLessThanOrEqual(2);
});

it('what is asked before there is a connection, and after it was lost, is sent', async () => {
  const { client: observer, port } = await useRedis({ isOwn: true });
  const client = new GatheringRedis({ port, lazyConnect: true, maxRetriesPerRequest: null });
  onTestFinished(() => client.disconnect());
  expect(await client.incr('count')).toBe(1);
  await observer.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await client.incr('count')).toBe(2);
});

/** How often Redis has read from its connections. */
async function readsOf(observer: { info(section: string): Promise<string> }): Promise<number> {
  const info = await observer.info('stats');
  return Number(/total_reads_processed:(\d+)/.exec(info)?.[1]);
}
