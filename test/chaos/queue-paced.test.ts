import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isByDay, seededRandom } from '../support/random.ts';
import { CONCURRENCY, type Fleet, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-paced.test.ts');
const PER_SECOND = 100;
const LIMITED = { limit: { count: PER_SECOND, perMs: 1_000 }, limitHeaders: 'none' } as const;

/** Workers that are busy at the pace of the API, and the times at which their calls arrive. */
async function openPaced(
  workers: number,
): Promise<{ readonly fleet: Fleet; readonly arrivalsMs: readonly number[] }> {
  const arrivalsMs: number[] = [];
  const fleet = await openFleet({
    random,
    rows: 900,
    api: LIMITED,
    trouble: () => {
      arrivalsMs.push(performance.now());
      return undefined;
    },
  });
  await fleet.workers(workers);
  return { fleet, arrivalsMs };
}

describe.skipIf(isByDay('a Redis that is silent'))('workers that share a pace', () => {
  it('make no call while Redis is silent, and go on when it answers', async () => {
    const { fleet, arrivalsMs } = await openPaced(2);
    const run = fleet.run();
    await fleet.calls(200);
    const stoppedMs = performance.now();
    process.kill(fleet.redis.pid, 'SIGSTOP');
    await delay(2_500);
    const resumedMs = performance.now();
    process.kill(fleet.redis.pid, 'SIGCONT');
    await fleet.expectWhole(await run.ended);
    const after = (ms: number): number =>
      arrivalsMs.filter((atMs) => atMs > stoppedMs + ms && atMs < resumedMs).length;
    console.log(
      `queue-paced.test.ts: ${after(0)} calls after Redis was silent, the last ones ${lastBefore(arrivalsMs, resumedMs) - stoppedMs} ms after`,
    );
    // Those on their way when it fell silent; there would be hundreds.
    expect(after(1_000)).toBeLessThanOrEqual(2 * CONCURRENCY);
    expect(arrivalsMs.some((atMs) => atMs > resumedMs)).toBe(true);
    // What was silent for longer than its lock may be given to others. What was answered 429 is
    // asked again as well.
    const { throttled } = fleet.api.stats();
    expect(fleet.excessCalls()).toBeLessThanOrEqual(2 * CONCURRENCY + throttled);
  });
});

function lastBefore(timesMs: readonly number[], limitMs: number): number {
  return Math.round(timesMs.findLast((atMs) => atMs < limitMs) ?? 0);
}
