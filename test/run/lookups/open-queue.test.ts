import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/brand/outcome.ts';
import type { WindowSight } from '../../../src/metrics/metrics.ts';
import { type OpenQueueOptions, openQueueOf } from '../../../src/run/lookups/open-queue.ts';
import { createGate } from '../../support/gate.ts';

it('a lookup in this process is outstanding until it has an outcome, stored or not', async () => {
  const stored = createGate();
  const outstanding = new Set<string>();
  const sights: WindowSight[] = [];
  const { queue, chunkSize } = await openQueueOf({
    job: { settings: { concurrency: 1 }, endpoint: {} },
    collect: async (outcomes: readonly Outcome[]) => {
      await stored.opened;
      for (const { domain } of outcomes) outstanding.delete(domain);
    },
    outstanding,
    instruments: { window: (sight: WindowSight) => void sights.push(sight) },
  } as unknown as OpenQueueOptions);
  const most = sights[0]?.most ?? 0;
  const seen: number[] = [];
  const look = (): void => void seen.push(sights[0]?.outstanding() ?? Number.NaN);
  const working = queue.work(async ({ domains }, reply) => {
    for (const domain of domains) {
      await reply([{ domain } as Outcome]);
      look();
    }
  });
  for (let at = 0; at < 10 * most; at += chunkSize) {
    const domains = Array.from({ length: chunkSize }, (_, index) => `d${at + index}.com`);
    for (const domain of domains) outstanding.add(domain);
    await queue.add({ domains });
    look();
  }
  queue.end();
  expect(outstanding.size).toBe(10 * most);
  expect(Math.max(...seen)).toBeGreaterThan(0);
  expect(Math.max(...seen)).toBeLessThanOrEqual(most);
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(0);
  stored.open();
  await Promise.all([working, queue.settled()]);
  expect(sights[0]?.outstanding()).toBe(0);
});
