import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { useDatabase } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import type { Ended } from './support/command.ts';
import { openList } from './support/lists.ts';
import { runHere, startHere } from './support/program.ts';

/**
 * From the first call on, with the way up. On a machine with nothing else to do it is 90 %, and a
 * busy one got 52 % of 50 and cannot make hundreds of calls a second; how much of a limit is used is asserted
 * in virtual time.
 */
const LEAST_USED: Readonly<Record<number, number>> = { 150: 0.4 };
/** Calls under way double until one is refused, so finding a limit costs about what it allows in a second. */
const MOST_TO_FIND_IT = 1.3;
const MOST_THROTTLED = 0.04;

/** Some calls are longer on their way than others, above all when the machine has other things to do. */
const LATE_MS = 1_000;

interface Paced {
  readonly api: Sandbox;
  readonly ended: Ended;
  /** From the first call to the end of the run. */
  readonly elapsedMs: number;
  /** When each call arrived, in milliseconds. */
  readonly arrivalsMs: readonly number[];
}

/** Enriches a list in one process, or over Redis with so many workers. */
async function enrich(
  rows: number,
  options: SandboxOptions,
  { workers = 0, flags = [] as readonly string[] } = {},
): Promise<Paced> {
  const arrivalsMs: number[] = [];
  const api = await openApi({
    latencyMs: 40,
    ...options,
    respond: () => {
      arrivalsMs.push(performance.now());
      return undefined;
    },
  });
  const folder = openList(rows);
  const env: Record<string, string> = { BRANDFILL_BASE_URL: api.url };
  if (workers > 0) env['BRANDFILL_QUEUE'] = (await useDatabase()).url;
  for (let started = 0; started < workers; started += 1) {
    const worker = startHere(['worker', ...flags], { cwd: folder.path, env });
    await worker.shows('Waiting for lookups');
  }
  const shared = workers > 0 ? ['--workers', '0'] : [];
  const args = ['enrich', 'list.csv', ...shared, ...flags];
  const ended = await runHere(args, { cwd: folder.path, env });
  const elapsedMs = performance.now() - (arrivalsMs[0] ?? 0);
  return { api, ended, elapsedMs, arrivalsMs };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** The most arrivals within any window. */
function mostWithin(arrivalsMs: readonly number[], windowMs: number): number {
  let most = 0;
  let from = 0;
  for (const [to, atMs] of arrivalsMs.entries()) {
    while ((arrivalsMs[from] ?? 0) < atMs - windowMs) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

describe('a limit that nobody documents', () => {
  it.each([{ perSecond: 150, workers: 3 }])(
    'of $perSecond/s is found and held from a cold start, with $workers workers over Redis',
    async ({ perSecond, workers }) => {
      const limited = { limit: { count: perSecond, perMs: 1_000 }, limitHeaders: 'none' } as const;
      const rows = 6 * perSecond;
      const { api, ended, elapsedMs } = await enrich(rows, limited, { workers });
      expect(ended.code, ended.stderr).toBe(0);
      const { calls, throttled } = api.stats();
      // The bucket is full at the start: with what it holds, a second's worth, it allows more.
      const used = rows / (perSecond * (1 + elapsedMs / 1_000));
      console.log(
        `pace.test.ts: ${workers} workers, ${perSecond}/s: ${percent(used)} of the limit used, ${percent(throttled / calls)} of the calls answered 429`,
      );
      expect(used).toBeGreaterThan(LEAST_USED[perSecond] ?? 1);
      expect(throttled).toBeLessThan(MOST_TO_FIND_IT * perSecond + MOST_THROTTLED * calls);
    },
  );
});

describe('a fixed rate', () => {
  it('is never exceeded with two workers over Redis', async () => {
    const flags = ['--rate', '30/s'];
    const { ended, arrivalsMs } = await enrich(90, {}, { workers: 2, flags });
    expect(ended.code, ended.stderr).toBe(0);
    expect(mostWithin(arrivalsMs, 1_000)).toBeLessThanOrEqual(30 * (1 + LATE_MS / 1_000));
    const tookMs = (arrivalsMs.at(-1) ?? 0) - (arrivalsMs[0] ?? 0);
    expect(tookMs).toBeGreaterThan(2_500 - LATE_MS);
  });
});
