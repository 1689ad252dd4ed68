import { describe, expect, it, vi } from 'vitest';
import { holdCalls } from './support/api.ts';
import { run, start } from './support/command.ts';
import { FAR, openSchedules, terminate } from './support/schedules.ts';
import { rowsOf } from './support/tables.ts';

const EVERY_SECOND = '* * * * * *';

describe('brandfill schedule', () => {
  it('runs jobs when they are due, and ends with 0 when it is told to', async () => {
    const { job, keep, results, folder, redis } = await openSchedules();
    const files = [
      job('crm', { cron: EVERY_SECOND }),
      job('shop', { cron: EVERY_SECOND, more: ['refresh: true'] }),
      job('sheet', {}),
    ];
    const scheduler = await keep(...files);
    expect((await results('crm', 2)).results[0]).toMatchObject({
      exitCode: 0,
      rows: 1,
      found: 1,
      failed: 0,
      calls: 0,
    });
    await results('shop', 2);
    const { code, stdout, stderr } = await terminate(scheduler);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^\S+ [0-9a-f]{12} crm: starts; it was due at \S+\.000Z\.$/m);
    expect(stderr).toMatch(
      /^\S+ [0-9a-f]{12} crm: rows 1; unique 1 domain; invalid none; calls 1 to make/m,
    );
    expect(stderr).toMatch(
      /^\S+ [0-9a-f]{12} crm: ended with exit code 0 after .+: 1 rows, 1 found,/m,
    );
    expect(stderr).toContain("sheet.yaml has no 'schedule' and is skipped.");
    expect(rowsOf(folder.read('crm.enriched.csv'))).toHaveLength(1);
    expect(folder.names()).not.toContain('sheet.enriched.csv');
    const kept = await redis.client.keys('*:schedule-results:*');
    const seconds = await Promise.all(kept.map((key) => redis.client.ttl(key)));
    expect(seconds, 'they do not stay for ever').toEqual([
      expect.closeTo(34_560_000, -3),
      expect.closeTo(34_560_000, -3),
    ]);
  });

  it('starts no run while one of the same job goes, here or in another process', async () => {
    const { job, keep, results, list, api } = await openSchedules();
    const held = await holdCalls(api);
    const file = job('slow', {
      cron: EVERY_SECOND,
      more: ['refresh: true', `baseUrl: ${held.url}`],
    });
    const schedulers = [await keep(file), await keep(file)];
    await expect.poll(() => held.come()).toBe(1);
    expect((await list())[0]).toMatchObject({ runningSince: expect.any(String), isKept: true });
    held.release();
    const { results: ended } = await results('slow', 2);
    await Promise.all(schedulers.map(terminate));
    const [last, ...earlier] = ended;
    for (const [at, { finishedAt }] of earlier.entries()) {
      const { startedAt = '' } = ended[at] ?? {};
      expect(Date.parse(finishedAt)).toBeLessThanOrEqual(Date.parse(startedAt));
    }
    expect(last).toMatchObject({ exitCode: 0, calls: 1 });
  });

  it('keeps what a run found that is interrupted, and makes it again at the next start', async () => {
    const { job, keep, ask, results, api, folder } = await openSchedules({
      api: { latencyMs: 100 },
    });
    const file = job('crm', { cron: FAR, domains: 40, more: ['concurrency: 1'] });
    const first = await keep(file);
    await ask('crm');
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    const { code, stderr } = await terminate(first);
    expect(code).toBe(0);
    expect(stderr).toMatch(/crm: ended with exit code 130 .+; stopped early \(interrupted\)\./);
    expect(rowsOf(folder.read('crm.enriched.csv'))).toHaveLength(40);
    const callsBefore = api.stats().calls;
    expect(callsBefore).toBeLessThan(40);
    const second = await keep(file);
    const { results: ended } = await results('crm', 2);
    expect((await terminate(second)).stderr).toContain('crm: starts again; it was interrupted');
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 130]);
    expect(api.stats().calls).toBe(40);
  });

  it('does not make a run again that was done when it was told to stop', async () => {
    const { job, keep, ask, results, list, api, folder } = await openSchedules();
    const told =
      'onFinish: { command: "echo told >> ../told.txt; until test -e ../over; do sleep 0.1; done" }';
    const file = job('crm', { cron: FAR, more: ['refresh: true', told] });
    const first = await keep(file);
    await ask('crm');
    await vi.waitUntil(() => folder.names().includes('told.txt'), { timeout: 60_000 });
    first.process.kill('SIGTERM');
    await first.shows('Stopping:');
    folder.write('over', '');
    expect((await first.ended).code).toBe(0);
    expect((await results('crm', 1)).results).toMatchObject([{ exitCode: 0 }]);
    expect((await list())[0]).toMatchObject({ isWaiting: false });
    expect(folder.read('told.txt')).toBe('told\n');
    expect(api.stats().calls).toBe(1);
  });

  it('gives the command of one job no credential, of another job neither', async () => {
    const { job, ask, results, api, redis, folder } = await openSchedules({
      redis: { isOwn: true },
    });
    await redis.client.call('ACL', 'SETUSER', 'nightly', 'on', '>s3cret-pass', '~*', '&*', '+@all');
    const more = [
      'queue: ${MY_REDIS}',
      'apiKeyEnv: KEY_A',
      'onFinish: { command: env > ../env.txt }',
    ];
    const files = [
      job('a', { cron: FAR, more }),
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
    await terminate(scheduler);
    const got = folder.read('env.txt');
    expect(got).toMatch(/^OTHER=kept$/m);
    expect(got).toMatch(/^BRANDFILL_JOB=a$/m);
    expect(got).not.toContain('s3cret');
  });

  it('gives the lookups of a run to workers elsewhere when its file names a queue', async () => {
    const { job, keep, ask, results, api, redis, folder } = await openSchedules();
    const queue = ['--queue', redis.url];
    const worker = await start(['worker', ...queue, '--base-url', api.url], { cwd: folder.path });
    await worker.shows('Waiting for lookups');
    const more = [`queue: ${redis.url}`, 'workers: 0'];
    const scheduler = await keep(job('crm', { cron: FAR, domains: 20, more }));
    await ask('crm');
    expect((await results('crm', 1)).results).toMatchObject([
      { exitCode: 0, found: 20, calls: 20 },
    ]);
    await terminate(scheduler);
    expect((await terminate(worker)).stderr).toContain('Stopped after 20 calls');
  });

  it('has no run of what is standard input, and says so', async () => {
    const { folder, keep, results, list, redis } = await openSchedules();
    const schedule = (...args: readonly string[]) =>
      run(['schedule', '--queue', redis.url, ...args], { cwd: folder.path });
    const text = `input: '-'\nschedule:\n  cron: '${FAR}'\n`;
    const scheduler = await keep(folder.write('jobs/pipe.yaml', text));
    await schedule('--run', 'pipe');
    expect((await results('pipe', 1)).results).toMatchObject([
      { exitCode: 2, error: expect.stringContaining('its list is standard input') },
    ]);
    await terminate(scheduler);
    // The other tests ask and look in their own process: a start of the command takes longer.
    const listed = await schedule('--list', '--json');
    expect(JSON.parse(listed.stdout)).toEqual(await list());
  });
});
