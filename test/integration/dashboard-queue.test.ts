import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Board } from '../../src/page/board.ts';
import { PREFIX, QUEUES_KEY, streamKey, WORKERS_KEY } from '../../src/queue/names.ts';
import type { RunView } from '../../src/watch/run-view.ts';
import { type TestDatabase, useDatabase, useRedis } from '../support/redis.ts';
import { openApi, untilSilent } from './support/api.ts';
import { startHere } from './support/command.ts';
import { askRun, readBoard, statusOf } from './support/dashboards.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';
import { FAR, openSchedules } from './support/schedules.ts';

async function openDashboard(redis: TestDatabase, folder: Folder): Promise<string> {
  const args = ['dashboard', '--queue', redis.url, '--listen', '0'];
  const dashboard = startHere(args, { cwd: folder.path });
  const [, url = ''] = / is on (http:\S+)\./.exec(await dashboard.shows(' is on http')) ?? [];
  return url;
}

/** A run, as soon as one is as it should be. */
async function runWhen(url: string, isSo: (run: RunView) => boolean): Promise<RunView> {
  for (;;) {
    const state = (await readBoard(url)).runs.find(isSo);
    if (state) return state;
    await delay(100);
  }
}

describe('dashboard --queue', () => {
  it('shows runs and workers, and pauses, resumes and stops a run elsewhere', async () => {
    const { api, redis, folder, enrich } = await openStage(1_000, { latencyMs: 50 });
    const url = await openDashboard(redis, folder);
    const ask = ({ runId }: RunView, action: string) => askRun(url, runId, action);
    const running = enrich('--concurrency', '4');
    const state = await runWhen(url, ({ outcomes }) => outcomes.found > 20);
    expect(state).toMatchObject({ list: 'list.csv', phase: 'looking_up' });
    // A worker tells what it holds every now and then.
    const workersThen = async (): Promise<Board['workers']> => (await readBoard(url)).workers;
    await expect.poll(workersThen).toMatchObject([{ concurrency: 4 }]);
    expect(await ask(state, 'pause')).toBe(200);
    await runWhen(url, ({ isPaused }) => isPaused);
    const calls = await untilSilent(api);
    expect(calls).toBeLessThan(1_000);
    expect(await ask(state, 'pause')).toBe(409);
    expect(await ask(state, 'resume')).toBe(200);
    while (api.stats().calls === calls) await delay(10);
    await runWhen(url, ({ isPaused }) => !isPaused);
    expect(await ask(state, 'stop')).toBe(200);
    expect((await running.ended).code).toBe(130);
    const ended = await runWhen(url, ({ phase }) => phase === 'ended');
    expect(ended).toMatchObject({ end: 'interrupted', rows: 1_000 });
    expect(ended.actions).toEqual([]);
    for (const left of ['*:run:*', '*:paused:*']) expect(await redis.client.keys(left)).toEqual([]);
  }, 120_000);

  it('shows what runs by schedule, and how its last run ended', async () => {
    const schedules = await openSchedules();
    await schedules.keep(schedules.job('nightly', { cron: FAR, domains: 5 }));
    const url = await openDashboard(schedules.redis, schedules.folder);
    const kept = { job: 'nightly', cron: FAR, isKept: true };
    expect((await readBoard(url)).schedules).toMatchObject([kept]);
    await schedules.ask('nightly');
    await schedules.results('nightly', 1);
    const done = await runWhen(url, ({ phase }) => phase === 'ended');
    expect(done.outcomes.found).toBe(5);
    const result = async () => (await readBoard(url)).schedules[0]?.results[0];
    const headline: unknown = expect.stringContaining(', 5 found.');
    await expect.poll(result).toMatchObject({ exitCode: 0, headline });
  });

  it('shows what can be read, when a record of a run and one of a worker are no JSON', async () => {
    const redis = await useDatabase();
    const url = await openDashboard(redis, openFolder());
    const broken = JSON.stringify({ state: '{"version":', seenMs: Date.now() });
    await redis.client.hset('{brandfill}:runs', 'broken', broken, 'other', 'no JSON');
    await redis.client.hset(WORKERS_KEY, 'broken', 'no JSON');
    const { runs, workers, trouble } = await readBoard(url);
    expect([runs, workers]).toEqual([[], []]);
    expect(trouble).toContain('1 of the runs cannot be shown');
  });

  it('shows what waits and what failed, takes it again, and who left with a wrong key', async () => {
    const { redis, folder, worker, options } = await openStage(3);
    const url = await openDashboard(redis, folder);
    const running = await worker();
    await expect.poll(() => redis.client.scard(QUEUES_KEY)).toBe(1);
    const [queue = ''] = await redis.client.smembers(QUEUES_KEY);
    const ofApi = new Queue(queue, { connection: redis.client, prefix: PREFIX });
    onTestFinished(() => ofApi.close());
    await ofApi.add('lookups', { domains: 'no list' });
    const shown = async () => (await readBoard(url)).queues[0];
    await expect.poll(shown).toMatchObject({ queue, jobs: { failed: 1 }, uncollected: 0 });
    const reason: unknown = expect.stringContaining('domains');
    expect((await shown())?.failures).toMatchObject([{ reason }]);
    await running.stop();
    const again = `${url}/api/queues/${encodeURIComponent(queue)}/failed`;
    expect(await statusOf(again, { method: 'POST' })).toBe(403); // of no page of ours
    expect(await statusOf(again, { method: 'POST', headers: { origin: url } })).toBe(200);
    expect(await shown()).toMatchObject({ jobs: { failed: 0, wait: 1 }, failures: [] });

    // When a worker comes whose key is refused
    const refusing = await openApi({ auth: { scheme: { kind: 'bearer' }, key: 'right' } });
    const env = { ...options.env, BRANDFILL_BASE_URL: refusing.url, BRANDFILL_API_KEY: 'wrong' };
    await startHere(['add', 'list.csv'], { cwd: folder.path, env }).ended;
    await startHere(['worker', '--auth', 'bearer'], { cwd: folder.path, env }).ended;
    const { workers } = await readBoard(url);
    expect(workers).toMatchObject([{ state: 'stopped', stopped: expect.stringContaining('401') }]);
  });

  it('says so while Redis takes or answers nothing, and shows what was there before', async () => {
    const redis = await useRedis();
    const url = await openDashboard(redis, openFolder());
    await redis.client.sadd(QUEUES_KEY, 'api.test');
    await redis.client.xadd(streamKey('api.test'), '*', 'data', '{}');
    await expect.poll(async () => (await readBoard(url)).queues).toHaveLength(1);
    const troubleNow = async () => (await readBoard(url)).trouble;
    await redis.client.config('SET', 'maxmemory', '1mb');
    await expect.poll(troubleNow).toContain('it is out of memory; raise maxmemory. What is shown');
    await redis.client.config('SET', 'maxmemory', '0');
    await expect.poll(troubleNow).toBeUndefined();
    process.kill(redis.pid, 'SIGSTOP');
    const { queues, trouble } = await readBoard(url);
    expect(trouble).toMatch(/does not answer\. What is shown is as it was before\.$/);
    expect(queues).toMatchObject([{ queue: 'api.test', uncollected: 1 }]);
    process.kill(redis.pid, 'SIGCONT');
    await expect.poll(troubleNow).toBeUndefined();
  });
});
