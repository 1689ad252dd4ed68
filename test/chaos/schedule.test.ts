import { describe, expect, it, vi } from 'vitest';
import { FAR, openSchedules, terminate } from '../integration/support/schedules.ts';

/** A command notes in `told.txt` how each run ended. */
const TELL = `onFinish: { command: 'echo "$BRANDFILL_EXIT_CODE" >> ../told.txt' }`;
const SLOW = { cron: FAR, domains: 40, more: ['concurrency: 1', TELL] };
/** The one that takes over must not be starved for so long: it would count as lost, too. */
const LOST_AFTER = ['--lost-after', '3s'];

describe('a scheduled run', () => {
  it('of a process that was frozen goes to another one, and the first gives it up', async () => {
    let delayMs = 100;
    const { job, keep, ask, results, api, folder } = await openSchedules({
      api: { respond: (domain) => ({ body: { name: domain }, delayMs }) },
    });
    const file = job('crm', SLOW);
    const first = await keep(...LOST_AFTER, file);
    await ask('crm');
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    // From here on it waits for an answer, for longer than the other one takes to start on a busy machine:
    // frozen in a commit, it would keep the store from the other one.
    delayMs = 60_000;
    const second = await keep(...LOST_AFTER, file);
    first.process.kill('SIGSTOP');
    delayMs = 100;
    await second.shows('crm: starts again; its process was lost during the run.');
    // On one machine it can be seen that the first is still there, with its output.
    await second.shows('crm: waits because another run still uses the output');
    first.process.kill('SIGCONT');
    await first.shows('crm: ended with exit code 130');
    const { results: ended } = await results('crm', 2);
    await Promise.all([terminate(first), terminate(second)]);
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 130]);
    expect(folder.read('crm.enriched.csv')).not.toContain('skipped');
    expect(api.stats().calls).toBeLessThan(45);
    expect(folder.read('told.txt'), 'nobody is told of the waiting').toBe('130\n0\n');
  });

  it('whose claim Redis forgot while it was away is made again', async () => {
    const { job, keep, ask, results, api, redis } = await openSchedules({
      api: { latencyMs: 100 },
      redis: { isPersistent: true },
    });
    const scheduler = await keep(...LOST_AFTER, job('crm', SLOW));
    await ask('crm');
    await vi.waitUntil(() => api.stats().calls > 5, { timeout: 60_000 });
    await redis.stop();
    await scheduler.shows('crm: Interrupted');
    await redis.start();
    const { results: ended } = await results('crm', 2);
    await terminate(scheduler);
    expect(ended.map(({ exitCode, rows }) => [exitCode, rows])).toEqual([
      [0, 40],
      [130, 40],
    ]);
    expect(api.stats().calls).toBeLessThan(45);
  });

  it('is not begun a fourth time when three processes were lost in it', async () => {
    const { job, keep, ask, results, api, folder } = await openSchedules({
      api: { latencyMs: 20_000 },
    });
    const file = job('crm', SLOW);
    for (let losses = 0; losses < 3; losses += 1) {
      const scheduler = await keep(...LOST_AFTER, file);
      if (losses === 0) await ask('crm');
      await vi.waitUntil(() => api.stats().calls > losses, { timeout: 60_000 });
      scheduler.process.kill('SIGKILL');
      await scheduler.ended;
    }
    const last = await keep(...LOST_AFTER, file);
    expect((await results('crm', 1)).results).toMatchObject([
      { exitCode: 1, error: expect.stringMatching(/^3 processes were lost during the run/) },
    ]);
    await terminate(last);
    expect(api.stats().calls).toBe(3);
    expect(folder.read('told.txt')).toBe('1\n');
  });
});
