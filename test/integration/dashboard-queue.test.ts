import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import type { Board } from '../../src/page/board.ts';
import { QUEUES_KEY, WORKERS_KEY } from '../../src/queue/names.ts';
import type { RunView } from '../../src/watch/run-view.ts';
import { type TestDatabase, useDatabase, useRedis } from '../support/redis.ts';
import { untilSilent } from './support/api.ts';
import { askRun, readBoard, statusOf } from './support/dashboards.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { startHere } from './support/program.ts';
import { openStage } from './support/queue-stage.ts';
import { FAR, openSchedules } from './support/schedules.ts';

async function openDashboard(redis: TestDatabase, folder: Folder): Promise<string> {
  const args = ['dashboard', '--queue', redis.url, '--listen', '0'];
  const dashboard = startHere(args, { cwd: folder.path });
  const [, url] = / is on (http:\S+)\./.exec(await dashboard.shows(' is on http')) ?? [];
  if (url === undefined) throw new Error('The dashboard did not say where it is.');
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
  }, 120_000);

  it('shows what runs by schedule, and how its last run ended', async () => {
    const schedules = await openSchedules();
    await schedules.keep(schedules.job('nightly', { cron: FAR, domains: 5 }));
    const url = await openDashboard(schedules.redis, schedules.folder);
    expect((await readBoard(url)).schedules[0]).toMatchObject({
      job: 'nightly',
      cron: FAR,
      isKept: true,
    });
    await schedules.ask('nightly');
    await schedules.results('nightly', 1);
    const done = await runWhen(url, ({ phase }) => phase === 'ended');
    expect(done.outcomes.found).toBe(5);
    await expect
      .poll(async () => (await readBoard(url)).schedules[0]?.results[0], { timeout: 60_000 })
      .toMatchObject({ exitCode: 0, headline: expect.stringContaining(', 5 found.') });
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

  it('has the queues to look at, and nothing in them can be changed', async () => {
    const redis = await useDatabase();
    const url = await openDashboard(redis, openFolder());
    await redis.client.sadd(QUEUES_KEY, 'api.test');
    const { headers, body } = await request(`${url}/queues`);
    const html = await body.text();
    expect(html).toContain('Brandfill');
    expect(html).not.toMatch(/(?:href|src)="https?:/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
    const [, script] = /src="(static\/js\/main[^"]+)"/.exec(html) ?? [];
    expect(await statusOf(`${url}/queues/${script}`)).toBe(200);
    const queues = await request(`${url}/queues/api/queues`);
    const { queues: found } = (await queues.body.json()) as { queues: { name: string }[] };
    expect(found.map(({ name }) => name)).toEqual(['api.test']);
    const change = { method: 'PUT', headers: { origin: url } } as const;
    expect(await statusOf(`${url}/queues/api/queues/api.test/pause`, change)).toBe(405);
    const baseBelow = async (prefix: string): Promise<string | undefined> => {
      const page = await request(`${url}/queues`, { headers: { 'x-forwarded-prefix': prefix } });
      return /<base href="(.*?)" \/>/.exec(await page.body.text())?.[1];
    };
    expect(await baseBelow('/tools/brandfill')).toBe('/tools/brandfill/queues/');
    expect(await baseBelow('//evil.example.com')).toBe('/queues/');
  });

  it('answers with a sentence while Redis says nothing, and shows the queues when it does again', async () => {
    const redis = await useRedis();
    const url = await openDashboard(redis, openFolder());
    expect(await statusOf(`${url}/queues`)).toBe(200);
    process.kill(redis.pid, 'SIGSTOP');
    for (const path of ['/queues', '/queues/api/queues']) {
      const { statusCode, body } = await request(`${url}${path}`);
      expect([statusCode, await body.text()]).toEqual([
        503,
        expect.stringContaining('Redis does not answer'),
      ]);
    }
    process.kill(redis.pid, 'SIGCONT');
    await expect.poll(() => statusOf(`${url}/queues`), { timeout: 30_000 }).toBe(200);
  });
});
