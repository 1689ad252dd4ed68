import { describe, expect, it } from 'vitest';
import {
  createOutageState,
  describeOutage,
  makeProbeDue,
  mayStart,
  type OutageState,
  onCallAbandoned,
  onCallEnd,
  onProbeStart,
  outageMs,
  statedOutMs,
  stepBack,
} from '../../src/guard/outage.ts';
import { CALLERS, end, openAt, probe } from './outages.ts';

describe('a healthy API', () => {
  it('holds nobody back', () => {
    expect(mayStart(createOutageState(), { nowMs: 5, inFlight: 99, callers: 1 })).toEqual({
      atMs: 5,
      isProbe: false,
    });
  });

  it('may fail less than half of the time', () => {
    const state = createOutageState();
    for (let nowMs = 0; nowMs < 300_000; nowMs += 100) end(state, nowMs, (nowMs / 100) % 5 > 2);
    expect(state.phase).toBe('closed');
  });

  it('may fail 19 times, for that is too few calls to tell', () => {
    const state = createOutageState();
    end(state, 0, true, 19);
    expect(state.phase).toBe('closed');
  });

  it('may fail now and then: what is older than 30 s does not count', () => {
    const state = createOutageState();
    end(state, 0, true, 19);
    end(state, 30_000, true, 10);
    expect(state.phase).toBe('closed');
  });

  it('remembers no more than 30 seconds, however many calls there are', () => {
    const state = createOutageState();
    for (let nowMs = 0; nowMs < 1_000_000; nowMs += 50) end(state, nowMs, false);
    expect(state.counts.length).toBeLessThanOrEqual(30);
    expect(JSON.stringify(state).length).toBeLessThan(2_000);
  });
});

