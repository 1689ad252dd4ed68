import { expect, it } from 'vitest';
import {
  openScheduleResults,
  type ScheduledResult,
} from '../../src/queue/bullmq/schedules/schedule-keepers.ts';
import { useRedis } from '../support/redis.ts';

function resultOf(exitCode: number, at: number): Omit<ScheduledResult, 'skipped'> {
  const time = new Date(at * 1_000).toISOString();
  return { why: 'due', startedAt: time, finishedAt: time, exitCode, host: 'vm' };
}

it('results of a job are the last thirty, and the last that was done however long that is ago', async () => {
  const { client } = await useRedis();
  const results = openScheduleResults(client, 'crm');
  const codes = [0, 3, ...Array.from({ length: 40 }, () => 2)];
  for (const [at, code] of codes.entries()) await results.add('nightly', resultOf(code, at));
  const kept = await results.read('nightly');
  expect(kept.map(({ exitCode }) => exitCode)).toEqual([...codes.slice(-30), 3]);
  expect(kept[0]).toEqual({ ...resultOf(2, 41), skipped: 0 });

  for (let at = 0; at < 30; at += 1) await results.add('nightly', resultOf(at === 9 ? 0 : 4, at));
  expect(await results.read('nightly')).toHaveLength(30);
});
