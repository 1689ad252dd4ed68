import { describe, expect, it } from 'vitest';
import { mayStart, type OutageState, onProbeStart } from '../../src/guard/outage.ts';
import { CALLERS, end, openAt, probe } from './outages.ts';

/** How many calls may be under way at once. */
function allowed(state: OutageState, nowMs: number): number {
  let inFlight = 0;
  while (mayStart(state, { nowMs, inFlight, callers: 100 }) !== 'wait' && inFlight < 100) {
    inFlight += 1;
  }
  return inFlight;
}

describe('the way back to speed', () => {
  it('has four steps', () => {
    const state = openAt(0);
    let nowMs = probe(state, 0, false);
    expect(state).toMatchObject({ phase: 'recovering', reason: 'probe_succeeded' });
    const steps = [allowed(state, nowMs)];
    while (state.phase === 'recovering') {
      nowMs += 1_000;
      end(state, nowMs, false, 10);
      if (state.phase === 'recovering') steps.push(allowed(state, nowMs));
    }
    expect(steps).toEqual([10, 25, 50, 100]);
    expect(state).toMatchObject({ phase: 'closed', reason: 'recovered', doublings: 0 });
  });

  it('takes a second a step at least, however many calls there are', () => {
    const state = openAt(0);
    const backAtMs = probe(state, 0, false);
    end(state, backAtMs + 999, false, 1_000);
    expect(allowed(state, backAtMs + 999)).toBe(10);
  });

  it('goes on after 5 s where calls are few', () => {
    const state = openAt(0);
    const backAtMs = probe(state, 0, false);
    end(state, backAtMs + 4_999, false);
    expect(allowed(state, backAtMs + 4_999)).toBe(10);
    end(state, backAtMs + 5_000, false);
    expect(allowed(state, backAtMs + 5_000)).toBe(25);
  });

  it('is open to one caller at least', () => {
    const state = openAt(0);
    const nowMs = probe(state, 0, false);
    expect(mayStart(state, { nowMs, inFlight: 0, callers: 3 })).toMatchObject({ atMs: nowMs });
    expect(mayStart(state, { nowMs, inFlight: 1, callers: 3 })).toBe('wait');
  });

  it('ends with a failure, and the wait goes on from where it was', () => {
    const state = openAt(0);
    const failedAtMs = probe(state, 0, true);
    const backAtMs = probe(state, failedAtMs, false);
    end(state, backAtMs + 500, true);
    expect(state).toMatchObject({ phase: 'open', reason: 'relapsed' });
    expect(mayStart(state, { nowMs: backAtMs + 500, ...CALLERS })).toMatchObject({
      atMs: backAtMs + 20_500,
    });
  });

  it('is not barred for ever to an API of which a fifth of the calls always fails', () => {
    const state = openAt(0);
    let nowMs = 0;
    for (let call = 1; state.phase !== 'closed' && nowMs < 600_000; call += 1) {
      const advice = mayStart(state, { nowMs, ...CALLERS });
      nowMs = advice === 'wait' ? nowMs + 1_000 : Math.max(nowMs + 50, advice.atMs);
      if (state.phase === 'open') onProbeStart(state, nowMs);
      end(state, nowMs, call % 5 === 0);
    }
    expect(state.phase).toBe('closed');
    expect(nowMs).toBeLessThan(180_000);
  });

  it('is barred to an API of which half of the calls fail, after three relapses too', () => {
    const state = openAt(0);
    let nowMs = 0;
    for (let round = 0; round < 4; round += 1) {
      nowMs = probe(state, nowMs, false);
      for (let call = 0; call < 3; call += 1) {
        end(state, nowMs, false);
        end(state, nowMs, true);
      }
      expect(state).toMatchObject({ phase: 'open', reason: 'relapsed' });
    }
  });
});

describe('after an outage', () => {
  it('what failed before it no longer counts', () => {
    const state = openAt(0);
    let nowMs = probe(state, 0, false);
    for (let step = 0; step < 4; step += 1) {
      nowMs += 5_000;
      end(state, nowMs, false);
    }
    expect(state.phase).toBe('closed');
    end(state, nowMs + 100, true);
    expect(state.phase).toBe('closed');
  });

  it('the next one is probed after 5 s again', () => {
    const state = openAt(0);
    let nowMs = probe(state, probe(state, 0, true), false);
    for (; state.phase !== 'closed'; nowMs += 1_000) end(state, nowMs, false, 10);
    end(state, nowMs, true, 20);
    expect(mayStart(state, { nowMs, ...CALLERS })).toEqual({ atMs: nowMs + 5_000, isProbe: true });
  });
});
