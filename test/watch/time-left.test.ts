import { expect, it } from 'vitest';
import type { Progress } from '../../src/watch/events.ts';
import { createRecentRate, createTimeLeft } from '../../src/watch/time-left.ts';
import { PROGRESS } from './progress.ts';

const WAITING = { limitIs: 'learned', ratePerSecond: 10, why: 'retry_after' } as const;

/** Looks at ten lookups a second for a minute, at an hour without any, and at what comes then. */
function lookAtWait(wait: Partial<Progress>): readonly (number | undefined)[] {
  const timeLeft = createTimeLeft();
  const seen: (number | undefined)[] = [];
  const look = (some: Partial<Progress>): void => {
    timeLeft.look({ ...PROGRESS, ...some });
    seen.push(timeLeft.leftMs && Math.round(timeLeft.leftMs / 1_000));
  };
  for (let at = 0; at <= 60; at += 1) look({ elapsedMs: at * 1_000, done: at * 10 });
  for (let at = 61; at <= 3_660; at += 1) look({ elapsedMs: at * 1_000, done: 600, ...wait });
  look({ elapsedMs: 3_661_000, done: 610 });
  return [seen[0], seen[30], seen[60], seen[61], seen[3_660], seen[3_661]];
}

it('is what is left at the pace of now, and what is left of a wait', () => {
  const pace = { ...WAITING, waitMs: 600_000 };
  const wait = { waitMs: 600_000, pace };
  expect(lookAtWait(wait)).toEqual([undefined, 70, 40, 640, 640, 39]);
});

it('is not known while nobody knows how long it waits', () => {
  expect(lookAtWait({ isPaused: true })).toEqual([undefined, 70, 40, undefined, undefined, 39]);
  expect(lookAtWait({ hasNoWorker: true })[3]).toBeUndefined();
});

it('is not made longer by an outage that is over', () => {
  expect(lookAtWait({ outage: 'The API is out.' }).at(-1)).toBe(39);
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
