import { describe, expect, it, vi } from 'vitest';
import { FAR, openSchedules } from '../integration/support/schedules.ts';
import { useRedis } from '../support/redis.ts';

/** A command notes in `told.txt` how each run ended. */
const TELL = `onFinish: { command: 'echo "$BRANDFILL_EXIT_CODE" >> ../told.txt' }`;
const SLOW = { cron: FAR, domains: 40, more: ['concurrency: 1', TELL] };
/** The one that takes over must not be starved for so long: it would count as lost, too. */
const lockMs = 3_000;

describe('a scheduled run', () => {
  it('of a process that was frozen is made again by another one, which waits for its end', async () => {
    const { job, keepApart, ask, results, api, folder } = await openSchedules({
      lockMs,
      api: { latencyMs: 100 },
    });
    // So many that the run is not over before it is frozen.
    const file = job('crm', { ...SLOW, domains: 100 });
    const both = [await keepApart(file), await keepApart(file)];
    await ask('crm');
    const taken = both.map(async (each) => {
      await each.shows('crm: starts; it was due at');
      return each;
    });
    const first = await Promise.race(taken);
    const second = both.find((each) => each !== first) ?? first;
    for (const each of taken) each.catch(() => {}); // the other one is not asked
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    first.process.kill('SIGSTOP');
    await second.shows('crm: starts again; it was interrupted, or its process was lost.');
    await second.shows('waiting until that ends');
    first.process.kill('SIGCONT');
    const { results: ended } = await results('crm', 2);
    await Promise.all([first.stop(), second.stop()]);
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(folder.read('crm.enriched.csv')).not.toContain('skipped');
    expect(api.stats().calls).toBe(100);
    expect(folder.read('told.txt')).toBe('0\n0\n');
  });

  it('goes on while Redis is away, and is noted when it is back', async () => {
    const redis = await useRedis({ isPersistent: true });
    const { job, keepApart, ask, results, api } = await openSchedules({
      api: { latencyMs: 100 },
      redis,
    });
    const scheduler = await keepApart(job('crm', SLOW));
    await ask('crm');
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    await redis.stop();
    await scheduler.shows('nobody listens there');
    await vi.waitUntil(() => api.stats().calls === 40, { timeout: 60_000 });
    await redis.start();
    const { results: ended } = await results('crm', 1);
    await scheduler.stop();
    expect(ended).toMatchObject([
      { exitCode: 0, headline: expect.stringMatching(/^Done: 40 rows in .*, 40 found\.$/) },
    ]);
  });

  it('is not begun a fourth time when three processes were lost in it', async () => {
    const { job, keepApart, ask, results, api } = await openSchedules({
      lockMs,
      api: { latencyMs: 20_000 },
    });
    const file = job('crm', SLOW);
    for (let losses = 0; losses < 3; losses += 1) {
      const scheduler = await keepApart(file);
      if (losses === 0) await ask('crm');
      await vi.waitUntil(() => api.stats().calls > losses, { timeout: 60_000 });
      await scheduler.stop('SIGKILL');
    }
    const last = await keepApart(file);
    expect((await results('crm', 1)).results).toMatchObject([
      { exitCode: 1, headline: expect.stringMatching(/^It was begun 3 times without an end/) },
    ]);
    await last.stop();
    expect(api.stats().calls).toBe(3);
  });
});
