import { describe, expect, it } from 'vitest';
import { addCall, type CallCounts, totalOf } from '../../src/guard/limit-by-503.ts';
import {
  createOutageState,
  mayStart,
  type OutageState,
  onCallEnd,
  onProbeStart,
} from '../../src/guard/outage.ts';
import { CALLERS, end, openAt, probe } from './outages.ts';

/** Reports calls that were answered 503 at once. */
function refuse(state: OutageState, nowMs: number, count = 1): void {
  for (let call = 0; call < count; call += 1) {
    onCallEnd(state, { isFailure: true, isRefused: true, sentAtMs: nowMs, nowMs });
  }
}

/** The probe is answered, and of the calls that follow most are refused. Returns when. */
function relapse(state: OutageState, nowMs: number): number {
  const atMs = probe(state, nowMs, false) + 100;
  end(state, atMs, false);
  refuse(state, atMs, 3);
  return atMs;
}

/** A state in which 503 is a limit, since the time that is returned. */
function limited(): { state: OutageState; nowMs: number } {
  const state = createOutageState();
  refuse(state, 0, 20);
  const nowMs = relapse(state, relapse(state, 0));
  return { state, nowMs };
}

describe('503', () => {
  it('is a limit when calls at speed get it twice, though the probes are answered', () => {
    const state = createOutageState();
    refuse(state, 0, 20);
    const nowMs = relapse(state, 0);
    expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false } });
    relapse(state, nowMs);
    expect(state).toMatchObject({
      phase: 'closed',
      reason: 'limited',
      outageSinceMs: null,
      limitBy503: { isLimit: true },
    });
    expect(mayStart(state, { nowMs, ...CALLERS })).toEqual({ atMs: nowMs, isProbe: false });
  });

  it('is a limit the first time, and soon, when calls were answered in between', () => {
    const state = createOutageState();
    end(state, 0, false, 12);
    refuse(state, 100, 10);
    onCallEnd(state, { isFailure: false, sentAtMs: 150, nowMs: 160 });
    refuse(state, 200, 10);
    expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false } });
    expect(mayStart(state, { nowMs: 200, ...CALLERS })).toEqual({ atMs: 2_700, isProbe: true });
    expect(relapse(state, 200)).toBeLessThan(3_000);
    expect(state).toMatchObject({ phase: 'closed', limitBy503: { isLimit: true } });
  });

  it('is none the first time when those answered in between were sent before', () => {
    const state = createOutageState();
    refuse(state, 100, 10);
    onCallEnd(state, { isFailure: false, sentAtMs: 50, nowMs: 160 });
    refuse(state, 200, 10);
    relapse(state, 200);
    expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false } });
  });

  it('is none where something else goes wrong too', () => {
    const state = createOutageState();
    refuse(state, 0, 20);
    let nowMs = 0;
    for (let round = 0; round < 5; round += 1) {
      nowMs = probe(state, nowMs, false) + 100;
      end(state, nowMs, true);
      refuse(state, nowMs, 3);
      expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false } });
    }
  });

  it('is none when calls come back to speed in between', () => {
    const state = openAt(0);
    let nowMs = relapse(state, 0);
    nowMs = probe(state, nowMs, false);
    while (state.phase === 'recovering') {
      nowMs += 1_000;
      end(state, nowMs, false, 10);
    }
    refuse(state, nowMs + 100, 40);
    expect(state.phase).toBe('open');
    relapse(state, nowMs + 100);
    expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false } });
  });

  it('is no failure from then on, while others are answered', () => {
    const { state, nowMs } = limited();
    for (let call = 1; call < 200; call += 1) {
      refuse(state, nowMs + call * 100, 3);
      end(state, nowMs + call * 100, false, 4);
      expect(state).toMatchObject({ phase: 'closed', limitBy503: { isLimit: true } });
    }
  });

  it('leaves the API to be out of other causes', () => {
    const { state, nowMs } = limited();
    end(state, nowMs + 100, true, 20);
    expect(state.phase).toBe('open');
    // Refused is answered.
    const advice = mayStart(state, { nowMs, ...CALLERS });
    if (advice === 'wait') throw new Error('nothing is under way');
    onProbeStart(state, advice.atMs);
    refuse(state, advice.atMs);
    expect(state.phase).toBe('recovering');
  });

  it('is an outage after all when nothing else comes any more', () => {
    const { state, nowMs } = limited();
    end(state, nowMs + 100, false, 10);
    for (let call = 1; call < 5; call += 1) refuse(state, nowMs + call * 2_000);
    expect(state.phase).toBe('closed');
    refuse(state, nowMs + 10_000);
    expect(state).toMatchObject({ phase: 'open', limitBy503: { isLimit: false, signs: 0 } });
  });

  it('is an outage after all also when the clock was set back', () => {
    const { state, nowMs } = limited();
    end(state, nowMs + 3_600_000, false, 10);
    for (let call = 0; call < 5; call += 1) refuse(state, nowMs + call * 2_000);
    expect(state.phase).toBe('open');
  });

  it('counts once for calls that were under way together', () => {
    const { state, nowMs } = limited();
    const sentAtMs = nowMs + 10_000;
    for (let call = 0; call < 30; call += 1) {
      onCallEnd(state, { isFailure: true, isRefused: true, sentAtMs, nowMs: sentAtMs + 1 + call });
    }
    expect(state).toMatchObject({ phase: 'closed', limitBy503: { isLimit: true } });
  });

  it('is no limit where it goes on although calls have become few', () => {
    const { state, nowMs } = limited();
    end(state, nowMs + 1_000, false, 100);
    let second = 1;
    while (state.limitBy503.isLimit && second < 120) {
      second += 1;
      refuse(state, nowMs + second * 1_000);
      end(state, nowMs + second * 1_000 + 1, false, 3);
    }
    // Once the fast second is a small part of those that are remembered.
    expect(second).toBeLessThan(30);
    expect(state.phase).toBe('closed');
  });
});

/** Counts one failure at each of these seconds. */
function failAt(...seconds: readonly number[]): CallCounts {
  const counts: CallCounts = [];
  for (const second of seconds) addCall(counts, { isFailure: true, nowMs: second * 1_000 + 500 });
  return counts;
}

describe('the counts of calls', () => {
  it('are kept by the second, for 30 of them', () => {
    const counts = failAt(1, 1, 2, 31);
    addCall(counts, { isFailure: false, nowMs: 31_999 });
    expect(counts).toEqual([
      { second: 2, calls: 1, failures: 1 },
      { second: 31, calls: 2, failures: 1 },
    ]);
    expect(totalOf(counts)).toEqual({ calls: 3, failures: 2 });
  });

  it('take what comes a little late', () => {
    expect(failAt(5, 4, 5)).toEqual([{ second: 5, calls: 3, failures: 3 }]);
  });

  it('forget a time that is still to come, because the clock was set back', () => {
    expect(failAt(5, 90, 7)).toEqual([{ second: 7, calls: 1, failures: 1 }]);
    expect(failAt(5, 20, 7)).toEqual([
      { second: 5, calls: 1, failures: 1 },
      { second: 7, calls: 1, failures: 1 },
    ]);
  });
});
