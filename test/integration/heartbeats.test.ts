import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeSelf } from '../../src/common/owner.ts';
import {
  announceWorker,
  countWorkers,
  type Heartbeat,
} from '../../src/queue/bullmq/chunks/heartbeats.ts';
import {
  findScheduleProcesses,
  openQueueServer,
  startScheduleHeartbeat,
} from '../../src/queue/bullmq/index.ts';
import type { RedisServer } from '../../src/queue/bullmq/server/redis.ts';
import { type TestRedis, useRedis } from '../support/redis.ts';
import { shiftClock } from '../support/shift-clock.ts';

const WORKERS = '{brandfill}:workers';
const HOUR_MS = 60 * 60_000;

async function openServer({ url }: TestRedis): Promise<RedisServer> {
  const server = await openQueueServer({ url, acceptEviction: false, onNotice: () => {} });
  onTestFinished(() => server.close());
  return server;
}

/** A worker that is there, or was an hour ago. */
async function announce(redis: TestRedis, { client }: RedisServer, id: string): Promise<Heartbeat> {
  const describe = () => ({ host: 'here', pid: 1, api: 'an-api', concurrency: 1, holds: [] });
  const heartbeat = announceWorker(client, { id, describe });
  while ((await redis.client.zscore(WORKERS, id)) === null) await client.ping();
  return heartbeat;
}

describe('the workers that are there', () => {
  it.each([HOUR_MS, -HOUR_MS])(
    'are told by the clock of Redis, with their own %i ms off',
    async (offMs) => {
      const redis = await useRedis();
      const server = await openServer(redis);
      shiftClock(offMs);
      const heartbeat = await announce(redis, server, 'off');
      vi.useRealTimers();
      expect(await countWorkers(server.client)).toBe(1);
      await heartbeat.close();
      expect(await countWorkers(server.client)).toBe(0);
    },
  );

  it('are counted without those that were lost, which are forgotten', async () => {
    const redis = await useRedis();
    const server = await openServer(redis);
    await redis.client.zadd(WORKERS, Date.now() - HOUR_MS, 'lost');
    const heartbeat = await announce(redis, server, 'there');
    expect(await redis.client.zrange(WORKERS, '0', '-1')).toEqual(['there']);
    await heartbeat.close();
  });
});

describe('the processes with schedules that are there', () => {
  it('are those that were heard of in the last quarter of a minute, which is longer than two beats', async () => {
    const redis = await useRedis();
    const { client } = await openServer(redis);
    const scheduler = { owner: describeSelf(), jobs: ['nightly'] };
    const group = { name: 'jobs', folder: '/jobs' };
    // The first beat alone: a later one, on a machine that takes its time, would end the silence.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const heartbeat = await startScheduleHeartbeat(client, group, scheduler);
    const key = '{brandfill}:schedule-processes:jobs';
    expect(await redis.client.pttl(key)).toBeGreaterThan(10_000);
    const silentFor = async (ms: number): Promise<void> => {
      const [seconds] = await redis.client.time();
      await redis.client.zadd(key, Number(seconds) * 1_000 - ms, JSON.stringify(scheduler));
    };
    await silentFor(10_000);
    expect(await findScheduleProcesses(client, 'jobs')).toEqual([scheduler]);
    await silentFor(15_000);
    expect(await findScheduleProcesses(client, 'jobs')).toEqual([]);
    await heartbeat.close();
  });
});
