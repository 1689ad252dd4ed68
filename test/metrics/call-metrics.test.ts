import { expect, it } from 'vitest';
import { createCallCounters } from '../../src/common/calls.ts';
import { createCallMetrics } from '../../src/metrics/call-metrics.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { createPaceState, describePace } from '../../src/pace/pacer.ts';

it('counts each call by the class of its status, also where there is no such class', async () => {
  const metrics = createMetrics({ command: 'worker', version: '1.2.3' });
  const sight = {
    concurrency: 1,
    counters: createCallCounters(),
    pace: () => describePace(createPaceState({}, 0), 0),
    isOut: () => false,
  };
  const probe = createCallMetrics(metrics)(sight, undefined);
  for (const status of [undefined, 99, 100, 200, 301, 404, 429, 503, 600, 999]) {
    probe.onCallEnd(status, 5);
  }
  const text = await metrics.text();
  const counts = [...text.matchAll(/^brandfill_calls_total{status="(.*)"} (.*)$/gm)];
  expect(Object.fromEntries(counts.map(([, status, count]) => [status, Number(count)]))).toEqual({
    none: 1,
    '2xx': 1,
    '3xx': 1,
    '4xx': 2,
    '5xx': 1,
    other: 4,
  });
});
