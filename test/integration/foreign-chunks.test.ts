import { setTimeout as delay } from 'node:timers/promises';
import { FlowProducer } from 'bullmq';
import { expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/index.ts';
import {
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  OUTCOMES_QUEUE,
  QUEUE_OPTIONS,
} from '../../src/queue/bullmq/names.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { useWorkedQueue } from '../support/worked-queue.ts';

it('a chunk whose id has colons, as the Python client takes it, is answered once', async () => {
  const { put, replies, queueOf } = await openQueue();
  await put('crm:4711', JSON.stringify({ v: 1, domains: ['acme.com'] }));
  const [answered] = await replies(1);
  expect(answered).toMatchObject({ chunk: 'crm:4711', outcomes: [{ domain: 'acme.com' }] });
  while ((await queueOf(LOOKUPS_QUEUE).getJobCountByTypes()) > 0) await delay(20);
});

it('a chunk that is no JSON is refused, not taken again and again', async () => {
  const { put, replies, queueOf } = await openQueue();
  await put('odd', '{"v":1,');
  const [refused] = await replies(1);
  expect(refused).toMatchObject({
    chunk: 'odd',
    outcomes: [],
    error: expect.stringContaining('breaks the contract'),
  });
  while ((await queueOf(LOOKUPS_QUEUE).getFailedCount()) < 1) await delay(20);
});

it.each([
  { opts: '{nope' },
  { opts: 'null' },
  { opts: '{}', parent: '{nope', progress: '{nope', stacktrace: '{nope' },
])('a chunk written by hand with what is no JSON beside its data is answered: %o', async (odd) => {
  const { put, replies, queueOf } = await openQueue();
  await put('odd', JSON.stringify({ v: 1, domains: ['acme.com'] }), LOOKUPS_QUEUE, odd);
  const [answered] = await replies(1);
  expect(answered).toMatchObject({ chunk: 'odd', outcomes: [{ domain: 'acme.com' }] });
  while ((await queueOf(LOOKUPS_QUEUE).getJobCountByTypes()) > 0) await delay(20);
});

it.each([3_000, 20_000])('a chunk with a ref nested %i deep is refused', async (depth) => {
  const { put, replies, queueOf } = await openQueue();
  const ref = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  await put('deep', `{"v":1,"domains":["acme.com"],"replyTo":"crm","ref":${ref}}`);
  const [refused] = await replies(1, 'crm');
  expect(refused).toEqual({
    v: 1,
    chunk: 'deep',
    outcomes: [],
    error: "the job breaks the contract: 'ref': nested too deep",
  });
  while ((await queueOf(LOOKUPS_QUEUE).getFailedCount()) < 1) await delay(20);
});

it('a chunk whose child in a flow has failed is refused once, without a call', async () => {
  const { flow, replies, queueOf } = await openQueue();
  const child = {
    queueName: LOOKUPS_QUEUE,
    name: LOOKUPS_JOB,
    opts: { failParentOnFailure: true },
  };
  await flow.add({
    queueName: LOOKUPS_QUEUE,
    name: LOOKUPS_JOB,
    data: { v: 1, domains: ['acme.com'], replyTo: 'crm', ref: 'parent' },
    children: [{ ...child, data: { v: 1, domains: [] } }],
  });
  const [refused] = await replies(1, 'crm');
  const error = expect.stringContaining('failed');
  expect(refused).toMatchObject({ ref: 'parent', outcomes: [], error });
  while ((await queueOf(LOOKUPS_QUEUE).getFailedCount()) < 2) await delay(20);
});

it('a reply that is no JSON is left as failed by the collector, which tells of it', async () => {
  const { put, queueOf, url } = await openQueue();
  await put('odd', '{"v":1,', OUTCOMES_QUEUE);
  const stop = new AbortController();
  const notices: string[] = [];
  await collect({
    queue: url,
    outDir: useTempFolder(),
    signal: stop.signal,
    onNotice: (message) => {
      notices.push(message);
      if (message.startsWith('Job ')) stop.abort();
    },
  });
  expect(notices).toContain(
    'Job odd on the queue outcomes holds no outcomes and was left there as failed.',
  );
  expect(await queueOf(OUTCOMES_QUEUE).getFailedCount()).toBe(1);
});

it.each([{ opts: '{nope' }, { opts: 'null' }, { opts: '{}', progress: '{nope' }])(
  'a reply written by hand with what is no JSON beside its data is kept by the collector: %o',
  async (odd) => {
    const { put, url, queueOf } = await openQueue();
    const outcome = { domain: 'acme.com', status: 'not_found', reason: '', attempts: 1 };
    const outcomes = [{ ...outcome, fetchedAtMs: Date.now(), json: '' }];
    await put('odd', JSON.stringify({ v: 1, chunk: 'a', outcomes }), OUTCOMES_QUEUE, odd);
    const stop = new AbortController();
    const notices: string[] = [];
    const collected = collect({
      queue: url,
      outDir: useTempFolder(),
      signal: stop.signal,
      onNotice: (message) => notices.push(message),
    });
    while ((await queueOf(OUTCOMES_QUEUE).getJobCountByTypes()) > 0) await delay(20);
    stop.abort();
    expect(await collected).toMatchObject({ failures: 1 });
    expect(notices).toContain('Job odd has options that cannot be read; it is taken without them.');
  },
);

/** A Redis with a worker on it, and a client that heeds no rule of BullMQ for Node.js. */
async function openQueue() {
  const { redis, queueOf } = await useWorkedQueue();
  const flow = new FlowProducer({ connection: { port: redis.port }, ...QUEUE_OPTIONS });
  onTestFinished(() => flow.close());
  return {
    flow,
    url: redis.url,
    queueOf,
    put: async (
      id: string,
      data: string,
      name = LOOKUPS_QUEUE,
      more: object = {},
    ): Promise<void> => {
      const queue = queueOf(name);
      const job = { name: LOOKUPS_JOB, data, opts: '{}', timestamp: Date.now(), ...more };
      await redis.client.hset(queue.toKey(id), job);
      await redis.client.lpush(queue.toKey('wait'), id);
      await redis.client.zadd(queue.toKey('marker'), 0, '0');
    },
    replies: async (count: number, replyTo = OUTCOMES_QUEUE): Promise<readonly object[]> => {
      const outcomes = queueOf(replyTo);
      while ((await outcomes.getWaitingCount()) < count) await delay(20);
      return (await outcomes.getWaiting()).map(({ data }) => data as object);
    },
  };
}
