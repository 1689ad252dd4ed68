import { describe, expect, it } from 'vitest';
import { SEEDS } from '../support/random.ts';
import { runCell, SERVERS } from './cells.ts';
import { FIRST_MINUTE_SERVERS, LEAST, meanFirstMinute, SERVICE_MS } from './first-minute.ts';
import { summarize } from './summary.ts';
import { targetOf } from './targets.ts';

/** Two, or at night more: each is the same whenever it runs. */
const FEW_SEEDS = 2 * SEEDS;
const FEW_WORKERS = [1, 4] as const;

describe.each(SERVERS)('at a server with $name', (server) => {
  it.each(FEW_WORKERS)(
    '%i workers use the limit and are seldom throttled',
    (workers) => {
      const target = targetOf(server);
      const summary = summarize((seed) => runCell(server, workers, seed), FEW_SEEDS);
      expect(summary.areAllComplete).toBe(true);
      expect(summary.warmEfficiency).toBeGreaterThanOrEqual(target.efficiency);
      expect(summary.throttled).toBeLessThan(target.throttled);
    },
    60_000,
  );
});

describe.each(FIRST_MINUTE_SERVERS)('in the first minute at a server with $name', (server) => {
  it.each(FEW_WORKERS)('%i workers find its limit within the first window', (workers) => {
    for (const serviceMs of SERVICE_MS) {
      const target = server.target ?? LEAST;
      const { used, throttled } = meanFirstMinute(server, { workers, serviceMs }, FEW_SEEDS);
      expect(used).toBeGreaterThanOrEqual(target.used);
      expect(throttled).toBeLessThan(target.throttled);
    }
  });
});
