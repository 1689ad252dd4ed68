import { describe, expect, it } from 'vitest';
import type { PaceDescription } from '../../src/pace/pacer.ts';
import { createTimeline } from '../../src/watch/timeline.ts';
import { createWaitSamples, findHoldUp, findLongestHoldUp } from '../../src/watch/waits.ts';
import { progressAt } from '../report/recordings.ts';

describe('a timeline', () => {
  it('spreads what came since the last time evenly over that time', () => {
    const timeline = createTimeline();
    timeline.progress(progressAt(500, { calls: 10, done: 4, retries: 2, throttled: 1 }));
    timeline.progress(progressAt(625, { calls: 15, done: 4, retries: 2, throttled: 1 }));
    const { spans, spanMs, endMs } = timeline;
    expect({ spanMs, endMs }).toEqual({ spanMs: 250, endMs: 625 });
    expect(spans.map(({ calls }) => calls)).toEqual([5, 5, 5]);
    expect(spans.map(({ lookups }) => lookups)).toEqual([2, 2, 0]);
    expect(spans.map(({ throttled }) => throttled)).toEqual([0.5, 0.5, 0]);
  });

  it('has no more than 120 spans, however long the run, and loses nothing when it widens them', () => {
    const timeline = createTimeline();
    const hours = 20;
    for (let minute = 1; minute <= hours * 60; minute += 1) {
      timeline.progress(
        progressAt(minute * 60_000, { calls: minute * 3_000, done: minute * 2_900 }),
      );
      timeline.answered(minute * 60_000 - 1, minute);
      expect(timeline.spans.length).toBeLessThanOrEqual(120);
    }
    const { spans, spanMs } = timeline;
    expect(spans.length).toBeGreaterThan(60);
    expect(spanMs * spans.length).toBeGreaterThanOrEqual(hours * 3_600_000);
    expect(Math.round(spans.reduce((sum, { calls }) => sum + calls, 0))).toBe(hours * 60 * 3_000);
    const answers = spans.reduce((sum, span) => sum + (span.latencies?.describe()?.calls ?? 0), 0);
    expect(answers).toBe(hours * 60);
  });

  it('keeps each answer in its time when it widens the spans', () => {
    const timeline = createTimeline();
    timeline.answered(10, 7);
    timeline.answered(29_990, 900);
    timeline.answered(30_010, 50); // one span too many
    const { spans, spanMs } = timeline;
    expect(spanMs).toBe(500);
    expect(spans[0]?.latencies?.describe()).toMatchObject({ calls: 1, maxMs: 7 });
    expect(spans[59]?.latencies?.describe()?.maxMs).toBeCloseTo(900, -1);
    expect(spans[60]?.latencies?.describe()).toMatchObject({ calls: 1 });
    expect(spans[30]?.latencies).toBeUndefined();
  });

  it('knows the limit of each span, and for how long no call could start', () => {
    const timeline = createTimeline();
    const pace = { ratePerSecond: 40, limitIs: 'learned', waitMs: 0 } as const;
    timeline.progress(progressAt(250, { pace: { ...pace, limitIs: 'unknown', why: 'starting' } }));
    timeline.progress(
      progressAt(500, { pace: { ...pace, learnedLimitPerSecond: 50, why: 'told_to_wait' } }),
    );
    timeline.progress(
      progressAt(750, { pace: { ...pace, learnedLimitPerSecond: 50, why: 'backing_off' } }),
    );
    timeline.progress(
      progressAt(1_000, { pace: { ...pace, limitIs: 'fixed', why: 'holding' }, outage: 'out' }),
    );
    const { spans } = timeline;
    expect(spans.map(({ limitPerSecond }) => limitPerSecond)).toEqual([undefined, 50, 50, 40]);
    expect(spans.map(({ toldMs }) => toldMs)).toEqual([0, 250, 0, 0]);
    expect(spans.map(({ backingOffMs }) => backingOffMs)).toEqual([0, 0, 250, 0]);
    expect(spans.map(({ outageMs }) => outageMs)).toEqual([0, 0, 0, 250]);
  });

  it('knows for how long somebody had paused the run, and blames nothing else for that time', () => {
    const timeline = createTimeline();
    timeline.progress(progressAt(250));
    timeline.progress(progressAt(625, { isPaused: true, outage: 'out' }));
    timeline.progress(progressAt(750));
    const { spans } = timeline;
    expect(spans.map(({ pausedMs }) => pausedMs)).toEqual([0, 250, 125]);
    expect(spans.map(({ outageMs }) => outageMs)).toEqual([0, 0, 0]);
  });

  it('spreads what is told by the chunk over the time that it took', () => {
    const timeline = createTimeline();
    const comesInBursts = true;
    for (const atMs of [250, 500, 750]) timeline.progress(progressAt(atMs, { comesInBursts }));
    timeline.progress(progressAt(1_000, { calls: 40, done: 40, comesInBursts }));
    timeline.progress(progressAt(1_250, { calls: 40, done: 40, comesInBursts, isPaused: true }));
    const { spans, endMs } = timeline;
    expect(endMs).toBe(1_250);
    expect(spans.map(({ calls }) => calls)).toEqual([10, 10, 10, 10, 0]);
    expect(spans.map(({ pausedMs }) => pausedMs)).toEqual([0, 0, 0, 0, 250]);
  });

  it('takes two looks at the same moment', () => {
    const timeline = createTimeline();
    timeline.progress(progressAt(100, { calls: 1 }));
    timeline.progress(progressAt(100, { calls: 2 }));
    expect(timeline.spans.map(({ calls }) => calls)).toEqual([2]);
  });
});

describe('findHoldUp', () => {
  it('blames nothing else while somebody has paused the calls', () => {
    const pace = { why: 'backing_off' };
    expect(findHoldUp({ isPaused: true, outage: 'The API is out', pace })).toBe('paused');
    expect(findHoldUp({ outage: 'The API is out', pace })).toBe('outage');
    expect(findHoldUp({ pace })).toBe('told');
  });

  it('finds nothing where calls go out', () => {
    expect(findHoldUp({})).toBeUndefined();
    expect(findHoldUp({ isPaused: false, pace: { why: 'holding' } })).toBeUndefined();
  });
});

describe('findLongestHoldUp', () => {
  it('leaves out what is too short to be seen', () => {
    expect(findLongestHoldUp({ paused: 0, outage: 199, told: 0 }, 1_000)).toBeUndefined();
    expect(findLongestHoldUp({ paused: 0, outage: 200, told: 100 }, 1_000)).toBe('outage');
    expect(findLongestHoldUp({ paused: 0, outage: 0, told: 0 }, 0)).toBeUndefined();
  });
});

function paceOf(why: PaceDescription['why']): PaceDescription {
  return { limitIs: 'unknown', ratePerSecond: 1, waitMs: 0, why };
}

it('counts the time between two looks for what holds at the second', () => {
  const samples = createWaitSamples();
  samples.look({ pace: undefined, elapsedMs: 250, isOut: false });
  samples.look({ pace: paceOf('told_to_wait'), elapsedMs: 500, isOut: false });
  samples.look({ pace: paceOf('backing_off'), elapsedMs: 760, isOut: true });
  samples.look({ pace: paceOf('backing_off'), elapsedMs: 1_000, isOut: true });
  samples.look({ pace: paceOf('probing'), elapsedMs: 9_000, isOut: false });
  expect(samples.waitedMs).toEqual({ told: 250, backingOff: 500, outage: 500 });
});
