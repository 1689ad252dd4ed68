import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openScheduleQueue } from '../../src/queue/bullmq/schedule-queue.ts';
import {
  openScheduleResults,
  type ScheduledResult,
} from '../../src/queue/bullmq/schedule-worker.ts';
import { useRedis } from '../support/redis.ts';
import { run } from './support/command.ts';
import { FAR, openSchedules, type Schedules, terminate } from './support/schedules.ts';

/** Has a job run, and gives how that ended. */
async function runOnce({ ask, results }: Schedules, job: string, count: number) {
  await ask(job);
  return (await results(job, count)).results[0];
}

describe('the files of brandfill schedule', () => {
  it('what is changed and removed in them is changed and removed in Redis, but nothing of others', async () => {
    const { job, keep, run, list, redis } = await openSchedules();
    const [a, b] = [job('a', { cron: FAR }), job('b', { cron: FAR })];
    const others = await keep('--name', 'others', job('other', { cron: FAR }));
    await terminate(await keep(a, b));
    job('a', { cron: '0 5 * * *' });
    await terminate(await keep(a));
    await terminate(others);
    const listed = await list();
    expect(listed.map(({ job, cron }) => [job, cron])).toEqual([
      ['a', '0 5 * * *'],
      ['other', FAR],
    ]);
    expect(listed[0]?.nextAt).toMatch(/T05:00:00\.000Z$/);
    expect(listed[0]?.group).toMatch(/^jobs-[0-9a-f]{6}$/);
    job('a', {});
    const { code, stderr } = await run(a);
    expect(code).toBe(2);
    expect(stderr).toMatch(/Cannot schedule anything: none of the files has a 'schedule'/);
    expect((await list()).map(({ job }) => job)).toEqual(['other']);
    expect(await redis.client.keys(`*jobs-*:repeat*`)).toEqual([]);
  });

  it('are taken up as they are edited; a broken one keeps its schedule and holds up nobody', async () => {
    const schedules = await openSchedules();
    const { job, keep, folder, list } = schedules;
    const files = ['a', 'b', 'c'].map((name) => job(name, { cron: FAR }));
    const scheduler = await keep(...files);
    job('a', { cron: '15 5 * * *' });
    await scheduler.shows("a: is now scheduled for '15 5 * * *' (UTC).");
    folder.write('jobs/b.yaml', 'input: "../b.csv\nschedule: {');
    await scheduler.shows('b.yaml:');
    job('c', { cron: '61 5 * * *' });
    await scheduler.shows("c.yaml:3:9: schedule: cron: '61 5 * * *' is no cron expression");
    expect((await list()).map(({ cron }) => cron)).toEqual(['15 5 * * *', FAR, FAR]);
    expect(await runOnce(schedules, 'b', 1)).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining('b.yaml:'),
    });
    expect(await runOnce(schedules, 'a', 1)).toMatchObject({ exitCode: 0 });
    job('b', {});
    await scheduler.shows('b: its schedule is no longer in the files and was removed from Redis.');
    rmSync(folder.at('jobs/a.yaml'));
    await scheduler.shows('there is no such file');
    expect((await list()).map(({ job }) => job)).toEqual(['a', 'c']);
    await terminate(scheduler);
  });

  it('are read again for each run', async () => {
    const schedules = await openSchedules();
    const { job, keep, folder } = schedules;
    const scheduler = await keep(job('a', { cron: FAR }));
    await runOnce(schedules, 'a', 1);
    job('a', { cron: FAR, more: ['out: ../elsewhere.csv'] });
    expect(await runOnce(schedules, 'a', 2)).toMatchObject({ exitCode: 0 });
    expect(folder.names()).toContain('elsewhere.csv');
    await terminate(scheduler);
  });

  it.each([
    [
      'cron',
      "  cron: '61 2 * * *'",
      /a\.yaml:3:9: schedule: cron: '61 2 \* \* \*' is no cron expression such as/,
    ],
    [
      'cron of too few fields',
      "  cron: '2 *'",
      /a\.yaml:3:9: schedule: cron: expected five fields \(minute, hour/,
    ],
    [
      'time zone',
      "  cron: '0 2 * * *'\n  timezone: Europe/Berln",
      /a\.yaml:4:13: schedule: timezone: there is no time zone 'Europe\/Berln'; did you mean 'Europe\/Berlin'\?/,
    ],
  ])(
    'with an impossible %s end it at the start with 2, line and column',
    async (_, line, message) => {
      const { folder, job, run, list } = await openSchedules();
      const good = job('good', { cron: FAR });
      const bad = folder.write('jobs/a.yaml', `input: ../a.csv\nschedule:\n${line}\n`);
      const { code, stderr } = await run(good, bad);
      expect(code).toBe(2);
      expect(stderr).toMatch(message);
      expect(await list()).toEqual([]);
    },
  );

  it.each(['', 'GMT+5', 'UTC0'])(
    'without a time zone, where TZ is %j and names none, end it at the start with 2',
    async (TZ) => {
      const { folder, redis, list } = await openSchedules();
      folder.write('jobs/a.yaml', `input: ../a.csv\nschedule:\n  cron: '${FAR}'\n`);
      const command = ['schedule', '--queue', redis.url, 'jobs/a.yaml'];
      const { code, stderr } = await run(command, { cwd: folder.path, env: { TZ } });
      expect(stderr).toContain(
        `Cannot use jobs/a.yaml: schedule: the time zone of this machine has no name (TZ is '${TZ}');`,
      );
      expect(code).toBe(2);
      expect(await list()).toEqual([]);
    },
  );

  it('that are otherwise broken at the start are told, and the others go on', async () => {
    const schedules = await openSchedules();
    const { folder, job, keep, list } = schedules;
    const good = job('good', { cron: FAR });
    const odd = job('odd', { cron: FAR, more: ['freshh: 30d'] });
    const torn = folder.write('jobs/torn.yaml', 'input: "');
    const scheduler = await keep(good, odd, torn);
    expect((await list()).map(({ job }) => job)).toEqual(['good', 'odd']);
    expect(await runOnce(schedules, 'odd', 1)).toMatchObject({ exitCode: 2 });
    expect(await runOnce(schedules, 'good', 1)).toMatchObject({ exitCode: 0 });
    const { stderr } = await terminate(scheduler);
    expect(stderr).toMatch(/odd\.yaml:2:1: there is no key 'freshh'; did you mean 'fresh'\?/);
    expect(stderr).toContain('torn.yaml:1:');
  });

  it('have names of their own, and one set of them a name in Redis', async () => {
    const { folder, job, keep, run } = await openSchedules();
    const [a, b] = [job('a', { cron: FAR }), job('b', { cron: FAR })];
    const scheduler = await keep(a, b);
    const other = await run(a);
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(
      /Cannot keep the schedules 'jobs-\w+': process \d+ on .+ keeps them, with other files \(a, b\);/,
    );
    await terminate(scheduler);
    const twin = folder.write('a.yaml', 'input: b.csv');
    expect((await run(a, twin)).stderr).toMatch(
      /Cannot schedule both .+a\.yaml and .+a\.yaml: jobs/,
    );
  });

  it.each([
    [['none.yaml'], /Cannot read the job file none\.yaml: there is no such file/],
    [[], /Cannot schedule without job files/],
    [['--run', 'none'], /Cannot run none: it is not scheduled; there are: none\./],
    [['--name', 'a b', 'x.yaml'], /--name/],
  ])('%j cannot be used', async (args, message) => {
    const { run } = await openSchedules();
    const { code, stderr } = await run(...args);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });
});

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
