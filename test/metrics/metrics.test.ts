import perfHooks from 'node:perf_hooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createMetrics } from '../../src/metrics/metrics.ts';

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
