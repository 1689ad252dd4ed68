import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  add,
  collect,
  dashboard,
  listSchedules,
  type RunEvent,
  runScheduled,
  schedule,
  tryDomain,
  work,
} from '../../src/index.ts';
import { startRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { FAR } from './support/schedules.ts';

const defect = new Error('a defect of the program');
const fail = (): never => {
  throw defect;
};

async function openRedis() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return redis;
}

describe('a callback that throws', () => {
  it('ends a worker in order, also where a timer calls it: others do what it had', async () => {
    const { url: queue } = await openRedis();
    const api = await openApi({ latencyMs: 1_000 });
    await add({ queue, baseUrl: api.url, input: [{ domain: 'acme.com' }] });
    const options = { queue, baseUrl: api.url };
    await expect(work({ ...options, drain: 0, onReady: fail })).rejects.toBe(defect);
    const rejects = (): unknown => Promise.reject(defect);
    await expect(work({ ...options, drain: 0, onNotice: rejects })).rejects.toBe(defect);
    const stop = new AbortController();
    const working = work({ ...options, signal: stop.signal });
    while (api.stats().calls === 0) await delay(20);
    stop.abort();
    const { isHandedBack } = await working;
    expect(isHandedBack).toBe(true);
    expect(api.callsOf('acme.com').answered).toBe(1);
  });

  it('ends a schedule: the run is made again by whoever comes next', async () => {
    const { url: queue } = await openRedis();
    const api = await openApi();
    const folder = openList('domain\nacme.com\n');
    const lines = ['input: list.csv', `baseUrl: ${api.url}`, `schedule: { cron: '${FAR}' }`];
    const options = { queue, files: [folder.write('nightly.yaml', `${lines.join('\n')}\n`)] };
    const onNotice = (message: string): void => {
      if (message.startsWith('Keeping')) void runScheduled('nightly', { queue });
    };
    const ended = schedule({ ...options, onNotice, onRunEvent: fail });
    await expect(ended).rejects.toBe(defect);
    const stop = new AbortController();
    const again = schedule({ ...options, signal: stop.signal });
    await expect
      .poll(async () => (await listSchedules({ queue }))[0]?.results[0]?.rows, {
        timeout: 60_000,
      })
      .toBe(1);
    stop.abort();
    await again;
  });

  it('ends a trial, also where a timer calls it', async () => {
    const { url: baseUrl } = await openApi({ latencyMs: 1_000 });
    const onEvent = ({ type }: RunEvent): void => {
      if (type === 'progress') throw defect;
    };
    const store = openFolder().at('store');
    const trial = tryDomain({ domain: 'acme.com', baseUrl, store, onEvent });
    await expect(trial).rejects.toBe(defect);
  });

  it('ends an adding, a collector and a dashboard, also where its promise is rejected', async () => {
    const { url: queue } = await openRedis();
    const outDir = openFolder().at('out');
    const onNotice = (): unknown => Promise.reject(defect);
    const added = { queue, baseUrl: 'http://127.0.0.1:9', input: [{ domain: 'acme.com' }] };
    await expect(add({ ...added, onNotice })).rejects.toBe(defect);
    await expect(collect({ queue, outDir, onNotice: fail })).rejects.toBe(defect);
    const token = 'a-token-of-the-dashboard';
    await expect(dashboard({ queue, listen: 0, token, onNotice: fail })).rejects.toBe(defect);
  });
});
