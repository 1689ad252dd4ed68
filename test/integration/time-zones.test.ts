import { expect, it, onTestFinished, vi } from 'vitest';
import { findWaitMs } from '../../src/brand/limit-headers/time.ts';
import { openScheduleQueue } from '../../src/queue/bullmq/index.ts';
import { useRedis } from '../support/redis.ts';

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
