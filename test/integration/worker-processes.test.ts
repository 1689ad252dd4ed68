import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePort, useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { run, start, summaryOf } from './support/command.ts';
import { openList } from './support/lists.ts';

async function openStage(rows: number, latencyMs = 20) {
  const redis = await useRedis();
  const folder = openList(rows);
  const api = await openApi({ latencyMs });
  const shared = ['--queue', redis.url, '--base-url', api.url];
  const options = { cwd: folder.path };
  return {
    redis,
    api,
    options,
    worker: (...flags: readonly string[]) => start(['worker', ...shared, ...flags], options),
    enrich: (...flags: readonly string[]) =>
      run(['enrich', 'list.csv', ...shared, '--workers', '0', '--json', ...flags], options),
    /** The processes that say they are workers. */
    workers: async () => {
      const keys = await redis.client.keys('*:worker:*');
      const notices = keys.length === 0 ? [] : await redis.client.mget(keys);
      return notices.map((notice) => (JSON.parse(notice ?? '{}') as { pid: number }).pid);
    },
  };
}

describe('worker --processes', () => {
  it('runs so many workers, stops all of them, and starts one again that was lost', async () => {
    const { api, worker, workers, enrich } = await openStage(200);
    const running = await worker('--processes', '2', '--concurrency', '2', '--lost-after', '2s');
    await expect.poll(workers).toHaveLength(2);
    const before = await workers();
    process.kill(before[1] ?? 0, 'SIGKILL');
    await running.shows('it is started again');
    await expect.poll(async () => (await workers()).every((pid) => pid !== before[1])).toBe(true);
    const ended = await enrich();
    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 200 } });
    expect(api.stats().calls).toBe(200);
    running.process.kill('SIGTERM');
    const { code, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(stderr.split('Stopped after')).toHaveLength(3);
    expect(await workers()).toEqual([]);
  });

  it('stops them when it is killed itself', async () => {
    const { worker, workers } = await openStage(0);
    const running = await worker('--processes', '2');
    await expect.poll(workers).toHaveLength(2);
    running.process.kill('SIGKILL');
    await expect.poll(workers).toEqual([]);
  });

  it('has each listen at a port of its own', async () => {
    const { worker, workers } = await openStage(0);
    const port = await freeNeighbours();
    const running = await worker('--processes', '2', '--listen', String(port));
    await expect.poll(workers).toHaveLength(2);
    const health = async (port: number): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/livez`)).status;
    expect([await health(port), await health(port + 1)]).toEqual([200, 200]);
    running.process.kill('SIGTERM');
    await running.ended;
  });

  it('says once what is wrong with the options', async () => {
    const { options } = await openStage(0);
    const ended = await run(
      [
        'worker',
        '--processes',
        '4',
        '--queue',
        'redis://127.0.0.1:9',
        '--base-url',
        'http://a.test',
      ],
      options,
    );
    expect(ended.code).toBe(2);
    expect(ended.stderr.split('Cannot use the queue')).toHaveLength(2);
    const none = await run(['worker', '--processes', '0'], options);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--processes 0') });
  });
});

/** The first of two ports that follow each other and are free. */
async function freeNeighbours(): Promise<number> {
  for (;;) {
    const port = await freePort();
    const next = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      next.once('error', () => resolve(false));
      next.listen(port + 1, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => next.close(resolve));
    if (isFree) return port;
  }
}
