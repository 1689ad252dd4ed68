import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { LOCK_MS } from '../../../src/queue/lock-time.ts';
import { LOOKUPS_JOB, runKey, streamKey } from '../../../src/queue/names.ts';
import { createGate } from '../../support/gate.ts';
import { useRedis } from '../../support/redis.ts';
import { answerAll, found, openStage, QUEUE } from './stage.ts';

const BOUNDS = JSON.stringify({ bounds: [], counting: {}, started: 'x' });

it('a backlog is answered on the stream of its API, each text once, what is no domain as invalid', async () => {
  const stage = await openStage();
  stage.worker();
  const domains = ['https://www.acme.com/about', 'acme.com', 'n/a', 'bolt.com'];
  await stage.queue.add(LOOKUPS_JOB, { domains, ref: { row: 7 } });
  await expect.poll(async () => (await stage.entries(QUEUE)).length).toBeGreaterThan(0);
  const entries = await stage.entries(QUEUE);
  const told = entries.flatMap(({ ref, outcomes }) =>
    outcomes.map(({ domain, given, status }) => [ref, given ?? domain, status]),
  );
  expect(told).toEqual([
    [{ row: 7 }, 'n/a', 'invalid'],
    [{ row: 7 }, 'https://www.acme.com/about', 'found'],
    [{ row: 7 }, 'bolt.com', 'found'],
  ]);
  await expect.poll(() => stage.queue.getActiveCount()).toBe(0);
});

it('a job that breaks the contract fails with the reason, and is kept', async () => {
  const stage = await openStage();
  stage.worker();
  await stage.queue.add(LOOKUPS_JOB, { domains: 'acme.com' });
  await expect.poll(() => stage.queue.getFailedCount()).toBe(1);
  const [job] = await stage.queue.getFailed();
  expect(job?.failedReason).toMatch(/^the job breaks the contract: 'domains'/);
  expect(stage.notices.join()).toContain(job?.failedReason);
});

it.each<[string, Readonly<Record<string, string>>, 'gone' | 'delayed' | 'answered']>([
  ['is there', { bounds: BOUNDS, paused: '0' }, 'answered'],
  ['is over', {}, 'gone'],
  ['was stopped', { bounds: BOUNDS, paused: '0', stopped: '1' }, 'gone'],
  ['is paused', { bounds: BOUNDS, paused: '1' }, 'delayed'],
])('a job of a run that %s', async (_, hash, fate) => {
  const stage = await openStage();
  if (Object.keys(hash).length > 0) await stage.redis.client.hset(runKey('crm'), hash);
  const data = { domains: ['a.com'], run: 'crm' };
  await stage.queue.add(LOOKUPS_JOB, data, { jobId: 'run-crm-x-1', removeOnComplete: true });
  stage.worker();
  const isDone = async (): Promise<boolean> =>
    fate === 'delayed'
      ? (await stage.queue.getDelayedCount()) === 1
      : (await stage.queue.getJob('run-crm-x-1')) === undefined;
  await expect.poll(isDone).toBe(true);
  expect(await stage.entries('crm')).toHaveLength(fate === 'answered' ? 1 : 0);
});

it('what is pending, of no run, waits until it is due, and the rest is answered', async () => {
  const stage = await openStage();
  let asks = 0;
  stage.worker({
    handle: async ({ domains }, reply) => {
      asks += 1;
      for (const domain of domains) {
        const isPending = domain === 'slow.com' && asks === 1;
        const pending = { ...found(domain), status: 'pending', retryAfterMs: 1_000 } as const;
        await reply([isPending ? pending : found(domain)]);
      }
    },
  });
  await stage.queue.add(LOOKUPS_JOB, { domains: ['a.com', 'slow.com'] });
  await expect.poll(() => stage.queue.getDelayedCount()).toBe(1);
  const [job] = await stage.queue.getDelayed();
  expect(job?.data).toMatchObject({ domains: ['slow.com'], pending: { asks: 1 } });
  await expect
    .poll(async () => (await stage.entries(QUEUE)).flatMap(({ outcomes }) => outcomes).length)
    .toBe(2);
});

it('a worker that stops gives back what it has not begun, and is then no worker any more', async () => {
  const stage = await openStage();
  const gate = createGate();
  const begun: string[] = [];
  const first = stage.worker({
    handle: async ({ domains }, reply, isWanted = () => true) => {
      const wanted = domains.filter((domain) => isWanted(domain)).slice(0, 1);
      begun.push(...wanted);
      await gate.opened;
      if (wanted.length > 0) await reply(wanted.map(found));
    },
  });
  await stage.queue.add(LOOKUPS_JOB, { domains: ['a.com', 'b.com', 'c.com'] });
  await expect.poll(() => begun).toEqual(['a.com']);
  const stopping = first.stop();
  gate.open();
  await stopping;
  const [job] = await stage.queue.getWaiting();
  expect(job?.data).toEqual({ domains: ['b.com', 'c.com'] });
  stage.worker();
  const domains = async (): Promise<readonly string[]> =>
    (await stage.entries(QUEUE)).flatMap(({ outcomes }) => outcomes.map(({ domain }) => domain));
  await expect.poll(domains).toEqual(['a.com', 'b.com', 'c.com']);
});

