import { expect, it } from 'vitest';
import type { Progress } from '../../src/watch/events.ts';
import { createTimeLeft } from '../../src/watch/time-left.ts';
import { PROGRESS } from './progress.ts';

const WAITING = { limitIs: 'learned', ratePerSecond: 10, why: 'told_to_wait' } as const;

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
  expect(lookAtWait({ heldBy: 'no_worker' })[3]).toBeUndefined();
  expect(lookAtWait({ heldBy: 'another_run' })[3]).toBeUndefined();
});

it('is not made longer by an outage that is over', () => {
  expect(lookAtWait({ outage: 'The API is out.' }).at(-1)).toBe(39);
});
