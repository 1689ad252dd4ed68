import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QUEUE_OPTIONS } from '../../src/queue/names.ts';
import { seededRandom } from '../support/random.ts';
import { openSwallowingProxy } from '../support/swallowing-proxy.ts';
import { respond } from './support/chaos-list.ts';
import { CONCURRENCY, MOST_PROBES, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-outage.test.ts');

describe('Redis', () => {
  it('without persistence, restarted: what is gone is found out and given out again', async () => {
    const fleet = await openFleet({ random, rows: 300 });
    await fleet.worker();
    const run = fleet.run();
    await fleet.calls(60);
    await fleet.redis.kill();
    await fleet.redis.start();
    const ended = await run.ended;
    await fleet.expectWhole(ended);
    expect(ended.stderr).toContain('were gone from Redis without an answer');
  });

  it('killed and gone for a while, with AOF: work goes on within seconds of its return, and nothing is lost', async () => {
    const redis = { isPersistent: true };
    const fleet = await openFleet({ random, rows: 300, redis, lockMs: 15_000 });
    const worker = await fleet.worker();
    const run = fleet.run();
    await fleet.calls(60);
    await fleet.redis.kill();
    await delay(3_000);
    const { calls } = fleet.api.stats();
    const startMs = performance.now();
    await fleet.redis.start();
    await fleet.calls(calls + 1);
    console.log(
      `queue-outage.test.ts: calls again after ${Math.round(performance.now() - startMs)} ms`,
    );
    await fleet.expectWhole(await run.ended);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(CONCURRENCY);
    expect((await worker.stop()).stderr).toContain('answers again');
  });

  it('out of reach, while bytes are swallowed: nothing is lost', async () => {
    const fleet = await openFleet({ random, rows: 300 });
    const proxy = await openSwallowingProxy(fleet.redis.port);
    fleet.queueUrl = `redis://127.0.0.1:${proxy.port}/0`;
    await fleet.worker();
    const run = fleet.run();
    await fleet.calls(60);
    proxy.isSwallowing = true;
    await delay(3_000);
    proxy.isSwallowing = false;
    await fleet.expectWhole(await run.ended);
  });

  it('back after an outage gets jobs again that are done by then, and none is made twice', async () => {
    const delayMs = 15_000;
    const fleet = await openFleet({
      random,
      rows: 300,
      trouble: (domain) =>
        domain === 'company-0.com' ? { ...respond(domain), delayMs } : undefined,
    });
    const run = fleet.run();
    const { port } = new URL(fleet.api.url);
    const queue = new Queue(`127.0.0.1-${port}`, {
      connection: fleet.redis.client,
      ...QUEUE_OPTIONS,
    });
    onTestFinished(() => queue.close());
    await expect.poll(() => queue.getPrioritizedCount()).toBeGreaterThan(3);
    const jobs = await queue.getPrioritized();
    await fleet.worker();
    await fleet.calls(230);
    // The one with the slow call, and at most one whose verdict waits for what that call tells.
    await expect.poll(() => queue.getActiveCount()).toBeLessThanOrEqual(2);
    expect(await queue.getActiveCount()).toBeGreaterThan(0);
    for (const { name, data, opts } of jobs) await queue.add(name, data, opts);
    await fleet.expectWhole(await run.ended);
    expect(fleet.excessCalls()).toBeLessThanOrEqual(MOST_PROBES);
  });
});

describe('a worker that is frozen past its lock', () => {
  it('and thawed: one outcome for each domain', async () => {
    const fleet = await openFleet({ random, rows: 300 });
    const frozen = await fleet.worker();
    const run = fleet.run();
    await fleet.calls(60);
    frozen.process.kill('SIGSTOP');
    await fleet.worker();
    let isOver = false;
    const ended = run.ended.finally(() => (isOver = true));
    // The other one has what it had, which may be nothing.
    while (fleet.excessCalls() === 0 && !isOver) await delay(20);
    frozen.process.kill('SIGCONT');
    await fleet.expectWhole(await ended);
    console.log(`queue-outage.test.ts: ${fleet.excessCalls()} calls again after a freeze`);
    // The calls that it had under way, and answers that it had and could not pass on: the more, the
    // slower the machine was when it froze.
    expect(fleet.excessCalls()).toBeLessThanOrEqual(4 * CONCURRENCY);
  });
});
