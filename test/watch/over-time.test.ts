import { expect, it } from 'vitest';
import { createSpeed } from '../../src/watch/record-run.ts';
import type { Span, Wait } from '../../src/watch/run-view.ts';

/** The speed after so many calls, one for each lookup, until then. */
function at(lookupMs: number, calls = 0, throttled = 0) {
  return { due: 1_000, lookups: calls, lookupMs, calls, throttled, limit: undefined };
}

/** Looks at ten lookups a second for a minute, at an hour without any, and at what comes then. */
function leftAround(wait: Wait): readonly (number | undefined)[] {
  const speed = createSpeed();
  const seen: (number | undefined)[] = [];
  const look = (seconds: number, lookups: number, now?: Wait): void => {
    speed.add({ ...at(seconds * 1_000, lookups), wait: now });
    const { leftMs } = speed.read();
    seen[seconds] = leftMs && Math.round(leftMs / 1_000);
  };
  for (let s = 0; s <= 60; s += 1) look(s, s * 10);
  for (let s = 61; s <= 3_660; s += 1) look(s, 600, wait);
  look(3_661, 610);
  return [0, 30, 60, 61, 3_660, 3_661].map((s) => seen[s]);
}

it.each<[Wait, number | undefined]>([
  [{ why: 'stated', leftMs: 600_000 }, 640],
  [{ why: 'no_worker' }, undefined],
  [{ why: 'outage' }, undefined],
])('the time left is that at the pace of now, around a wait: %j', (wait, meanwhile) => {
  expect(leftAround(wait)).toEqual([undefined, 70, 40, meanwhile, meanwhile, 39]);
});

it('the time left does not count an hour for which the machine was asleep', () => {
  const speed = createSpeed();
  for (let s = 0; s <= 60; s += 1) speed.add(at(s * 1_000, s * 10));
  for (let s = 3_661; s <= 3_670; s += 1) speed.add(at(s * 1_000, (s - 3_600) * 10));
  expect(speed.read().leftMs).toBeLessThan(45_000);
});

/** Counts for so many seconds, looking four times in each. */
function count(perSecond: number, { seconds = 120, before = 0 } = {}): number {
  const speed = createSpeed();
  for (let atMs = 0; atMs <= seconds * 1_000; atMs += 250) {
    const since = before === 0 ? 0 : Math.min(atMs, (seconds - 5) * 1_000);
    const total = (before * since + perSecond * (atMs - since)) / 1_000;
    speed.add(at(atMs, Math.floor(total)));
  }
  return speed.read().ratePerSecond;
}

it('the rate is that of the last seconds, of more where little happens, and goes down after a stop', () => {
  expect(count(40)).toBeCloseTo(40);
  expect(count(40, { before: 500 })).toBeCloseTo(40);
  expect(count(40, { before: 500, seconds: 3_600 })).toBeCloseTo(40);
  expect(count(40, { before: 1 })).toBeCloseTo(40);
  expect(count(0.5)).toBeCloseTo(0.5, 1);
  expect(count(0.1)).toBeCloseTo(0.1, 1);
  expect(count(0)).toBe(0);
  const speed = createSpeed();
  const seen: number[] = [];
  for (let atMs = 0; atMs <= 40_000; atMs += 250) {
    speed.add(at(atMs, Math.min(atMs, 20_000) / 20));
    seen.push(speed.read().ratePerSecond);
  }
  expect([seen[4 * 20], seen[4 * 26], seen.at(-1)]).toEqual([50, 2, 0.6]);
});

it('the rate does not jump where calls are told once a second', () => {
  const speed = createSpeed();
  const seen: number[] = [];
  for (let atMs = 0; atMs <= 60_000; atMs += 270) {
    speed.add(at(atMs, 30 * Math.floor(atMs / 1_000)));
    if (atMs > 10_000) seen.push(speed.read().ratePerSecond);
  }
  expect(Math.min(...seen)).toBeGreaterThan(28);
  expect(Math.max(...seen)).toBeLessThan(32);
});

/** The calls that spans stand for: each lasts until the next one begins. */
function callsOf(spans: readonly Span[], endMs: number): number {
  const lasts = spans.map(({ atMs }, at) => (spans[at + 1]?.atMs ?? endMs) - atMs);
  return spans.reduce((sum, span, at) => sum + (span.callsPerSecond * (lasts[at] ?? 0)) / 1_000, 0);
}

it('a timeline has what came since the last time, at the rate of that time', () => {
  const speed = createSpeed();
  speed.add(at(500, 10, 1));
  speed.add(at(625, 15, 1));
  speed.add(at(750, 15, 1));
  const { spans } = speed.read();
  expect(spans).toEqual([
    { atMs: 0, callsPerSecond: 20, throttledPerSecond: 2 },
    { atMs: 500, callsPerSecond: 20, throttledPerSecond: 0 },
  ]);
});

it('a timeline has no more than 120 spans, and loses nothing when it widens them', () => {
  const speed = createSpeed();
  for (let minute = 1; minute <= 20 * 60; minute += 1) {
    speed.add(at(minute * 60_000, minute * 3_000));
    const { spans } = speed.read();
    expect(spans.length).toBeLessThanOrEqual(120);
    expect(callsOf(spans, minute * 60_000)).toBeCloseTo(minute * 3_000, -3);
  }
  expect(speed.read().spans.length).toBeGreaterThan(30);
});

it('a timeline knows the limit of each span', () => {
  const speed = createSpeed();
  speed.add(at(250));
  speed.add({ ...at(500), limit: { limitIs: 'learned', limitPerSecond: 50 } });
  speed.add(at(750));
  expect(speed.read().spans.map((span) => span.limitPerSecond)).toEqual([undefined, 50, undefined]);
});
