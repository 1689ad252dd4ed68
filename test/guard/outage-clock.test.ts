import { describe, expect, it } from 'vitest';
import { mayStart, onProbeStart, outageMs } from '../../src/guard/outage.ts';
import { CALLERS, end, openAt, probe } from './outages.ts';

describe('a clock that is set back by an hour', () => {
  const HOUR_MS = 3_600_000;

  it('lets the probe go at once', () => {
    const state = openAt(HOUR_MS);
    expect(mayStart(state, { nowMs: 0, ...CALLERS })).toEqual({ atMs: 0, isProbe: true });
  });

  it('has the probe made again', () => {
    const state = openAt(HOUR_MS - 5_000);
    onProbeStart(state, HOUR_MS);
    expect(mayStart(state, { nowMs: 0, ...CALLERS })).toEqual({ atMs: 0, isProbe: true });
  });

  it('does not keep the way back to speed from going on', () => {
    const state = openAt(HOUR_MS - 5_000);
    expect(probe(state, HOUR_MS - 5_000, false)).toBe(HOUR_MS);
    for (let nowMs = 0; nowMs <= 4_000; nowMs += 1_000) end(state, nowMs, false, 10);
    expect(state.phase).toBe('closed');
  });

  it('does not hide how long the outage has been', () => {
    const state = openAt(HOUR_MS);
    probe(state, 0, true);
    expect(outageMs(state, 9_000)).toBe(9_000);
  });
});
