import { expect, it } from 'vitest';
import { createMetrics } from '../../src/watch/metrics.ts';
import { recordRun } from '../../src/watch/record-run.ts';
import { PROGRESS } from './progress.ts';

it('a run is read at each scrape, until the next of its name', async () => {
  const metrics = createMetrics();
  const first = recordRun({ runId: 'a', list: '', api: '' });
  metrics.forRun('nightly', first.read);
  const limit = { limitIs: 'fixed', limitPerSecond: 9 } as const;
  const pace = { limit, waitMs: 4_000, statedMs: 4_000 } as const;
  first.onEvent({ type: 'progress', ...PROGRESS, calls: 3, throttled: 1, lookupMs: 500, pace });
  const meaning = { kind: 'failed', reason: 'timeout', httpStatus: undefined } as never;
  first.answered({ domain: 'a.com', meaning, latencyMs: 20 });
  for (let scrapes = 0; scrapes < 2; scrapes += 1) {
    expect((await metrics.text()).split('\n')).toEqual(
      expect.arrayContaining([
        'brandfill_calls_total{run="nightly"} 3',
        'brandfill_throttled_calls_total{run="nightly"} 1',
        'brandfill_lookups_due{run="nightly"} 1000',
        'brandfill_answers_total{run="nightly",answer="timeout"} 1',
        'brandfill_call_duration_seconds{run="nightly",quantile="0.95"} 0.02',
        'brandfill_pace_limit_calls_per_second{run="nightly"} 9',
        'brandfill_pace_gate_closed_seconds{run="nightly"} 4',
        'brandfill_api_outage{run="nightly"} 0',
      ]),
    );
  }
  const failing = { isOut: true, lastedMs: 0, reason: 'timeout' };
  const second = recordRun({ runId: 'b', list: '', api: '' });
  metrics.forRun('nightly', second.read);
  second.onEvent({ type: 'progress', ...PROGRESS, pace: { ...pace, failing } });
  const text = await metrics.text();
  expect(text).toContain('brandfill_calls_total{run="nightly"} 0\n');
  expect(text).toContain('brandfill_api_outage{run="nightly"} 1\n');
});
