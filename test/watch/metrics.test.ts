import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCallCounters } from '../../src/common/calls.ts';
import { makeFolder } from '../../src/common/files.ts';
import { createMetrics } from '../../src/watch/metrics.ts';
import { useTempFolder } from '../support/temp-folder.ts';

function openMetrics() {
  return createMetrics({ command: 'worker', version: '1.2.3' });
}

it('each call is counted by the class of its status', async () => {
  const metrics = openMetrics();
  const counters = createCallCounters();
  const pace = () => ({
    ratePerSecond: 10,
    limitIs: 'unknown' as const,
    waitMs: 0,
    why: 'starting' as const,
  });
  const probe = metrics.forWorker().worker({ counters, describe: pace });
  for (const status of [undefined, 200, 301, 404, 429, 503]) {
    probe.onCallEnd(status, 5);
  }
  counters.calls = 8;
  for (let scrapes = 0; scrapes < 2; scrapes += 1) {
    const text = await metrics.text();
    const counts = [
      ...text.matchAll(/^brandfill_call_duration_seconds_count{status="(.*)"} (.*)$/gm),
    ];
    expect(Object.fromEntries(counts.map(([, status, count]) => [status, Number(count)]))).toEqual({
      none: 1,
      '2xx': 1,
      '3xx': 1,
      '4xx': 2,
      '5xx': 1,
    });
    expect(text).toMatch(/^brandfill_calls_in_flight 2$/m);
  }
  probe.end();
  expect(await metrics.text()).toMatch(/^brandfill_calls_in_flight 2$/m);
});

it('what was written is counted also when the folder is gone, with no room in it', async () => {
  const folder = join(useTempFolder(), 'out');
  makeFolder(folder);
  const metrics = openMetrics();
  metrics.forCollector({ counts: { enriched: 3, failures: 2 }, folder });
  expect(await metrics.text()).toMatch(/^brandfill_collect_free_bytes \d+$/m);
  rmSync(folder, { recursive: true });
  const text = await metrics.text();
  expect(text).toContain('brandfill_collected_outcomes_total{file="enriched"} 3');
  expect(text).toMatch(/^brandfill_collect_free_bytes 0$/m);
});

it('a Redis that does not answer is down, and nothing is said of its queues', async () => {
  const metrics = openMetrics();
  const end = metrics.forWorker().queues(async () => undefined);
  expect(await metrics.text()).toMatch(/^brandfill_redis_up 0$/m);
  end();
});
