import { describe, expect, it } from 'vitest';
import {
  createOutageState,
  mayStart,
  type OutageState,
  onCallEnd,
  onProbeStart,
} from '../../src/guard/outage.ts';
import { createRandom } from '../support/random.ts';
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

  it.each([
    [0, 10_000],
    [1, 20_000],
    [2, 20_000],
    [9, 20_000],
  ])(
    'ends when calls fail; after %i failed probes the next one is made after %i ms',
    (failed, ms) => {
      const state = openAt(0);
      let nowMs = 0;
      for (let probes = 0; probes < failed; probes += 1) nowMs = probe(state, nowMs, true);
      nowMs = probe(state, nowMs, false) + 500;
      end(state, nowMs, true, 2);
      expect(state.phase).toBe('recovering');
      end(state, nowMs, true);
      expect(state).toMatchObject({ phase: 'open', reason: 'relapsed' });
      expect(mayStart(state, { nowMs, ...CALLERS })).toMatchObject({ atMs: nowMs + ms });
    },
  );

  it('ends when twenty calls fail in a row, however many went well before', () => {
    const state = openAt(0);
    const nowMs = probe(state, 0, false);
    end(state, nowMs + 500, false, 1_000);
    end(state, nowMs + 600, true, 19);
    expect(state.phase).toBe('recovering');
    end(state, nowMs + 600, true);
    expect(state.phase).toBe('open');
  });

  it('is no matter of minutes where a few calls always fail, and all of them now and then', () => {
    const shares = Array.from({ length: 20 }, (_, seed) => shareOfCallsMade(createRandom(seed)));
    expect(sumOf(shares) / shares.length).toBeGreaterThan(0.25);
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

  it('is barred to an API of which half of the calls fail', () => {
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

const CALL_MS = 100;

/**
 * Makes calls for an hour, by one caller, to an API that fails for 5 to 30 s, is well for 10 to 40 s, and
 * then still fails every twentieth call. Returns how many of those calls were made that could have been
 * while it was well.
 */
function shareOfCallsMade(random: () => number): number {
  const state = createOutageState();
  let [nowMs, changesAtMs, isWell, made, possible] = [0, 0, false, 0, 0];
  for (; nowMs < 3_600_000; nowMs += CALL_MS) {
    if (nowMs >= changesAtMs) {
      isWell = !isWell;
      changesAtMs = nowMs + (isWell ? 10_000 + 30_000 * random() : 5_000 + 25_000 * random());
    }
    if (isWell) possible += 1;
    const advice = mayStart(state, { nowMs, inFlight: 0, callers: 1 });
    if (advice === 'wait' || advice.atMs > nowMs) continue;
    if (advice.isProbe) onProbeStart(state, nowMs);
    const isFailure = !isWell || random() < 0.05;
    onCallEnd(state, { isFailure, sentAtMs: nowMs, nowMs: nowMs + CALL_MS });
    if (isWell) made += 1;
  }
  return made / possible;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
