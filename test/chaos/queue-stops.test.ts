import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import type { Ended, Running, Started } from '../integration/support/command.ts';
import { seededRandom } from '../support/random.ts';
import { CONCURRENCY, type Fleet, openFleet } from './support/fleet.ts';

const random = seededRandom('queue-stops.test.ts');
const WORKERS = 2;
const IN_FLIGHT = WORKERS * CONCURRENCY;
const LATENCY_MS = 100;

interface Troubled {
  readonly fleet: Fleet;
  readonly workers: readonly Running[];
  readonly run: Started;
  /** From now on the API does this with each call, or only with so many. */
  begin(reply: SandboxReply, times?: number): void;
  /** The API is well again. */
  end(): void;
  /** When calls met the trouble. */
  readonly metMs: readonly number[];
}

/** Two workers and a run that waits, in the middle of a list. */
async function openTroubled(...flags: readonly string[]): Promise<Troubled> {
  let trouble: SandboxReply | undefined;
  let left = 0;
  const metMs: number[] = [];
  const fleet = await openFleet({
    random,
    rows: 300,
    // The same for each call, so that no machine makes more of them in a time than can be told
    // here.
    api: { latencyMs: LATENCY_MS },
    trouble: () => {
      if (!trouble || left === 0) return undefined;
      left -= 1;
      metMs.push(performance.now());
      return trouble;
    },
  });
  const workers = await fleet.workers(WORKERS, ...flags);
  const run = fleet.run();
  await fleet.calls(60);
  return {
    fleet,
    workers,
    run,
    begin: (reply, times = Number.POSITIVE_INFINITY) => {
      trouble = reply;
      left = times;
    },
    end: () => {
      trouble = undefined;
    },
    metMs,
  };
}

function allEnded(workers: readonly Running[]): Promise<Ended[]> {
  return Promise.all(workers.map(({ ended }) => ended));
}

describe('an outage of the API', () => {
  it('stops all workers but for one probe at a time, and costs no row', async () => {
    const { fleet, workers, run, begin, end, metMs } = await openTroubled();
    begin({ status: 503 });
    await Promise.all(workers.map((worker) => worker.shows(' is out')));
    const noticed = metMs.length;
    while (metMs.length < noticed + 2) await delay(5);
    end();
    await fleet.expectWhole(await run.ended);
    console.log(`queue-stops.test.ts: ${noticed} calls until all workers knew of the outage`);
    expect(noticed).toBeLessThan(4 * IN_FLIGHT);
    // Each is answered before the next one comes: a slow machine only makes the time between them
    // longer.
    for (const [at, probeMs] of metMs.slice(noticed).entries()) {
      expect(probeMs - (metMs[noticed + at - 1] ?? 0)).toBeGreaterThan(0.9 * LATENCY_MS);
    }
  });
});

describe('an API that refuses all workers', () => {
  it('with 401 ends them with 4; the run says that none is there, and goes on with new ones', async () => {
    const sentence = 'The API refused the credential (401): check --auth and BRANDFILL_API_KEY.';
    const { fleet, workers, run, begin, end, metMs } = await openTroubled('--max-wait', '5s');
    begin({ status: 401 });
    for (const { code, stderr } of await allEnded(workers)) {
      expect(code, stderr).toBe(4);
      expect(stderr).toContain(sentence);
      expect(stderr).toContain('any unfinished lookups are back on the queue');
    }
    const shown = await run.shows('No worker is there');
    expect(shown).toContain(`: ${sentence}`);
    console.log(`queue-stops.test.ts: ${metMs.length} calls answered 401`);
    expect(metMs.length).toBeLessThanOrEqual(3 * IN_FLIGHT); // with those that ask again
    end();
    await fleet.worker();
    await fleet.expectWhole(await run.ended);
  });
});

it('a worker whose calls alone fail holds up none of the others', async () => {
  const fleet = await openFleet({ random, rows: 900 });
  const deadProxy = { http_proxy: 'http://127.0.0.1:9', no_proxy: '' };
  await Promise.all([fleet.workers(2), fleet.workerWith(deadProxy)]);
  const run = await fleet.enrich('--workers', '0');
  await fleet.expectWhole(await run.ended);
});
