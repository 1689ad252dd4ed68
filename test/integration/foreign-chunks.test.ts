import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** What may stand beside the data of a job that somebody has written by hand. */
const NO_JSON: Readonly<Record<string, object>> = {
  cut: { opts: '{nope' },
  null: { opts: 'null' },
  others: { opts: '{}', parent: '{nope', progress: '{nope', stacktrace: '{nope' },
};

it('chunks written by hand with what is no JSON beside their data are answered', async () => {
  const { put, replies, queueOf } = await openQueue();
  for (const [id, odd] of Object.entries(NO_JSON)) {
    await put(id, JSON.stringify({ v: 1, domains: [`${id}.com`] }), LOOKUPS_QUEUE, odd);
  }
  const answered = await replies(3);
  expect(answered.toSorted(byChunk)).toMatchObject(
    ['cut', 'null', 'others'].map((id) => ({ chunk: id, outcomes: [{ domain: `${id}.com` }] })),
  );
  while ((await queueOf(LOOKUPS_QUEUE).getJobCountByTypes()) > 0) await delay(20);
});

it('a chunk that names the queue of a run, and is of none, is refused', async () => {
  const { put, replies, queueOf } = await openQueue();
  await put('4711', JSON.stringify({ v: 1, domains: ['acme.com'], replyTo: 'run-crm', ref: 7 }));
  const [refused] = await replies(1);
  expect(refused).toEqual({
    v: 1,
    chunk: '4711',
    ref: 7,
    outcomes: [],
    error: expect.stringContaining("'replyTo': names that begin with run- belong to runs"),
  });
  while ((await queueOf(LOOKUPS_QUEUE).getFailedCount()) < 1) await delay(20);
});

it.each(['crm-4711', 'part-4711'])('chunk %s of a run that is over is dropped', async (id) => {
  const { put, replies, queueOf } = await openQueue();
  await put(id, JSON.stringify({ v: 1, domains: ['acme.com'], replyTo: 'run-crm' }));
  await put('next', JSON.stringify({ v: 1, domains: ['bolt.com'] }));
  while ((await queueOf(LOOKUPS_QUEUE).getJobCountByTypes()) > 0) await delay(20);
  expect(await replies(1)).toMatchObject([{ chunk: 'next' }]);
});

it('a ref comes back as it is, also with members named __proto__, and in the files', async () => {
  const { put, replies, queueOf, url } = await openQueue();
  const ref = '{"__proto__":{"account":1},"of":[{"__proto__":null,"constructor":"x"}]}';
  await put('answered', `{"v":1,"domains":["acme.com"],"replyTo":"crm","ref":${ref}}`);
  await put('refused', `{"v":1,"domains":[],"replyTo":"crm","ref":${ref}}`);
  await put('kept', `{"v":1,"domains":["bolt.com"],"ref":${ref}}`);
  const returned = (await replies(2, 'crm')).map((reply) => JSON.stringify(reply));
  expect(returned).toEqual([expect.stringContaining(ref), expect.stringContaining(ref)]);
  await replies(1);
  const [stop, outDir] = [new AbortController(), useTempFolder()];
  const collected = collect({ queue: url, outDir, signal: stop.signal });
  while ((await queueOf(OUTCOMES_QUEUE).getJobCountByTypes()) > 0) await delay(20);
  stop.abort();
  await collected;
  const file = readdirSync(outDir).find((name) => name.startsWith('enriched')) ?? '';
  expect(readFileSync(join(outDir, file), 'utf8')).toContain(`"ref":${ref}`);
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

it('replies written by hand with what is no JSON beside their data are kept by the collector', async () => {
  const { put, url, queueOf } = await openQueue();
  const outcome = { domain: 'acme.com', status: 'not_found', reason: '', attempts: 1 };
  const outcomes = [{ ...outcome, fetchedAtMs: Date.now(), json: '' }];
  for (const [id, odd] of Object.entries(NO_JSON)) {
    await put(id, JSON.stringify({ v: 1, chunk: id, outcomes }), OUTCOMES_QUEUE, odd);
  }
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
  expect(await collected).toMatchObject({ failures: 3 });
  expect(notices).toEqual(
    expect.arrayContaining(
      ['cut', 'null', 'others'].map(
        (id) => `Job ${id} has options that cannot be read; it is accepted without them.`,
      ),
    ),
  );
});

interface Reply {
  readonly chunk: string;
}

function byChunk(one: Reply, other: Reply): number {
  return one.chunk.localeCompare(other.chunk);
}

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
    replies: async (count: number, replyTo = OUTCOMES_QUEUE): Promise<readonly Reply[]> => {
      const outcomes = queueOf(replyTo);
      while ((await outcomes.getWaitingCount()) < count) await delay(20);
      return (await outcomes.getWaiting()).map(({ data }) => data as Reply);
    },
  };
}
