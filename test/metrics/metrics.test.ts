import { rmSync } from 'node:fs';
import { join } from 'node:path';
import perfHooks from 'node:perf_hooks';
import { Histogram, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCallCounters } from '../../src/common/calls.ts';
import { makeFolder } from '../../src/common/files.ts';
import { createCallMetrics, PlainHistogram } from '../../src/metrics/call-metrics.ts';
import { createQueueMetrics, measureCollector } from '../../src/metrics/create-instruments.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { createPaceState, describePace } from '../../src/pace/pacer.ts';
import type { ReadQueues } from '../../src/queue/bullmq/queues.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('a further run with a server starts no further monitor of the event loop', async () => {
  const first = createMetrics({ command: 'enrich', version: '1' });
  const monitors = vi.spyOn(perfHooks, 'monitorEventLoopDelay');
  onTestFinished(() => monitors.mockRestore());
  const second = createMetrics({ command: 'schedule', version: '1' });
  expect(monitors).not.toHaveBeenCalled();
  const texts = await Promise.all([first.text(), second.text()]);
  for (const text of texts) expect(text.match(/^nodejs_eventloop_lag_seconds /gm)).toHaveLength(1);
  expect(texts.map((text) => /command="(\w+)"/.exec(text)?.[1])).toEqual(['enrich', 'schedule']);
});

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

it('tells what was written also when the folder is gone, but nothing of the room in it', async () => {
  const folder = join(useTempFolder(), 'out');
  makeFolder(folder);
  const metrics = createMetrics({ command: 'collect', version: '1.2.3' });
  const counts = { enriched: 3, failures: 2, repeated: 1 };
  measureCollector(metrics, { counts, folder });
  expect(await metrics.text()).toMatch(/^brandfill_collect_free_bytes \d+$/m);
  rmSync(folder, { recursive: true });
  const text = await metrics.text();
  expect(text).toContain('brandfill_collected_outcomes_total{file="enriched"} 3');
  expect(text).not.toMatch(/^brandfill_collect_free_bytes/m);
});

const NAME = {
  name: 'some_duration_seconds',
  help: 'How long it took.',
  buckets: [0.005, 0.1, 2.5],
};

describe('a plain histogram', () => {
  it.each([
    ['without values', []],
    [
      'on the bounds, between and beyond them',
      [0, 0.005, 0.006, 0.1, 2.5, 2.500001, 60, 0.1 + 0.2],
    ],
  ])('tells what that of prom-client does, %s', async (_, values) => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const plain = new PlainHistogram({ ...NAME, registers: [ours] });
    const other = new Histogram({ ...NAME, registers: [theirs] });
    for (const value of values) {
      plain.add(value);
      other.observe(value);
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });
});

it('the last reader of the queues that has not ended tells, also when another one ends twice', async () => {
  const metrics = createMetrics({ command: 'schedule', version: '1.2.3' });
  const look = createQueueMetrics(metrics);
  const readerOf =
    (workers: number): ReadQueues =>
    async () => ({ queues: [], workers });
  const workersTold = async (): Promise<string | undefined> =>
    /^brandfill_queue_workers (\d+)$/m.exec(await metrics.text())?.[1];
  const endFirst = look(readerOf(1));
  const endSecond = look(readerOf(2));
  expect(await workersTold()).toBe('2');
  endSecond();
  endSecond();
  expect(await workersTold()).toBe('1');
  endFirst();
  expect(await workersTold()).toBeUndefined();
});
