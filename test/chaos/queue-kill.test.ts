import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Running } from '../integration/support/command.ts';
import { SEEDS, seededRandom } from '../support/random.ts';
import { CONCURRENCY, MOST_PROBES, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-kill.test.ts');
/** The calls that it has under way, and the outcomes of the last milliseconds. */
const LOST_WITH_A_PROCESS = 2 * CONCURRENCY;
/** So that the run is not over before some workers were killed, on a slow machine too. */
const SLOW = { latencyMs: { fromMs: 50, toMs: 500 } };

describe('kill -9', () => {
  it('of workers, again and again, costs the calls they had under way and those that just ended', async () => {
    const fleet = await openFleet({ random, rows: 300 * SEEDS, api: SLOW });
    const workers = await fleet.workers(3);
    const run = fleet.run();
    let kills = 0;
    let isOver = false;
    const over = run.ended.then((ended) => {
      isOver = true;
      return ended;
    });
    while (!isOver && kills < 3 * SEEDS) {
      const calls = fleet.api.stats().calls + random.between(1, 50);
      await Promise.race([fleet.calls(calls), over]);
      const [victim] = workers.splice(random.between(0, workers.length - 1), 1);
      if (isOver || !victim) break;
      await victim.stop('SIGKILL');
      kills += 1;
      workers.push(await fleet.worker());
    }
    await fleet.expectWhole(await over);
    console.log(`queue-kill.test.ts: ${kills} workers killed, ${fleet.excessCalls()} calls again`);
    expect(kills).toBeGreaterThan(0);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(kills * LOST_WITH_A_PROCESS);
  });

  it('of the run, then the same list again, for another output too: no call is made twice', async () => {
    const fleet = await openFleet({ random, rows: 400 * SEEDS, lockMs: 15_000 });
    await fleet.worker();
    for (let kills = 0; kills < 2 * SEEDS; kills += 1) {
      const output = kills % 2 === 0 ? ['--out', 'other.csv'] : [];
      const run = await fleet.enrich('--workers', '0', ...output);
      await fleet.calls(fleet.api.stats().calls + random.between(30, 120));
      await run.stop('SIGKILL');
      expect(fleet.folder.names()).not.toContain('list.enriched.csv');
      expect(fleet.folder.names()).not.toContain('other.csv');
    }
    const run = fleet.run();
    await fleet.expectWhole(await run.ended);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(MOST_PROBES);
  });

  it('of the run for good: what is left of it in Redis goes by itself', async () => {
    const fleet = await openFleet({ random, rows: 300 });
    const worker = await fleet.worker();
    const run = await fleet.enrich('--workers', '0');
    await fleet.calls(60);
    await run.stop('SIGKILL');
    await fleet.calls(120); // the worker goes on
    await worker.stop();
    const { client } = fleet.redis;
    const left = (await client.keys('*')).filter((key) => /:(?:run|outcomes):/.test(key));
    const leftMs = await Promise.all(left.map((key) => client.pttl(key)));
    expect(left).toHaveLength(2);
    expect(left.filter((_, at) => leftMs[at] === -1)).toEqual([]);
  });

  it('of whoever takes a certain domain: it is found out and given up, the rest is enriched', async () => {
    const fleet = await openFleet({ random, rows: 20 });
    const workers = new Set<Running>();
    let isOver = false;
    const poison = 'company-7.com';
    const guard = async (): Promise<void> => {
      while (!isOver) {
        const worker = await fleet.worker('--concurrency', '4');
        workers.add(worker);
        const before = fleet.api.callsOf(poison).calls;
        while (!isOver && fleet.api.callsOf(poison).calls === before) await delay(5);
        if (!isOver) await worker.stop('SIGKILL');
      }
    };
    const guarding = guard();
    const run = fleet.run();
    const ended = await run.ended;
    isOver = true;
    await guarding;
    expect(ended.code, ended.stderr).toBe(3);
    const failed = fleet.folder
      .read('list.enriched.csv')
      .split('\n')
      .filter((line) => line.includes(',failed,'));
    expect(new Set(failed.map((line) => line.split(',')[3]))).toEqual(new Set([poison]));
    expect(fleet.folder.read('list.failures.csv')).toContain('worker_crashed');
  });
});
