import { describe, expect, it } from 'vitest';
import { inTime } from '../../src/common/lifetime.ts';
import { untilSilent } from '../integration/support/api.ts';
import { SEEDS, seededRandom } from '../support/random.ts';
import { respond } from './support/chaos-list.ts';
import { MOST_PROBES, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-restart.test.ts');

describe('SIGTERM of workers under load', () => {
  it('in turn, as in a rolling restart: no call is made twice', async () => {
    const fleet = await openFleet({
      random,
      rows: 400 * SEEDS,
      api: { latencyMs: { fromMs: 60, toMs: 500 } },
      lockMs: 15_000,
    });
    const workers = await fleet.workers(3);
    const run = fleet.run();
    let isOver = false;
    const over = run.ended.finally(() => {
      isOver = true;
    });
    let restarts = 0;
    while (!isOver && restarts < 3 * SEEDS) {
      const calls = fleet.api.stats().calls + random.between(1, 70);
      await Promise.race([fleet.calls(calls), over]);
      const oldest = workers.shift();
      if (isOver || !oldest) break;
      workers.push(await fleet.worker());
      const ended = await oldest.stop();
      expect(ended.code, ended.stderr).toBe(0);
      expect(ended.stderr).toContain('Stopped after');
      restarts += 1;
    }
    await fleet.expectWhole(await over);
    expect(restarts).toBeGreaterThan(0);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(MOST_PROBES);
  });

  it('gives calls under way the time of --drain, and no more', async () => {
    let isSlow = true;
    const fleet = await openFleet({
      random,
      rows: 60,
      trouble: (domain) => (isSlow ? { ...respond(domain), delayMs: 3_600_000 } : undefined),
    });
    const worker = await fleet.worker('--drain', '500ms', '--timeout', '1h');
    const run = fleet.run();
    await fleet.calls(3); // at first few calls go ahead
    expect((await worker.stop()).code).toBe(0);
    isSlow = false;
    await fleet.workers(2);
    await fleet.expectWhole(await run.ended);
  });

  it('ends a worker even when Redis is gone', async () => {
    const fleet = await openFleet({ random, rows: 200, api: { latencyMs: 200 } });
    const worker = await fleet.worker('--drain', '1s');
    const run = await fleet.enrich('--workers', '0');
    await fleet.calls(20);
    await fleet.redis.kill();
    worker.process.kill('SIGTERM');
    const ended = await inTime(20_000, worker.ended);
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(
      /Redis does not answer: other workers will take over .*\n.* calls\.\n$/,
    );
    run.process.kill('SIGKILL');
  });
});

describe('Ctrl-C of a run', () => {
  it('takes back what nobody has begun, and goes on with the same command', async () => {
    const fleet = await openFleet({ random, rows: 400, lockMs: 15_000 });
    await fleet.worker();
    const run = fleet.run();
    await fleet.calls(80);
    const stopped = await run.stop('SIGINT');
    expect(stopped.code, stopped.stderr).toBe(130);
    const { calls } = fleet.api.stats();
    expect(await untilSilent(fleet.api)).toBe(calls);
    expect(calls).toBeLessThan(320);
    const again = fleet.run();
    await fleet.expectWhole(await again.ended);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(MOST_PROBES);
  });

  it('ends it, and the same command goes on, when Redis is gone', async () => {
    const fleet = await openFleet({ random, rows: 200, api: { latencyMs: 200 } });
    const flags = ['--max-calls-per', '100000/month'];
    const run = await fleet.enrich(...flags);
    await fleet.calls(40);
    await fleet.redis.kill();
    run.process.kill('SIGINT');
    const ended = await inTime(LONGEST_END_MS, run.ended);
    expect(ended.code, ended.stderr).toBe(130);
    expect(fleet.folder.names()).toContain('list.enriched.csv');
    await fleet.redis.start();
    const again = await fleet.enrich(...flags);
    await fleet.expectWhole(await again.ended);
  });
});

/** Calls under way get ten seconds, and what waits for Redis some more. */
const LONGEST_END_MS = 35_000;
