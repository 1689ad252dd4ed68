import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type LookupsData, toData } from '../../../src/queue/contract.ts';
import { LOOKUPS_JOB, streamKey } from '../../../src/queue/names.ts';
import { OutcomeWriter } from '../../../src/queue/outcome-writer.ts';
import { StreamReader } from '../../../src/queue/read-stream.ts';
import { found, openStage, QUEUE, type Stage } from './stage.ts';

/** A job that a worker has, with what its writer needs to know of it. */
async function openJob(data: LookupsData) {
  const stage = await openStage();
  const job = await stage.queue.add(LOOKUPS_JOB, data);
  const { id = '' } = job;
  const key = stage.queue.toKey(id);
  await stage.redis.client.set(`${key}:lock`, 'mine');
  const answered = { id, token: 'mine', data, left: ['rest.com'], batch: '', isLost: false };
  const writer = new OutcomeWriter(stage.redis, stage.queue);
  const dataNow = async (): Promise<unknown> =>
    JSON.parse((await stage.redis.client.hget(key, 'data')) ?? 'null');
  return { stage, key, answered, writer, dataNow };
}

const outcomesOf = (...domains: readonly string[]) =>
  domains.map((domain) => toData(found(domain), domain));

it('outcomes reach the stream in the step in which the job loses them', async () => {
  const { stage, answered, writer, dataNow } = await openJob({ domains: ['a.com', 'rest.com'] });
  await writer.add(answered, outcomesOf('a.com'));
  expect(await stage.entries(QUEUE)).toMatchObject([{ outcomes: [{ domain: 'a.com' }] }]);
  expect(await dataNow()).toEqual({ domains: ['rest.com'] });
});

it('a batch whose answer was lost is not written twice', async () => {
  const { stage, answered, writer } = await openJob({ domains: ['a.com'] });
  const adding = writer.add(answered, outcomesOf('a.com'));
  void writer.flush();
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  if (stage.redis.client instanceof Redis) stage.redis.client.stream.destroy();
  await adding;
  expect(await stage.entries(QUEUE)).toHaveLength(1);
});

it.each([
  [
    "another worker's by now",
    async ({ stage, key }: Awaited<ReturnType<typeof openJob>>) => {
      await stage.redis.client.set(`${key}:lock`, 'other');
    },
  ],
  [
    'gone',
    async ({ stage, key }: Awaited<ReturnType<typeof openJob>>) => {
      await stage.redis.client.del(key);
    },
  ],
])('outcomes of a job that is %s are written, and the job is left alone', async (_, change) => {
  const opened = await openJob({ domains: ['a.com'] });
  await change(opened);
  const before = await opened.dataNow();
  await opened.writer.add(opened.answered, outcomesOf('a.com'));
  expect(await opened.stage.entries(QUEUE)).toHaveLength(1);
  expect(await opened.dataNow()).toEqual(before);
});

it('others who asked while it waited get theirs', async () => {
  const also = [{ ref: 'two', domains: ['b.com', 'c.com'] }];
  const data = { domains: ['a.com', 'b.com'], ref: 'one', also };
  const { stage, answered, writer } = await openJob(data);
  await writer.add(answered, outcomesOf('a.com', 'b.com'));
  expect(await stage.entries(QUEUE)).toMatchObject([
    { ref: 'one', outcomes: [{ domain: 'a.com' }, { domain: 'b.com' }] },
    { ref: 'two', outcomes: [{ domain: 'b.com' }] },
  ]);
});

/** A Redis that is lost, and back without the run's stream. @returns what comes to that anew */
async function sentAgain(stage: Stage): Promise<readonly string[]> {
  const { client } = stage.redis;
  await client.del(streamKey('crm'));
  const isBack = once(client, 'ready');
  if (client instanceof Redis) client.stream.destroy();
  await isBack;
  await client.ping(); // behind what is sent again
  const entries = await stage.entries('crm');
  return entries.flatMap(({ outcomes }) => outcomes.map(({ domain }) => domain));
}

it('what a run may not have read is sent again to a Redis that is back, the last eight megabytes of it', async () => {
  const { stage, answered, writer } = await openJob({ domains: ['rest.com'], run: 'crm' });
  const json = JSON.stringify('x'.repeat(950_000));
  for (let at = 0; at < 12; at += 1) {
    const outcome = { ...found(`d${at}.com`), json };
    await writer.add(answered, [toData(outcome, outcome.domain)]);
  }
  expect(await sentAgain(stage)).toEqual(Array.from({ length: 8 }, (_, at) => `d${at + 4}.com`));
});

it('what was read long before Redis was lost is not sent again', async () => {
  const { stage, answered, writer } = await openJob({ domains: ['rest.com'], run: 'crm' });
  await writer.add(answered, outcomesOf('old.com'));
  const now = vi.spyOn(performance, 'now');
  now.mockReturnValue(performance.now() + 6_000);
  onTestFinished(() => now.mockRestore());
  expect(await sentAgain(stage)).toEqual([]);
});

it('a stream is read to its end, and trimmed only when what was read is kept', async () => {
  const { stage, answered, writer } = await openJob({ domains: ['a.com'] });
  const kept: string[] = [];
  let isFull = true;
  const stream = new StreamReader({
    client: stage.redis.client,
    keys: new Set([streamKey(QUEUE)]),
    keep: async (entries) => {
      if (isFull) throw new Error('full');
      kept.push(...entries.flatMap(({ data }) => data.outcomes.map(({ domain }) => domain)));
    },
    onFailure: () => {},
  });
  await writer.add(answered, outcomesOf('a.com'));
  await expect(stream.readToEnd()).rejects.toThrow('full');
  expect(await stage.entries(QUEUE)).toHaveLength(1);
  isFull = false;
  await writer.add({ ...answered, id: 'other' }, outcomesOf('b.com'));
  await stream.readToEnd();
  expect(kept).toEqual(['a.com', 'b.com']);
  expect(await stage.entries(QUEUE)).toEqual([]);
  await stream.close();
});
