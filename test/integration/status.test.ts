import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useDatabase, useRedis } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { runHere, type Started, startHere } from './support/command.ts';
import { openFolder, openList } from './support/folder.ts';
import { FAR, openSchedules } from './support/schedules.ts';

function found(metrics: Samples, run = 'enrich', outcome = 'found'): number {
  return valueOf(metrics, 'brandfill_lookups_total', { run, outcome }) ?? 0;
}

/** Values of labels that may be of a list, or text. */
function findLooseLabels(metrics: Samples): readonly string[] {
  return [...metrics.keys()].filter((sample) => /company-|\/|\s/.test(sample));
}

it('enrich --listen tells how it goes while it runs, in metrics by the conventions', async () => {
  const api = await openApi({ notFound: 0.5, seed: 7 });
  const folder = openList(500);
  const flags = ['--rate', '40/s', '--concurrency', '16', '--listen', '0'];
  const args = ['enrich', 'list.csv', '--base-url', api.url, ...flags];
  const running = startHere(args, { cwd: folder.path });
  const status = await statusOf(running);
  expect(status.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const metrics = await status.metricsWhen((now) => found(now) >= 10);

  expect(findLooseLabels(metrics)).toEqual([]);
  expect(metrics.size).toBeLessThan(300); // so that an operator can look at them
  expect(await status.ready()).toEqual({ status: 200, reasons: [] });
  const notFound = found(metrics, 'enrich', 'not_found');
  expect(notFound).toBeGreaterThan(0);
  const answered = (answer: string): number =>
    valueOf(metrics, 'brandfill_answers_total', { run: 'enrich', answer }) ?? 0;
  expect(answered('200')).toBeGreaterThanOrEqual(found(metrics));
  expect(answered('404')).toBeGreaterThanOrEqual(notFound);
  const ofRun = { run: 'enrich' };
  expect(valueOf(metrics, 'brandfill_lookups_due', ofRun)).toBe(500);
  expect(valueOf(metrics, 'brandfill_pace_limit_calls_per_second', ofRun)).toBe(40);
  expect(valueOf(metrics, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
  expect(valueOf(metrics, 'brandfill_redis_up')).toBeUndefined();

  expect((await running.stop('SIGINT')).code).toBe(130);
});

describe('over a queue', () => {
  it('a worker tells of its calls and of the queue, and is not ready once it is told to stop', async () => {
    const silent = await openServer(() => {});
    const redis = await useDatabase();
    const folder = openList(120);
    const flags = ['--base-url', silent.url, '--queue', redis.url];
    const queue = new URL(silent.url).host.replace(':', '-');
    const options = { cwd: folder.path };
    await runHere(['add', 'list.csv', ...flags], options);
    const bounds = ['--concurrency', '2', '--drain', '3s', '--listen', '127.0.0.1:0'];
    const worker = startHere(['worker', ...flags, ...bounds], options);
    const status = await statusOf(worker);
    const metrics = await status.metricsWhen(
      (now) => valueOf(now, 'brandfill_calls_total', { run: 'worker' }) === 2,
    );
    expect(findLooseLabels(metrics)).toEqual([]);
    expect(metrics.size).toBeLessThan(300); // so that an operator can look at them
    expect(valueOf(metrics, 'brandfill_redis_up')).toBe(1);
    expect(valueOf(metrics, 'brandfill_queue_workers')).toBe(1);
    const jobs = (state: string): number | undefined =>
      valueOf(metrics, 'brandfill_queue_jobs', { queue, state });
    expect(jobs('active')).toBeGreaterThan(0);
    expect((jobs('active') ?? 0) + (jobs('prioritized') ?? 0)).toBe(3);
    expect(await status.ready()).toEqual({ status: 200, reasons: [] });

    const stopped = worker.stop();
    await status.unreadyFor('it is stopping');
    expect((await fetch(`${status.url}/livez`)).status).toBe(200);
    expect((await stopped).code).toBe(0);
  });

  it('a worker whose Redis is gone is not ready, says why, and is again when Redis is back', async () => {
    const api = await openApi();
    const redis = await useRedis();
    const args = ['worker', '--base-url', api.url, '--queue', redis.url, '--listen', '0'];
    const worker = startHere(args, { cwd: openFolder().path });
    const status = await statusOf(worker);
    await worker.shows('Waiting for lookups');
    await redis.kill();
    await status.unreadyFor(`Redis at 127.0.0.1:${redis.port}: nobody listens there`);
    expect(valueOf(await status.metrics(), 'brandfill_redis_up')).toBe(0);
    await redis.start();
    const metrics = await status.metricsWhen((now) => valueOf(now, 'brandfill_redis_up') === 1);
    expect(valueOf(metrics, 'brandfill_calls_total', { run: 'worker' })).toBe(0);
    expect((await status.ready()).status).toBe(200);
  });

  it('schedules tell how their runs went, which have no server of their own', async () => {
    const schedules = await openSchedules();
    const taken = await openServer();
    const { port } = new URL(taken.url);
    const file = schedules.job('nightly', { cron: FAR, domains: 3, more: [`listen: ${port}`] });
    const scheduler = await schedules.keep(file, '--listen', '0');
    const status = await statusOf(scheduler);
    await schedules.ask('nightly');
    const ofRun = { run: 'nightly' };
    const metrics = await status.metricsWhen(
      (now) => valueOf(now, 'brandfill_schedule_last_run_exit_code', ofRun) !== undefined,
    );
    expect(valueOf(metrics, 'brandfill_schedule_last_run_exit_code', ofRun)).toBe(0);
    expect(found(metrics, 'nightly')).toBe(3);
    const next = valueOf(metrics, 'brandfill_schedule_next_run_timestamp_seconds', ofRun) ?? 0;
    expect(next).toBeGreaterThan(Date.now() / 1_000);
    const last = valueOf(metrics, 'brandfill_schedule_last_success_timestamp_seconds', ofRun) ?? 0;
    expect(Math.abs(last - Date.now() / 1_000)).toBeLessThan(60);
    expect((await status.ready()).status).toBe(200);
    expect((await scheduler.stop()).code).toBe(0);
  });
});

/** The values of metrics, by name and labels as they are written. */
type Samples = ReadonlyMap<string, number>;

function samplesIn(text: string): Samples {
  const lines = text.matchAll(/^([^#\n].*) (\S+)$/gm);
  return new Map(Array.from(lines, ([, sample = '', value]) => [sample, Number(value)]));
}

/** The value of the sample with these labels and no others; undefined when there is none. */
function valueOf(
  samples: Samples,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const own = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return samples.get(own.length === 0 ? name : `${name}{${own.join(',')}}`);
}

/** The HTTP server of a command that runs with `--listen`, once it says where it listens. */
async function statusOf(running: Started) {
  const shown = await running.shows('/livez and /readyz.');
  const [, url = ''] = /Listening on (\S+) for/.exec(shown) ?? [];
  const metrics = async (): Promise<Samples> =>
    samplesIn(await (await fetch(`${url}/metrics`)).text());
  /** What `/readyz` answers. */
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    const { reasons } = (await answer.json()) as { reasons: readonly string[] };
    return { status: answer.status, reasons };
  };
  return {
    url,
    metrics,
    ready,
    /** Reads the metrics until they are as wanted. */
    metricsWhen: async (isSo: (metrics: Samples) => boolean): Promise<Samples> => {
      for (;;) {
        const now = await metrics();
        if (isSo(now)) return now;
        await delay(50);
      }
    },
    /** Asks `/readyz` until it has a reason. */
    unreadyFor: async (reason: string): Promise<void> => {
      for (;;) {
        const { status, reasons } = await ready();
        if (status === 503 && reasons.some((one) => one.startsWith(reason))) return;
        await delay(50);
      }
    },
  };
}
