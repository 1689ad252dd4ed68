import { describe, expect, it } from 'vitest';

import type { Progress } from '../../src/watch/events.ts';
import { createTimeline } from '../../src/watch/timeline.ts';
import { PROGRESS } from './progress.ts';

const at = (elapsedMs: number, more: Partial<Progress> = {}): Progress => ({
  ...PROGRESS,
  elapsedMs,
  ...more,
});

describe('a timeline', () => {
  it('spreads what came since the last time evenly over that time', () => {
    const timeline = createTimeline();
    timeline.progress(at(500, { calls: 10, throttled: 1 }));
    timeline.progress(at(625, { calls: 15, throttled: 1 }));
    const { spans, spanMs } = timeline.read();
    expect(spanMs).toBe(250);
    expect(spans.map((span) => [span.callsPerSecond, span.throttledPerSecond])).toEqual([
      [20, 2],
      [20, 2],
      [40, 0],
    ]);
  });

  it('has no more than 120 spans, however long the run, and loses nothing when it widens them', () => {
    const timeline = createTimeline();
    for (let minute = 1; minute <= 20 * 60; minute += 1) {
      timeline.progress(at(minute * 60_000, { calls: minute * 3_000 }));
    }
    const { spans, spanMs } = timeline.read();
    expect(spans.length).toBeGreaterThan(60);
    expect(spans.length).toBeLessThanOrEqual(120);
    const last = 20 * 3_600_000 - (spans.at(-1)?.atMs ?? 0);
    const calls = spans.reduce(
      (sum, span, index) =>
        sum + (span.callsPerSecond * (index === spans.length - 1 ? last : spanMs)) / 1_000,
      0,
    );
    expect(calls).toBeCloseTo(20 * 60 * 3_000, -3);
  });

  it('knows the limit of each span, and what held calls up for long', () => {
    const timeline = createTimeline();
    const pace = { ratePerSecond: 40, limitIs: 'learned', waitMs: 0 } as const;
    const limit = { learnedLimitPerSecond: 50 };
    timeline.progress(at(250, { pace: { ...pace, why: 'starting' } }));
    timeline.progress(at(500, { pace: { ...pace, ...limit, why: 'retry_after' } }));
    timeline.progress(at(750, { pace: { ...pace, ...limit, why: 'retry_after' }, outage: 'x' }));
    timeline.progress(at(1_000, { isPaused: true, outage: 'x' }));
    timeline.progress(at(1_250, { pace: { ...pace, limitIs: 'fixed', why: 'holding' } }));
    const { spans } = timeline.read();
    expect(spans.map(({ heldBy }) => heldBy)).toEqual([
      undefined,
      'told',
      'outage',
      'paused',
      undefined,
    ]);
    expect(spans.map(({ limitPerSecond }) => limitPerSecond)).toEqual([
      undefined,
      50,
      50,
      undefined,
      40,
    ]);
  });
});
