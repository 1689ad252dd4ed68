import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { type Ended, run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { domains, listOf } from './support/tables.ts';

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
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(rows)));
  const env: Record<string, string> = { BRANDFILL_BASE_URL: api.url };
  if (workers > 0) env['BRANDFILL_QUEUE'] = (await useRedis()).url;
  for (let started = 0; started < workers; started += 1) {
    const worker = await start(['worker', ...flags], { cwd: folder.path, env });
    await worker.shows('Waiting for lookups');
  }
  const shared = workers > 0 ? ['--workers', '0', '--chunk', '10'] : [];
  const args = ['enrich', 'list.csv', '--progress', 'none', ...shared, ...flags];
  const ended = await run(args, { cwd: folder.path, env });
  const elapsedMs = performance.now() - (arrivalsMs[0] ?? 0);
  return { api, ended, elapsedMs, arrivalsMs };
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
  it.each([0, 4])(
    'is found and held with %i workers over Redis',
    { timeout: 120_000 },
    async (workers) => {
      const limited = { limit: { count: 100, perMs: 1_000 }, limitHeaders: 'none' } as const;
      const { api, ended, elapsedMs } = await enrich(2_000, limited, { workers });
      expect(ended.code, ended.stderr).toBe(0);
      const { calls, throttled } = api.stats();
      const perSecond = 2_000 / (elapsedMs / 1_000);
      console.log(
        `pace.test.ts: ${workers} workers, ${perSecond.toFixed(1)}/s of 100/s from a cold start, ${throttled} of ${calls} calls answered 429`,
      );
      expect(throttled / calls).toBeLessThan(workers > 0 ? 0.04 : 0.02);
      expect(perSecond).toBeGreaterThan(workers > 0 ? 40 : 70);
    },
  );
});

describe('a fixed rate', () => {
  it.each([0, 3])(
    'is never exceeded with %i workers over Redis',
    { timeout: 60_000 },
    async (workers) => {
      const { ended, arrivalsMs } = await enrich(150, {}, { workers, flags: ['--rate', '30/s'] });
      expect(ended.code, ended.stderr).toBe(0);
      // Calls may be a little longer on their way than others.
      expect(mostWithin(arrivalsMs, 950)).toBeLessThanOrEqual(30);
    },
  );
});
