import { expect, it, onTestFinished } from 'vitest';
import { openScheduleQueue } from '../../src/queue/bullmq/schedules/schedule-queue.ts';
import { useRedis } from '../support/redis.ts';

const ROUNDS = 50;

it('of two who ask for one run at the same moment, one is told that it is asked for already', async () => {
  const { client } = await useRedis();
  const others = client.duplicate();
  onTestFinished(() => others.disconnect());
  const queues = [openScheduleQueue(client, 'crm'), openScheduleQueue(others, 'crm')];
  // Both are connected before it begins.
  for (const queue of queues) await queue.ask({ job: 'first', why: 'asked', dueAtMs: 0 });
  const jobs = Array.from({ length: ROUNDS }, (_, at) => `job-${at}`);
  const asked = jobs.map((job) =>
    Promise.all(queues.map((queue) => queue.ask({ job, why: 'asked', dueAtMs: 0 }))),
  );
  const answers = await Promise.all(asked);
  expect(answers.map((each) => each.filter((isTheirs) => isTheirs))).toEqual(
    jobs.map(() => [true]),
  );
  expect(await queues[0]?.findRuns(jobs)).toEqual(new Map(jobs.map((job) => [job, 'waiting'])));
  await Promise.all(queues.map((queue) => queue.close()));
});
