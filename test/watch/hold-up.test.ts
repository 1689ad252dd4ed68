import { describe, expect, it } from 'vitest';
import { findHoldUp, findLongestHoldUp } from '../../src/watch/waits.ts';

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