it.each([
  [0, 1],
  [150, 4],
])(
  'a worker to which %i lookups are of use has %i jobs of 50, and leaves the rest to others',
  async (useful, held) => {
    const stage = await openStage();
    const domains = Array.from({ length: 50 }, (_, at) => `${at}.com`);
    await stage.queue.addBulk(
      Array.from({ length: 9 }, () => ({ name: LOOKUPS_JOB, data: { domains } })),
    );
    const gate = createGate();
    stage.worker({ useful: () => useful, concurrency: 64, handle: () => gate.opened });
    await expect.poll(() => stage.queue.getActiveCount()).toBe(held);
    await setImmediate();
    expect(await stage.queue.getActiveCount()).toBe(held);
    gate.open();
  },
);

it('a worker whose calls alone fail tries one lookup, and leaves the rest to others', async () => {
  const stage = await openStage();
  let asked = 0;
  stage.worker({
    findTrouble: () => 'its calls fail here',
    handle: async ({ domains }, _, isWanted = () => true) => {
      asked += domains.filter((domain) => isWanted(domain)).length;
    },
  });
  await stage.queue.add(LOOKUPS_JOB, { domains: ['a.com', 'b.com', 'c.com'] });
  await expect.poll(() => asked).toBe(1);
  await expect.poll(() => stage.queue.getWaitingCount()).toBe(1);
  stage.worker({ handle: answerAll });
  await expect.poll(async () => (await stage.entries(QUEUE)).length).toBe(1);
  expect(asked).toBe(1);
});

it.each<[string, { stc: number; since?: number }, string]>([
  ['twice is looked up one domain at a time', { stc: 2 }, 'a.com found, b.com found'],
  ['once more with a domain alone, too', { stc: 3, since: 2 }, 'a.com found, b.com found'],
  ['twice with it alone gives it up', { stc: 4, since: 2 }, 'a.com worker_crashed, b.com found'],
])('a job that lost its worker %s, for all who asked', async (_, { stc, since }, told) => {
  const stage = await openStage();
  const chunks: (readonly string[])[] = [];
  await stage.queue.pause();
  const alone = since === undefined ? undefined : { domain: 'a.com', since };
  const also = [{ ref: 'two', domains: ['b.com'] }];
  const job = await stage.queue.add(LOOKUPS_JOB, { domains: ['a.com', 'b.com'], also, alone });
  await stage.redis.client.hset(stage.queue.toKey(job.id ?? ''), 'stc', stc);
  stage.worker({
    handle: async (chunk, reply) => {
      chunks.push(chunk.domains);
      await answerAll(chunk, reply);
    },
  });
  await stage.queue.resume();
  const entries = async (ref?: string): Promise<string> =>
    (await stage.entries(QUEUE))
      .filter((entry) => entry.ref === ref)
      .flatMap(({ outcomes }) => outcomes)
      .map(({ domain, reason, status }) => `${domain} ${reason || status}`)
      .join(', ');
  await expect.poll(() => entries()).toBe(told);
  expect(await entries('two')).toBe('b.com found');
  expect(chunks.every((domains) => domains.length === 1)).toBe(true);
});

it('a job whose outcomes another master has not heard of is looked up anew', async () => {
  // Given a job, one domain of which is answered
  const stage = await openStage();
  const gate = createGate();
  onTestFinished(gate.open);
  stage.worker({
    handle: async ({ domains }, reply) => {
      for (const domain of domains) {
        await reply([found(domain)]);
        if (domain === 'a.com') await gate.opened;
      }
    },
  });
  const data = { domains: ['a.com', 'b.com'] };
  const { id = '' } = await stage.queue.add(LOOKUPS_JOB, data);
  const answered = async (): Promise<readonly string[]> =>
    (await stage.entries(QUEUE)).flatMap(({ outcomes }) => outcomes.map(({ domain }) => domain));
  await expect.poll(answered).toEqual(['a.com']);
  // When a master takes over that had the job, with its lock, but not yet what was answered
  const key = stage.queue.toKey(id);
  await stage.redis.client
    .multi()
    .del(streamKey(QUEUE))
    .hset(key, 'data', JSON.stringify(data))
    .hdel(key, 'batch')
    .exec();
  gate.open();
  // Then
  await expect.poll(answered).toContain('a.com');
  await expect.poll(() => stage.queue.getJob(id)).toBeUndefined();
});

it('a Redis that comes back with less gets what a run may not have read, and its jobs are left at once', async () => {
  // Given a job of a run, one domain of which is answered, and a snapshot of before
  const redis = await useRedis();
  const stage = await openStage(redis);
  await stage.redis.client.hset(runKey('crm'), { bounds: BOUNDS, paused: '0' });
  await redis.client.call('save');
  const gate = createGate();
  let isWantedNow = (): boolean => false;
  stage.worker({
    handle: async (_, reply, isWanted = () => true) => {
      isWantedNow = () => isWanted('b.com');
      await reply([found('a.com')]);
      await gate.opened;
    },
  });
  onTestFinished(gate.open);
  const data = { domains: ['a.com', 'b.com'], run: 'crm' };
  await stage.queue.add(LOOKUPS_JOB, data, { jobId: 'run-crm-x-1' });
  const answered = async (): Promise<readonly string[]> =>
    (await stage.entries('crm')).flatMap(({ outcomes }) => outcomes.map(({ domain }) => domain));
  await expect.poll(answered).toEqual(['a.com']);
  expect(isWantedNow()).toBe(true);
  // When Redis is killed, and starts with that
  await redis.kill();
  await redis.start();
  // Then
  await expect.poll(answered).toEqual(['a.com']);
  await expect.poll(isWantedNow, { timeout: LOCK_MS / 4 }).toBe(false);
});
