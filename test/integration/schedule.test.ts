import { describe, expect, it, vi } from 'vitest';
import { openSchedules as openOnRedis } from '../../src/queue/schedules.ts';
import { useDatabase, useRedis } from '../support/redis.ts';
import { holdCalls } from './support/api.ts';
import { runHere, start, startHere } from './support/command.ts';
import { rowsOf } from './support/folder.ts';
import { FAR, openSchedules } from './support/schedules.ts';

const EVERY_SECOND = '* * * * * *';

describe('brandfill schedule', () => {
  it('runs jobs when they are due, one at a time in all processes, and ends with 0 when it is told to', async () => {
    const { job, keep, results, list, folder, api } = await openSchedules();
    const held = await holdCalls(api);
    const slow = ['refresh: true', `baseUrl: ${held.url}`];
    const files = [
      job('crm', { cron: EVERY_SECOND, more: slow }),
      job('shop', { cron: EVERY_SECOND }),
      job('sheet', {}),
    ];
    const schedulers = [await keep(...files), await keep(...files)];
    await expect.poll(() => held.come()).toBe(1);
    expect((await list())[0]).toMatchObject({ runningSince: expect.any(String), isKept: true });
    held.release();
    const { results: crm } = await results('crm', 2);
    const { results: shop } = await results('shop', 2);
    const ends = await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
    for (const end of ends) expect(end).toMatchObject({ code: 0, stdout: '' });
    expect(crm.at(-1)).toMatchObject({
      exitCode: 0,
      headline: expect.stringMatching(/^Done: 1 row in .*, 1 found\.$/),
    });
    const runs = [...crm, ...shop].toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
    for (const [at, { finishedAt }] of runs.entries()) {
      expect(finishedAt <= (runs[at + 1]?.startedAt ?? '9')).toBe(true);
    }
    const log = ends.map(({ stderr }) => stderr).join('');
    expect(log).toMatch(/^\S+ [0-9a-f]{12} crm: starts; it was due at \S+\.000Z\.$/m);
    expect(log).toMatch(/^\S+ [0-9a-f]{12} crm: rows 1; unique 1 domain; .*calls 1 to make/m);
    expect(log).toMatch(
      /^\S+ [0-9a-f]{12} crm: ended with exit code 0\. Done: 1 row in .+, 1 found\.$/m,
    );
    expect(log).toContain("sheet.yaml has no 'schedule' and is skipped.");
    expect(rowsOf(folder.read('crm.enriched.csv'))).toHaveLength(1);
    expect(folder.names()).not.toContain('sheet.enriched.csv');
  });

  it('keeps what a run found that is interrupted, and makes it again at the next start, with the lookups at a worker', async () => {
    const slow = { api: { latencyMs: 100 } };
    const { job, keep, ask, results, api, folder, redis } = await openSchedules(slow);
    const file = job('crm', { cron: FAR, domains: 40, more: ['concurrency: 1'] });
    const first = await keep(file);
    await ask('crm');
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    const { code, stderr } = await first.stop();
    expect(code).toBe(0);
    expect(stderr).toMatch(/crm: ended with exit code 130\. Stopped on request: 40 rows in /);
    expect(rowsOf(folder.read('crm.enriched.csv'))).toHaveLength(40);
    const callsBefore = api.stats().calls;
    expect(callsBefore).toBeLessThan(40);
    const queue = ['--queue', redis.url];
    const worker = startHere(['worker', ...queue, '--base-url', api.url], { cwd: folder.path });
    await worker.shows('Waiting for lookups');
    const more = [`queue: ${redis.url}`, 'workers: 0'];
    const second = await keep(job('crm', { cron: FAR, domains: 40, more }));
    const { results: ended } = await results('crm', 2);
    expect((await second.stop()).stderr).toContain('crm: starts again; it was interrupted');
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 130]);
    expect(api.stats().calls).toBe(40);
    expect((await worker.stop()).stderr).toContain(`Stopped after ${40 - callsBefore} calls`);
  });

  it('does not make a run again that was done when it was told to stop', async () => {
    const { job, keep, ask, results, list, api, folder } = await openSchedules();
    const told =
      'onFinish: { command: "echo told >> ../told.txt; until test -e ../over; do sleep 0.1; done" }';
    const file = job('crm', { cron: FAR, more: ['refresh: true', told] });
    const first = await keep(file);
    await ask('crm');
    await vi.waitUntil(() => folder.names().includes('told.txt'), { timeout: 60_000 });
    const stopped = first.stop();
    await first.shows('Stopping:');
    folder.write('over', '');
    expect((await stopped).code).toBe(0);
    expect((await results('crm', 1)).results).toMatchObject([{ exitCode: 0 }]);
    expect((await list())[0]).toMatchObject({ isWaiting: false });
    expect(folder.read('told.txt')).toBe('told\n');
    expect(api.stats().calls).toBe(1);
  });

  it('gives the command of one job no credential, of another job neither', async () => {
    const redis = await useRedis();
    const { job, ask, results, api, folder } = await openSchedules({ redis });
    await redis.client.call('ACL', 'SETUSER', 'nightly', 'on', '>s3cret-pass', '~*', '&*', '+@all');
    const tell = 'onFinish: { command: env > ../env.txt }';
    const files = [
      job('a', { cron: FAR, more: ['queue: ${MY_REDIS}', 'apiKeyEnv: KEY_A', tell] }),
      job('b', { cron: FAR, more: ['apiKeyEnv: KEY_B'] }),
    ];
    const url = `redis://nightly:s3cret-pass@127.0.0.1:${redis.port}/0`;
    const env = {
      BRANDFILL_BASE_URL: api.url,
      BRANDFILL_QUEUE: url,
      BRANDFILL_DASHBOARD_TOKEN: 's3cret-for-the-dashboard',
      MY_REDIS: url,
      KEY_A: 's3cret-of-a',
      KEY_B: 's3cret-of-b',
      ALSO_A: 's3cret-of-a',
      OTHER: 'kept',
    };
    const scheduler = await start(['schedule', ...files], { cwd: folder.path, env });
    await scheduler.shows('Keeping the schedules');
    await ask('a');
    expect((await results('a', 1)).results).toMatchObject([{ exitCode: 0 }]);
    await scheduler.stop();
    const got = folder.read('env.txt');
    expect(got).toMatch(/^OTHER=kept$/m);
    expect(got).toMatch(/^BRANDFILL_JOB=a$/m);
    expect(got).not.toContain('s3cret');
  });

  it('keeps what the process says that was started last, also when Redis has lost it', async () => {
    const { job, keep, list, redis, folder } = await openSchedules();
    await (await keep(job('old', { cron: FAR }), job('both', { cron: '@daily' }))).stop();
    const last = await keep(job('both', { cron: FAR }));
    expect(await list()).toMatchObject([{ job: 'both', cron: FAR }]);
    await last.shows('old: its schedule is none of those given and was removed from Redis.');
    await redis.client.flushdb();
    await expect.poll(list).toMatchObject([{ job: 'both', cron: FAR, isKept: true }]);
    const flags = ['schedule', '--queue', redis.url, '--list', '--json'];
    const listed = await runHere(flags, { cwd: folder.path });
    expect(JSON.parse(listed.stdout)).toEqual(await list());
  });

  it('keeps the results that two processes note at once, the last thirty', async () => {
    const { client } = await useDatabase();
    const both = [openOnRedis(client), openOnRedis(client)];
    const add = (exitCode: number): Promise<void>[] =>
      both.map((one) =>
        one.addResult('crm', { startedAt: '', finishedAt: '', headline: '', exitCode, host: '' }),
      );
    for (let exitCode = 0; exitCode < 20; exitCode += 1) await Promise.all(add(exitCode));
    const kept = await client.lrange('{brandfill}:schedule-results:crm', 0, -1);
    expect(kept.map((text) => (JSON.parse(text) as { exitCode: number }).exitCode)).toEqual(
      Array.from({ length: 30 }, (_, at) => 19 - Math.floor(at / 2)),
    );
    for (const one of both) await one.close();
  });

  it('refuses a list that is standard input', async () => {
    const { folder, run: schedule } = await openSchedules();
    const text = `input: '-'\nschedule:\n  cron: '${FAR}'\n`;
    const { code, stderr } = await schedule(folder.write('jobs/pipe.yaml', text));
    expect([code, stderr]).toEqual([2, expect.stringContaining('its list is standard input')]);
  });
});
