import { expect, it } from 'vitest';
import type { Span, Wait } from '../../src/watch/run-view.ts';
import { createRecentRate, createTimeLeft } from '../../src/watch/time-left.ts';
import { createTimeline } from '../../src/watch/timeline.ts';

/** Looks at ten lookups a second for a minute, at an hour without any, and at what comes then. */
function leftAround(wait: Wait): readonly (number | undefined)[] {
  const timeLeft = createTimeLeft();
  const seen: (number | undefined)[] = [];
  const look = (seconds: number, lookups: number, now?: Wait): void => {
    timeLeft.look({ due: 1_000, lookups, lookupMs: seconds * 1_000 }, now);
    seen[seconds] = timeLeft.leftMs && Math.round(timeLeft.leftMs / 1_000);
  };
  for (let at = 0; at <= 60; at += 1) look(at, at * 10);
  for (let at = 61; at <= 3_660; at += 1) look(at, 600, wait);
  look(3_661, 610);
  return [0, 30, 60, 61, 3_660, 3_661].map((at) => seen[at]);
}

it.each<[Wait, number | undefined]>([
  [{ why: 'stated', leftMs: 600_000 }, 640],
  [{ why: 'paused' }, undefined],
  [{ why: 'no_worker' }, undefined],
  [{ why: 'outage' }, 40],
])('the time left is that at the pace of now, around a wait: %j', (wait, meanwhile) => {
  expect(leftAround(wait)).toEqual([undefined, 70, 40, meanwhile, meanwhile, 39]);
});

/** Counts for so many seconds, looking four times in each. */
function count(perSecond: number, { seconds = 120, before = 0 } = {}): number {
  const rate = createRecentRate();
  for (let atMs = 0; atMs <= seconds * 1_000; atMs += 250) {
    const since = before === 0 ? 0 : Math.min(atMs, (seconds - 5) * 1_000);
    const total = (before * since + perSecond * (atMs - since)) / 1_000;
    rate.add({ atMs, count: Math.floor(total) });
  }
  return rate.perSecond;
}

it('the rate is that of the last seconds, of more where little happens, and none after a stop', () => {
  expect(count(40)).toBeCloseTo(40);
  expect(count(40, { before: 500 })).toBeCloseTo(40);
  expect(count(40, { before: 1 })).toBeCloseTo(40);
  expect(count(0.5)).toBeCloseTo(0.5, 1);
  expect(count(0.1)).toBeCloseTo(0.1, 1);
  expect(count(0)).toBe(0);
  const rate = createRecentRate();
  const seen: number[] = [];
  for (let atMs = 0; atMs <= 40_000; atMs += 250) {
    rate.add({ atMs, count: Math.min(atMs, 20_000) / 20 });
    seen.push(rate.perSecond);
  }
  expect([seen[4 * 20], seen[4 * 26], seen.at(-1)]).toEqual([50, 0, 0]);
});

const at = (lookupMs: number, calls = 0, throttled = 0) =>
  ({ lookupMs, calls, throttled }) as never;

/** The calls that spans stand for: each lasts until the next one begins. */
function callsOf(spans: readonly Span[], endMs: number): number {
  const lasts = spans.map(({ atMs }, at) => (spans[at + 1]?.atMs ?? endMs) - atMs);
  return spans.reduce((sum, span, at) => sum + (span.callsPerSecond * (lasts[at] ?? 0)) / 1_000, 0);
}

it('a timeline has what came since the last time, at the rate of that time', () => {
  const timeline = createTimeline();
  timeline.progress(at(500, 10, 1), undefined);
  timeline.progress(at(625, 15, 1), undefined);
  timeline.progress(at(750, 15, 1), undefined);
  const { spans } = timeline.read();
  expect(spans).toEqual([
    { atMs: 0, callsPerSecond: 20, throttledPerSecond: 2 },
    { atMs: 500, callsPerSecond: 20, throttledPerSecond: 0 },
  ]);
});

it('a timeline has no more than 120 spans, and loses nothing when it widens them', () => {
  const timeline = createTimeline();
  for (let minute = 1; minute <= 20 * 60; minute += 1) {
    timeline.progress(at(minute * 60_000, minute * 3_000), undefined);
    const { spans } = timeline.read();
    expect(spans.length).toBeLessThanOrEqual(120);
    expect(callsOf(spans, minute * 60_000)).toBeCloseTo(minute * 3_000, -3);
  }
  expect(timeline.read().spans.length).toBeGreaterThan(30);
});

it('a timeline knows the limit of each span', () => {
  const timeline = createTimeline();
  timeline.progress(at(250), undefined);
  timeline.progress(at(500), { limitIs: 'learned', limitPerSecond: 50 });
  timeline.progress(at(750), { limitIs: 'unknown' });
  expect(timeline.read().spans.map((span) => span.limitPerSecond)).toEqual([
    undefined,
    50,
    undefined,
  ]);
});
