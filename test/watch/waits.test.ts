import { describe, expect, it } from 'vitest';
import type { PaceDescription } from '../../src/pace/pacer.ts';
import { createWaitSamples, findHoldUp, findLongestHoldUp } from '../../src/watch/waits.ts';

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
