import { expect, it } from 'vitest';
import { createRecentRate } from '../../src/watch/time-left.ts';

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

it('is that of the last seconds, not of all', () => {
  expect(count(40)).toBeCloseTo(40);
  expect(count(40, { before: 500 })).toBeCloseTo(40);
  expect(count(40, { before: 1 })).toBeCloseTo(40);
});

it('looks back further where little happens', () => {
  expect(count(0.5)).toBeCloseTo(0.5, 1);
  expect(count(0.1)).toBeCloseTo(0.1, 1);
  expect(count(0)).toBe(0);
});

it('is nothing soon after it has stopped', () => {
  const rate = createRecentRate();
  const seen: number[] = [];
  for (let atMs = 0; atMs <= 40_000; atMs += 250) {
    rate.add({ atMs, count: Math.min(atMs, 20_000) / 20 });
    seen.push(rate.perSecond);
  }
  expect(seen[4 * 20]).toBeCloseTo(50);
  expect(seen[4 * 23]).toBeGreaterThan(10);
  expect(seen[4 * 26]).toBe(0);
  expect(seen.at(-1)).toBe(0);
});

it('is nothing before there is something to compare', () => {
  const rate = createRecentRate();
  expect(rate.perSecond).toBe(0);
  rate.add({ atMs: 0, count: 0 });
  rate.add({ atMs: 0, count: 5 });
  expect(rate.perSecond).toBe(0);
  rate.add({ atMs: 1_000, count: 25 });
  expect(rate.perSecond).toBe(20);
});
