import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { findWaitMs } from '../../src/brand/limit-headers/time.ts';
import { add, enrich, schedule, work } from '../../src/index.ts';
import {
  findStopNotice,
  publishStopNotice,
  readWorkers,
} from '../../src/queue/bullmq/chunks/heartbeats.ts';
import type { OutcomesData } from '../../src/queue/bullmq/contract.ts';
import {
  createQueueReader,
  openQueueServer,
  openScheduleQueue,
  withScheduleQueue,
} from '../../src/queue/bullmq/index.ts';
import { LOOKUPS_QUEUE, OUTCOMES_QUEUE } from '../../src/queue/bullmq/names.ts';
import type { RedisServer } from '../../src/queue/bullmq/server/redis.ts';
import { createGate } from '../support/gate.ts';
import { type TestRedis, useRedis } from '../support/redis.ts';
import { shiftClock } from '../support/shift-clock.ts';
import { openApi, openServer } from './support/api.ts';
import { openFolder } from './support/folder.ts';
import { openQueue } from './support/open-queue.ts';
import { openSchedules } from './support/schedules.ts';

const HOUR_MS = 60 * 60_000;
const INPUT = [{ domain: 'acme.com' }];

async function connect({ url }: TestRedis): Promise<RedisServer> {
  const server = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  onTestFinished(() => server.close());
  return server;
}

/** What a process tells of a time just now, in milliseconds since 1970. */
function justNow(): number {
  return expect.closeTo(Date.now(), -5) as number; // to 50 s
}

describe.each([HOUR_MS, -HOUR_MS])('on a machine whose clock is %i ms off', (offMs) => {
  it('a worker dates what it holds and what it has found by the clock of Redis', async () => {
    const redis = await useRedis();
    const { client } = await connect(redis);
    const [asked, seen, stop] = [createGate(), createGate(), new AbortController()];
    const server = await openServer((_, response) => {
      asked.open();
      void seen.opened.then(() => response.end('{"name":"Acme"}'));
    });
    await add({ input: INPUT, queue: redis.url });
    shiftClock(offMs);
    const working = work({ queue: redis.url, baseUrl: server.url, signal: stop.signal });
    await asked.opened;
    const held = await vi.waitUntil(
      async () => (await readWorkers(client)).workers.flatMap(({ holds }) => holds)[0],
      { timeout: 60_000 },
    );
    seen.open();
    const outcomes = openQueue(OUTCOMES_QUEUE, redis);
    const job = await vi.waitUntil(async () => (await outcomes.getWaiting())[0], {
      timeout: 60_000,
    });
    stop.abort();
    await working;
    vi.useRealTimers();
    expect(held.sinceMs).toEqual(justNow());
    expect(job.timestamp).toEqual(justNow());
    const [outcome] = (job.data as OutcomesData).outcomes;
    expect(outcome).toMatchObject({ domain: 'acme.com', status: 'found', fetchedAtMs: justNow() });
  });

  it('a worker that stops by itself says when by the clock of Redis', async () => {
    const { client } = await connect(await useRedis());
    shiftClock(offMs);
    await publishStopNotice(client, 'an-api', 'the API refuses the credential');
    vi.useRealTimers();
    expect(await findStopNotice(client, 'an-api')).toMatchObject({ atMs: justNow() });
  });

  it('lookups are put on the queue with the time of Redis', async () => {
    const redis = await useRedis();
    const folder = openFolder();
    const api = await openApi();
    const stop = new AbortController();
    const lookups = openQueue(LOOKUPS_QUEUE, redis);
    const waiting = async () => (await lookups.getPrioritized())[0];
    shiftClock(offMs);
    await add({ input: INPUT, queue: redis.url });
    const added = await waiting();
    await lookups.obliterate({ force: true });
    const running = enrich({
      input: INPUT,
      out: folder.at('rows.jsonl'),
      failures: folder.at('failures.jsonl'),
      store: folder.at('store'),
      queue: redis.url,
      baseUrl: api.url,
      workers: 0,
      signal: stop.signal,
    });
    const given = await vi.waitUntil(waiting, { timeout: 60_000 });
    stop.abort();
    await running;
    vi.useRealTimers();
    expect([added?.timestamp, given.timestamp]).toEqual([justNow(), justNow()]);
  });

  it('the age of what waits is told by the clock of Redis', async () => {
    const redis = await useRedis();
    await add({ input: INPUT, queue: redis.url });
    await redis.client.hincrby(await keyOfOnlyJob(redis), 'timestamp', -2 * HOUR_MS);
    const server = await connect(redis);
    await expect.poll(() => server.client.status).toBe('ready');
    shiftClock(offMs);
    const reading = await createQueueReader(server)();
    expect(reading?.queues[0]?.oldestMs).toEqual(expect.closeTo(2 * HOUR_MS, -5));
  });
});

it('a schedule kept by a clock that is ahead starts jobs early, and says so, and not that they are late', async () => {
  const { job, redis, list } = await openSchedules();
  const [file, notices, stop] = [
    job('crm', { cron: '* * * * *' }),
    [] as string[],
    new AbortController(),
  ];
  const { client } = await connect(redis);
  await withScheduleQueue(client, 'jobs', (queue) =>
    queue.keep('crm', { cron: '* * * * *', timezone: 'UTC' }),
  );
  shiftClock(HOUR_MS);
  const keeping = schedule({
    files: [file],
    queue: redis.url,
    name: 'jobs',
    signal: stop.signal,
    onNotice: (message) => notices.push(message),
  });
  const results = await vi.waitUntil(
    async () => {
      const [listed] = await list();
      return listed && listed.results.length > 0 ? listed.results : undefined;
    },
    { timeout: 60_000 },
  );
  stop.abort();
  await keeping;
  expect(results).toMatchObject([{ why: 'due' }]);
  expect(notices).toContainEqual(
    expect.stringMatching(/^The clock of this machine is 1 h ahead of that of Redis: jobs start/),
  );
});

async function keyOfOnlyJob({ client }: TestRedis): Promise<string> {
  const [key = ''] = await client.keys(`{brandfill}:${LOOKUPS_QUEUE}:add-*`);
  return key;
}

// The quick tests share a process, whose time zone cannot be another for one of them.
it.each(['America/New_York', 'Asia/Tokyo'])('every date is taken for GMT, also in %s', (zone) => {
  vi.stubEnv('TZ', zone);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  expect(new Date(0).getTimezoneOffset()).not.toBe(0);
  const nowMs = Date.UTC(2026, 10, 20, 20);
  const parse = (value: string): unknown => findWaitMs(value, { date: undefined, nowMs });
  expect(parse('Fri Nov 20 20:01:00 2026')).toBe(61_000);
  expect(parse('Friday, 20-Nov-26 20:01:00 GMT')).toBe(61_000);
  expect(parse('2026-11-20 20:01:00')).toBe(61_000);
});

it('a schedule at midnight leaves no night out on which clocks jump then', async () => {
  const redis = await useRedis();
  vi.useFakeTimers({ now: new Date('2026-04-23T12:00:00Z'), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = openScheduleQueue(redis.client, 'jobs');
  await queue.keep('crm', { cron: '0 0 * * *', timezone: 'Africa/Cairo' });
  const nextAtMs = (await queue.read()).get('crm')?.nextAtMs;
  await queue.close();
  expect(nextAtMs).toBe(Date.parse('2026-04-23T22:00:00Z')); // one o'clock there, on the 24th
});