describe('an outage', () => {
  it('begins when half of 20 calls failed within 30 s', () => {
    const state = createOutageState();
    end(state, 0, false, 10);
    end(state, 29_000, true, 9);
    expect(state.phase).toBe('closed');
    end(state, 29_500, true);
    expect(state).toMatchObject({ phase: 'open', reason: 'calls_failed', outageSinceMs: 29_500 });
  });

  it('begins when 20 calls failed in a row, however many went well before', () => {
    const state = createOutageState();
    end(state, 0, false, 500);
    end(state, 1_000, true, 19);
    expect(state.phase).toBe('closed');
    end(state, 1_100, true);
    expect(state.phase).toBe('open');
  });

  it.each([
    [32, 20],
    [10, 20],
    [7, 14],
    [4, 8],
    [1, 8],
  ])('with %i callers begins when %i calls failed in a row', (callers, inRow) => {
    const state = createOutageState();
    end(state, 0, false, 500);
    const call = { isFailure: true, callers, sentAtMs: 1_000, nowMs: 1_000 };
    for (let failed = 1; failed < inRow; failed += 1) onCallEnd(state, call);
    expect(state.phase).toBe('closed');
    onCallEnd(state, call);
    expect(state.phase).toBe('open');
  });

  it('does not begin when one of them went well, or they are far apart', () => {
    const state = createOutageState();
    end(state, 0, false, 500);
    end(state, 1_000, true, 19);
    end(state, 1_001, false);
    end(state, 1_002, true, 19);
    expect(state.phase).toBe('closed');
  });

  it('is probed after 5 s, 10 s, 20 s, … 300 s', () => {
    const state = openAt(0);
    const waits: number[] = [];
    for (let nowMs = 0; waits.length < 9; ) {
      const atMs = probe(state, nowMs, true);
      waits.push((atMs - nowMs) / 1_000);
      nowMs = atMs;
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('lets one probe go and nobody else', () => {
    const state = openAt(0);
    expect(mayStart(state, { nowMs: 4_999, ...CALLERS })).toEqual({ atMs: 5_000, isProbe: true });
    onProbeStart(state, 5_000);
    expect(state).toMatchObject({ phase: 'probing', reason: 'probe_due' });
    expect(mayStart(state, { nowMs: 5_000, ...CALLERS })).toBe('wait');
    expect(mayStart(state, { nowMs: 94_999, ...CALLERS })).toBe('wait');
  });

  it('takes a probe of which nobody heard for 90 s for lost, and waits longer after the next', () => {
    const state = openAt(0);
    onProbeStart(state, 5_000);
    expect(mayStart(state, { nowMs: 95_000, ...CALLERS })).toEqual({ atMs: 95_000, isProbe: true });
    onProbeStart(state, 95_000);
    end(state, 96_000, true);
    expect(mayStart(state, { nowMs: 96_000, ...CALLERS })).toEqual({
      atMs: 116_000,
      isProbe: true,
    });
  });

  it('is not judged by calls that were sent before', () => {
    const state = openAt(1_000);
    onCallEnd(state, { isFailure: false, sentAtMs: 900, nowMs: 2_000 });
    expect(state.phase).toBe('open');
    onProbeStart(state, 6_000);
    onCallEnd(state, { isFailure: true, sentAtMs: 900, nowMs: 6_100 });
    onCallEnd(state, { isFailure: false, sentAtMs: 900, nowMs: 6_100 });
    expect(state.phase).toBe('probing');
    onCallEnd(state, { isFailure: false, sentAtMs: 6_000, nowMs: 6_200 });
    onCallEnd(state, { isFailure: true, sentAtMs: 900, nowMs: 31_000 });
    expect(state.phase).toBe('recovering');
  });

  it('lasts from its beginning until calls get through', () => {
    const state = openAt(1_000);
    expect(outageMs(createOutageState(), 5)).toBe(0);
    expect(outageMs(state, 4_000)).toBe(3_000);
    probe(state, 6_000, true);
    expect(outageMs(state, 16_000)).toBe(15_000);
    expect(outageMs(state, 0)).toBe(0);
    const backAtMs = probe(state, 16_000, false);
    expect(outageMs(state, backAtMs)).toBe(0);
  });

  it('is one outage when the first step back fails', () => {
    const state = openAt(0);
    const backAtMs = probe(state, 0, false);
    end(state, backAtMs + 10, true, 3);
    expect(outageMs(state, backAtMs + 10)).toBe(backAtMs + 10);
  });

  it('is another one when calls went well in between', () => {
    const state = openAt(0);
    const backAtMs = probe(state, 0, false);
    end(state, backAtMs + 1_000, false, 10);
    end(state, backAtMs + 1_500, true, 10);
    expect(outageMs(state, backAtMs + 2_500)).toBe(1_000);
  });
});

describe('an outage of which the API says how long it lasts', () => {
  const told = (state: OutageState, nowMs: number, retryAfterMs: number, sentAtMs = nowMs): void =>
    onCallEnd(state, { isFailure: true, isRefused: true, retryAfterMs, sentAtMs, nowMs });

  it('begins with the first call that is told, and is probed when it said', () => {
    const state = createOutageState();
    end(state, 0, false, 50);
    told(state, 1_000, 20_000);
    expect(mayStart(state, { nowMs: 1_000, ...CALLERS })).toEqual({ atMs: 21_000, isProbe: true });
    expect(statedOutMs(state, 11_000)).toBe(10_000);
  });

  it('is waited for as long as the longest that calls under way were told; they do not add up', () => {
    const state = createOutageState();
    for (const retryAfterMs of [3_000, 20_000, 19_000]) told(state, 1_000, retryAfterMs, 900);
    told(state, 1_100, 19_500, 950);
    expect(mayStart(state, { nowMs: 1_100, ...CALLERS })).toEqual({ atMs: 21_000, isProbe: true });
  });

  it('goes on when the probe is told anew, and is over after one that went well', () => {
    const state = createOutageState();
    told(state, 0, 20_000);
    onProbeStart(state, 20_000);
    told(state, 20_100, 7_000, 20_000);
    expect(mayStart(state, { nowMs: 20_100, ...CALLERS })).toEqual({ atMs: 27_100, isProbe: true });
    onProbeStart(state, 27_100);
    end(state, 27_200, false);
    expect(state.phase).toBe('recovering');
    for (let nowMs = 28_300; state.phase !== 'closed'; nowMs += 1_100) end(state, nowMs, false, 10);
    expect(state.phaseSinceMs).toBeLessThan(33_000);
  });

  it('is a limit when it is told again and again although calls are answered', () => {
    const state = createOutageState();
    let nowMs = 0;
    for (let round = 0; round < 3; round += 1) {
      told(state, nowMs, 1_000);
      if (state.limitBy503.isLimit) break;
      nowMs += 1_000;
      onProbeStart(state, nowMs);
      end(state, nowMs, false, 3);
    }
    expect(state).toMatchObject({ phase: 'closed', reason: 'limited' });
  });
});

describe('calls that got no connection', () => {
  const unreached = { isFailure: true, isUnreached: true };

  it('begin an outage after five when none was ever answered', () => {
    const state = createOutageState();
    for (let call = 0; call < 5; call += 1) {
      expect(state.phase).toBe('closed');
      onCallEnd(state, { ...unreached, sentAtMs: call, nowMs: call });
    }
    expect(state.phase).toBe('open');
  });

  it('are too few to tell when some were answered', () => {
    const state = createOutageState();
    end(state, 0, false);
    for (let call = 0; call < 18; call += 1)
      onCallEnd(state, { ...unreached, sentAtMs: 1, nowMs: 1 });
    expect(state.phase).toBe('closed');
  });
});

describe('a call that this machine could not make', () => {
  it('stops all, whatever else goes well', () => {
    const state = createOutageState();
    end(state, 0, false, 500);
    onCallEnd(state, { isFailure: true, isOfMachine: true, sentAtMs: 1, nowMs: 1 });
    expect(state).toMatchObject({ phase: 'open', cause: 'machine' });
    expect(describeOutage(state, 1_001)).toBe(
      'This machine has not been able to make calls for 1 s; one call tries again in 4 s.',
    );
  });
});

describe('the description', () => {
  it('says nothing when all is well', () => {
    expect(describeOutage(createOutageState(), 0)).toBeUndefined();
  });

  it('says what is going on', () => {
    const state = openAt(0);
    const said = [describeOutage(state, 2_000)];
    onProbeStart(state, 5_000);
    said.push(describeOutage(state, 6_000));
    end(state, 7_000, false);
    said.push(describeOutage(state, 7_000));
    expect(said).toEqual([
      'The API has been out for 2 s; one call tries again in 3 s.',
      'The API has been out for 6 s; one call is trying whether it is back.',
      'The API is back; calls are at 10 % of their number.',
    ]);
  });
});

describe('a probe', () => {
  const AT_ONCE = { nowMs: 5_001, ...CALLERS };

  it('that was not made is due at once; a call that was sent before is none', () => {
    const startMs = Date.UTC(2026, 10, 20);
    const state = openAt(startMs);
    onProbeStart(state, startMs + 5_000);
    const atOnce = { nowMs: startMs + 5_001, ...CALLERS };
    onCallAbandoned(state, startMs + 3_999);
    expect(mayStart(state, atOnce)).toBe('wait');
    onCallAbandoned(state, startMs + 4_000); // a clock may be off by a second
    expect(mayStart(state, atOnce)).toEqual({ atMs: startMs + 5_001, isProbe: true });
  });

  it('is due at once when nobody waits for it any more, whatever the API said', () => {
    const state = openAt(0);
    onCallEnd(state, { isFailure: true, retryAfterMs: 60_000, sentAtMs: 0, nowMs: 1_000 });
    expect(mayStart(state, AT_ONCE)).toEqual({ atMs: 61_000, isProbe: true });
    makeProbeDue(state);
    expect(mayStart(state, AT_ONCE)).toEqual({ atMs: 5_001, isProbe: true });
  });

  it('is nothing to a call that is given up, or made, while calls go', () => {
    const recovering = openAt(0);
    const nowMs = probe(recovering, 0, false);
    for (const state of [createOutageState(), recovering]) {
      const before = structuredClone(state);
      makeProbeDue(state);
      onCallAbandoned(state, nowMs);
      onProbeStart(state, nowMs);
      expect(state).toEqual(before);
    }
    expect(mayStart(recovering, { nowMs, ...CALLERS })).toEqual({ atMs: nowMs, isProbe: false });
  });

  it('is one, also when it starts twice', () => {
    const state = openAt(0);
    onProbeStart(state, 5_000);
    const before = structuredClone(state);
    onProbeStart(state, 5_100);
    expect(state).toEqual(before);
  });

  it('comes no sooner because calls that were under way fail', () => {
    const state = openAt(0);
    end(state, 100, true);
    expect(mayStart(state, { nowMs: 200, ...CALLERS })).toEqual({ atMs: 5_000, isProbe: true });
    expect(describeOutage(state, 200)).toMatch(/^The API has been out for 0 s; .* in 5 s\.$/);
  });
});

describe('twenty failures in a row', () => {
  /** So many calls went well that only a row shows an outage. */
  function manyGood(): OutageState {
    const state = createOutageState();
    end(state, 100_000, false, 1_000);
    return state;
  }

  it.each<[string, failedAtMs: readonly number[], goodAtMs: number, phase: string]>([
    ['a success that ended before the last of them', [101_000], 100_500, 'open'],
    ['one that ended before the last, of which was told late', [101_000, 100_400], 100_700, 'open'],
    ['a success that ended with the last of them', [101_000], 101_000, 'closed'],
  ])('and %s', (_, failedAtMs, goodAtMs, phase) => {
    const state = manyGood();
    end(state, 101_000, true, 20 - failedAtMs.length - 1);
    for (const atMs of failedAtMs) end(state, atMs, true);
    end(state, goodAtMs, false);
    expect(state.phase).toBe('closed');
    end(state, 101_000, true);
    expect(state.phase).toBe(phase);
  });

  it('show nothing where calls from elsewhere go well, unless the API says that it is out', () => {
    const state = createOutageState();
    const call = { isFailure: true, isWellElsewhere: true, sentAtMs: 1_000, nowMs: 1_000 };
    for (let failed = 0; failed < 40; failed += 1) onCallEnd(state, call);
    expect(state.phase).toBe('closed');
    onCallEnd(state, { ...call, retryAfterMs: 9_000 });
    expect(state).toMatchObject({ phase: 'open', cause: 'stated' });
  });
});

describe('calls that fail here only', () => {
  it('step back, which is said until they go well', () => {
    const state = createOutageState();
    stepBack(state, 1_000);
    expect(describeOutage(state, 3_000)).toBe(
      'Calls have failed here, though they go well elsewhere, for 2 s; one call tries again in 3 s.',
    );
    const failedAtMs = probe(state, 1_000, true);
    expect(state).toMatchObject({ phase: 'open', cause: 'here' });
    const atMs = mayStart(state, { nowMs: failedAtMs, ...CALLERS });
    onProbeStart(state, atMs === 'wait' ? 0 : atMs.atMs);
    expect(describeOutage(state, 16_000)).toMatch(
      /for 15 s; one call is trying whether they go well\.$/,
    );
    end(state, 16_000, false);
    expect(describeOutage(state, 16_000)).toBe(
      'Calls go through again; they are at 10 % of their number.',
    );
    expect(outageMs(state, 17_000)).toBe(0);
  });

  it('are no news while there is an outage already', () => {
    const state = openAt(0);
    const before = structuredClone(state);
    stepBack(state, 1_000);
    expect(state).toEqual(before);
  });

  it('are told from an API that said when to come back, also when it is back', () => {
    const state = createOutageState();
    onCallEnd(state, { isFailure: true, retryAfterMs: 9_000, sentAtMs: 0, nowMs: 0 });
    expect(describeOutage(state, 0)).toMatch(/in 9 s, as it said\.$/);
    probe(state, 0, false);
    expect(describeOutage(state, 9_000)).toBe(
      'The API is back; calls are at 10 % of their number.',
    );
  });
});

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
