import { describe, expect, it } from 'vitest';
import { LOOKUPS_QUEUE, PREFIX } from '../../src/queue/bullmq/names.ts';
import { type Running, start, summaryOf } from './support/command.ts';
import { openQueue } from './support/open-queue.ts';
import { openStage, type Stage } from './support/queue-stage.ts';
import { domains, listOf } from './support/tables.ts';

/** Kills a run that makes no lookup itself, once so many of its chunks wait. */
async function killWithChunks(
  { enrich, redis }: Stage,
  chunks: number,
  ...flags: readonly string[]
): Promise<void> {
  const killed = await enrich('--workers', '0', ...flags);
  await expect
    .poll(() => redis.client.zcard(`${PREFIX}:${LOOKUPS_QUEUE}:prioritized`))
    .toBeGreaterThanOrEqual(chunks);
  killed.process.kill('SIGKILL');
  await killed.ended;
}

describe('a run over Redis that goes on where a killed one ended', () => {
  it('keeps to a --max-calls that it did not have before it was killed', async () => {
    const stage = await openStage(300);
    await killWithChunks(stage, 3);
    const again = await (await stage.enrich('--max-calls', '20')).ended;
    expect(again.code, again.stderr).toBe(4);
    expect(stage.api.stats().calls).toBe(20);
    expect(await stage.redis.client.keys('*:run-calls:*')).toEqual([]);
  });

  it('counts no call that workers made before it took up what a killed run had left', async () => {
    const stage = await openStage(100);
    await killWithChunks(stage, 4);
    await stage.worker();
    await expect.poll(() => stage.redis.client.llen(`${PREFIX}:${LOOKUPS_QUEUE}:active`)).toBe(0);
    await expect.poll(() => stage.api.stats().calls).toBe(100);
    const again = await (await stage.enrich('--workers', '0', '--json')).ended;
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain('left 100 lookups to workers; this one takes up what they find');
    expect(summaryOf(again)).toMatchObject({ calls: 0, lookups: 100, freshDomains: 0 });
    expect(stage.api.stats().calls).toBe(100);
  });

  it('asks nothing again that a worker had found out when it stopped meanwhile', async () => {
    const stage = await openStage(100, { latencyMs: 50 });
    const worker = await stage.worker(['--concurrency', '4']);
    const killed = await stage.enrich('--workers', '0');
    await expect.poll(() => stage.api.stats().calls).toBeGreaterThan(10);
    killed.process.kill('SIGKILL');
    worker.process.kill('SIGTERM');
    await Promise.all([killed.ended, worker.ended]);
    await stage.worker();
    const { code, stderr } = await (await stage.enrich('--workers', '0')).ended;
    expect(code, stderr).toBe(0);
    expect(stage.api.stats()).toMatchObject({ calls: 100, domains: { mostCalls: 1 } });
  });

  it('gives out at once what it had noted, but not put on the queue yet, when it was killed', async () => {
    const stage = await openStage(100);
    await killWithChunks(stage, 4);
    const queue = openQueue(LOOKUPS_QUEUE, stage.redis);
    const [job] = await queue.getPrioritized();
    await job?.remove();
    await stage.worker();
    const { code, stderr } = await (await stage.enrich('--workers', '0')).ended;
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('left 75 lookups to workers');
    expect(stderr).not.toContain('missing from Redis');
    expect(stage.api.stats().calls).toBe(100);
  });

  it('bounds also what workers have begun already', async () => {
    const stage = await openStage(400, { latencyMs: 500 });
    await stage.worker(['--concurrency', '8']);
    const killed = await stage.enrich('--workers', '0');
    await expect.poll(() => stage.api.stats().calls).toBeGreaterThan(0);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const again = await stage.enrich('--workers', '0', '--max-calls', '10');
    await again.shows('An earlier run of this list did not end');
    const { calls } = stage.api.stats();
    const { code, stderr } = await again.ended;
    expect(code, stderr).toBe(4);
    // Those under way at first, and those that start before the worker hears of the bound.
    expect(stage.api.stats().calls - calls).toBeLessThanOrEqual(10 + 2 * 8);
  });

  it('is not stopped by a worker that learns late that the calls of a killed run were used up', async () => {
    const stage = await openStage(10, {
      latencyMs: 2_000,
      respond: (domain, call) =>
        call === 1 && /-[0-3]\./.test(domain) ? { status: 500 } : { body: { name: 'A' } },
    });
    await stage.worker(['--concurrency', '8']);
    const killed = await stage.enrich('--workers', '0', '--max-calls', '4');
    await expect.poll(() => stage.api.stats().calls).toBe(4);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const { code, stderr } = await (await stage.enrich('--workers', '0', '--max-calls', '40'))
      .ended;
    expect(code, stderr).toBe(0);
    expect(stage.api.stats().calls).toBe(14);
  });

  it('forgets a --max-calls that it had before it was killed', async () => {
    const stage = await openStage(20, {
      respond: (domain, call) =>
        call === 1 && /[05]\./.test(domain) ? { status: 500 } : { body: { name: 'A' } },
    });
    await killWithChunks(stage, 1, '--max-calls', '20');
    await stage.worker();
    const { code, stderr } = await (await stage.enrich('--workers', '0')).ended;
    expect(code, stderr).toBe(0);
    expect(stage.api.stats().calls).toBe(24);
  });

  it('takes up what came through a pipe only when the same comes again', async () => {
    const { api, redis, folder, worker } = await openStage(0);
    const enrich = (stdin: string, ...flags: readonly string[]): Promise<Running> =>
      start(['enrich', '-', '--progress', 'none', '--workers', '0', ...flags], {
        cwd: folder.path,
        env: { BRANDFILL_BASE_URL: api.url, BRANDFILL_QUEUE: redis.url },
        stdin,
      });
    const [list, other] = [listOf(domains(50)), listOf(['another.com'])];
    const killed = await enrich(list);
    await expect
      .poll(() => redis.client.zcard(`${PREFIX}:${LOOKUPS_QUEUE}:prioritized`))
      .toBeGreaterThan(0);
    killed.process.kill('SIGKILL');
    await killed.ended;
    await worker();
    const others = await (await enrich(other)).ended;
    expect(others).toMatchObject({ code: 0, stderr: expect.not.stringContaining('did not end') });
    const same = await (await enrich(list)).ended;
    expect(same).toMatchObject({ code: 0, stderr: expect.stringContaining('did not end') });
    expect(api.stats().calls).toBe(51);
  });
});
