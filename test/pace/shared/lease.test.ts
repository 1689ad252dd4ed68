import { describe, expect, it } from 'vitest';
import { createPaceState, type PaceEvent } from '../../../src/pace/pacer.ts';
import { LEASE_MS, type Lease, takeLease } from '../../../src/pace/shared/lease.ts';
import {
  readSharedPace,
  type SharedPace,
  type WorkerNews,
} from '../../../src/pace/shared/state.ts';

const START = { nowMs: 1_000_000, rate: undefined };

function fresh(): SharedPace {
  return readSharedPace(undefined, START);
}

function come(shared: SharedPace, nowMs: number, news: Partial<WorkerNews> = {}): Lease {
  return takeLease(
    shared,
    {
      worker: 'a',
      callers: 32,
      sentAtMs: [],
      waiting: 32,
      isBusy: true,
      startsMs: [],
      hasUsedAll: true,
      events: [],
      verdicts: [],
      isLeaving: false,
      ...news,
    },
    nowMs,
  );
}

/** Calls that were all made in the last second. */
function calls(count: number, nowMs: number, isFailure: boolean): WorkerNews['verdicts'] {
  return Array.from({ length: count }, (_, index) => ({
    sentAtMs: nowMs - 1_000 + index,
    endedAtMs: nowMs - 500 + index,
    isFailure,
  }));
}

function throttled(atMs: number, retryAfterMs?: number): WorkerNews['events'][number] {
  return {
    kind: 'throttled',
    sentAtMs: atMs - 10,
    endedAtMs: atMs,
    latencyMs: 10,
    inFlight: 1,
    random: 0.5,
    retryAfterMs,
  };
}

describe('a lease', () => {
  it('gives no start time twice', () => {
    const shared = fresh();
    const starts: number[] = [];
    for (const [index, afterMs] of [0, 20, 60, 180, 260].entries()) {
      starts.push(...come(shared, START.nowMs + afterMs, { worker: `w${index % 2}` }).startsMs);
    }
    expect(new Set(starts).size).toBe(starts.length);
  });

  it('ends a little later than the next visit is due', () => {
    const { startsMs, untilMs } = come(fresh(), START.nowMs);
    expect(Math.max(...startsMs)).toBeLessThanOrEqual(untilMs);
  });

  it('holds nobody back who has no caller that waits', () => {
    const { startsMs } = come(fresh(), START.nowMs, { waiting: 0, isBusy: false });
    expect(startsMs).toEqual([]);
  });

  it('makes void what others hold when one was throttled', () => {
    const shared = fresh();
    const held = come(shared, START.nowMs, { worker: 'b' }).startsMs;
    expect(held.length).toBeGreaterThan(0);
    come(shared, START.nowMs + 50, { events: [throttled(START.nowMs + 49, 5_000)] });
    const lease = come(shared, START.nowMs + 100, { worker: 'b', startsMs: held });
    expect(lease.startsMs).toEqual([]);
    expect(lease.kept).toBe(0);
  });

  it('obeys a wait that another worker was told', () => {
    const shared = fresh();
    come(shared, START.nowMs, { events: [throttled(START.nowMs, 5_000)], isLeaving: true });
    expect(come(shared, START.nowMs + 4_700, { worker: 'b' }).startsMs).toEqual([]);
    expect(come(shared, START.nowMs + 4_900, { worker: 'b' }).startsMs).not.toEqual([]);
  });

  it('is longer, and is renewed less often, where there are many workers', () => {
    const shared = fresh();
    const leases = Array.from({ length: 64 }, (_, at) =>
      come(shared, START.nowMs, { worker: `w${at}` }),
    );
    expect(leases.at(0)?.untilMs).toBe(START.nowMs + LEASE_MS);
    expect(leases.at(-1)?.untilMs).toBe(START.nowMs + 2 * LEASE_MS);
  });

  it.each<[string, Partial<PaceEvent>]>([
    ['a limit that was reached', { kind: 'throttled' }],
    [
      'a limit that is used up, as is said',
      { kind: 'accepted', limits: { remaining: 0, resetMs: 300_000 } },
    ],
  ])('lets one call of one worker try %s, if a caller waits for it', (_, told) => {
    const shared = fresh();
    come(shared, START.nowMs, { worker: 'b' });
    const atMs = START.nowMs + 50;
    come(shared, atMs, { events: [{ ...throttled(atMs), ...told }] });
    const nowMs = START.nowMs + 1_100;
    expect(come(shared, nowMs, { waiting: 0 }).startsMs).toEqual([]);
    expect(come(shared, nowMs, { worker: 'b', waiting: 5 }).startsMs).toHaveLength(1);
    expect(come(shared, nowMs + 20, { waiting: 5 }).startsMs).toEqual([]);
  });

  it('obeys a wait that is told just after the clock was set back', () => {
    const shared = fresh();
    come(shared, START.nowMs + 60_000);
    come(shared, START.nowMs, { events: [throttled(START.nowMs, 5_000)] });
    expect(come(shared, START.nowMs + 4_700).startsMs).toEqual([]);
    expect(come(shared, START.nowMs + 4_900).startsMs).not.toEqual([]);
  });

  it('shares calls in flight out while they are bounded', () => {
    const shared = fresh();
    const first = come(shared, START.nowMs);
    const second = come(shared, START.nowMs + 10, { worker: 'b' });
    expect(first.permits + second.permits).toBeLessThanOrEqual(first.mostInFlight);
    expect(first.isPermitBound).toBe(true);
    expect(come(shared, START.nowMs + 20, { callers: 3, waiting: 3 }).isPermitBound).toBe(false);
  });

  it('gives no more start times than calls in flight can use, and so leaves some to others', () => {
    const shared = fresh();
    shared.pace.phase = 'cruising';
    shared.pace.ratePerMs = 1;
    shared.pace.concurrency.cap = 8;
    const [one, other] = [{ worker: 'a' }, { worker: 'b' }];
    come(shared, START.nowMs, one);
    come(shared, START.nowMs + 10, other);
    const { permits, startsMs, isRateBound } = come(shared, START.nowMs + 20, one);
    expect(permits).toBe(4);
    expect(startsMs.length).toBeLessThanOrEqual(8);
    expect(isRateBound).toBe(false);
    expect(come(shared, START.nowMs + 190, other).startsMs).not.toEqual([]);
  });

  it('bounds no number of calls in flight where the API does not', () => {
    const shared = fresh();
    shared.pace.phase = 'cruising';
    expect(come(shared, START.nowMs).permits).toBe(Number.POSITIVE_INFINITY);
  });

  it('says how many calls others have in flight, and whether it is the rate that allows no more', () => {
    const shared = fresh();
    shared.pace.phase = 'cruising';
    shared.pace.ratePerMs = 0.01;
    come(shared, START.nowMs, { sentAtMs: [START.nowMs - 2, START.nowMs - 1] });
    const lease = come(shared, START.nowMs + 1, { worker: 'b', sentAtMs: [START.nowMs] });
    expect(lease).toMatchObject({ elsewhere: 2, isRateBound: true });
    const fixed = readSharedPace(undefined, { ...START, rate: { count: 10, perMs: 1_000 } });
    expect(come(fixed, START.nowMs).isRateBound).toBe(true);
    const few = { waiting: 1, isBusy: false };
    expect(come(fixed, START.nowMs + 1_000, few).isRateBound).toBe(false);
  });

  it('has a start for each caller that waits and may go, however long calls take', () => {
    const shared = fresh();
    Object.assign(shared.pace, { phase: 'cruising', ratePerMs: 1 });
    shared.pace.latency.callMs = 10_000;
    expect(come(shared, START.nowMs, { waiting: 5 }).startsMs).toHaveLength(6); // one may come free
    shared.pace.concurrency.cap = 8;
    const sentAtMs = Array.from({ length: 6 }, () => START.nowMs);
    expect(come(shared, START.nowMs + 10, { sentAtMs }).startsMs).toHaveLength(3);
  });

  it('lets a rate grow only if all starts are used', () => {
    const grown = (hasUsedAll: boolean): number => {
      const shared = fresh();
      for (let atMs = START.nowMs; atMs < START.nowMs + 2_000; atMs += 100) {
        const called = { ...throttled(atMs), kind: 'accepted' } as const;
        come(shared, atMs, { events: [called, called, called], hasUsedAll });
      }
      return shared.pace.ratePerMs;
    };
    expect(grown(true)).toBeGreaterThan(grown(false));
  });

  it('forgets a worker that leaves, and one that was not heard of for long', () => {
    const shared = fresh();
    come(shared, START.nowMs, { worker: 'b' });
    come(shared, START.nowMs, { isLeaving: true });
    expect(Object.keys(shared.workers)).toEqual(['b']);
    const later = readSharedPace(JSON.stringify(shared), { ...START, nowMs: START.nowMs + 4_000 });
    expect(later.workers).toEqual({});
  });

  it('has the next run begin at the limit that was learned', () => {
    const shared = fresh();
    shared.pace.phase = 'cruising';
    shared.pace.estimate.limitPerMs = 0.05;
    const nowMs = START.nowMs + 3_600_000;
    const { pace } = readSharedPace(JSON.stringify(shared), { ...START, nowMs });
    expect(pace.phase).toBe('cruising');
    expect(pace.ratePerMs).toBeGreaterThan(0.045);
  });

  it.each([
    'nonsense',
    'null',
    '{"v":1,"pace":{},"outage":{},"workers":{}}',
    '{"v":2,"outage":{},"workers":{}}',
    '{"v":2,"pace":{},"workers":{}}',
    '{"v":2,"pace":{},"outage":{}}',
  ])('begins anew at a state such as %s', (json) => {
    expect(readSharedPace(json, START)).toEqual(fresh());
  });

  it('of a worker that was killed is void, though the clock was set back since', () => {
    const shared = fresh();
    come(shared, START.nowMs, { worker: 'killed' });
    const json = JSON.stringify(shared);
    const before = readSharedPace(json, { ...START, nowMs: START.nowMs - 1_000 });
    expect(Object.keys(before.workers)).toEqual(['killed']);
    const later = readSharedPace(json, { ...START, nowMs: START.nowMs - 3_600_000 });
    expect(later.workers).toEqual({});
  });
});

describe('an outage that workers see together', () => {
  it('is noticed from the calls of all, and stops all', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(12, nowMs, true) });
    expect(shared.outage.phase).toBe('closed');
    come(shared, nowMs + 10, { worker: 'b', verdicts: calls(12, nowMs, true) });
    expect(shared.outage.phase).toBe('open');
    expect(come(shared, nowMs + 20)).toMatchObject({ startsMs: [], permits: 0 });
    expect(come(shared, nowMs + 30, { worker: 'b', startsMs: [nowMs + 40] }).startsMs).toEqual([]);
  });

  it.each([
    [[4], 8],
    [[3, 4], 14],
    [[4, 32], 20],
  ])('of workers with %j callers begins after %i calls', (callers, inRow) => {
    const shared = fresh();
    const report = (failed: number): void => {
      for (const [at, own] of callers.entries()) {
        const verdicts = at === 0 ? calls(failed, START.nowMs, true) : [];
        come(shared, START.nowMs, { worker: `w${at}`, callers: own, verdicts });
      }
    };
    report(0);
    report(inRow - 1);
    expect(shared.outage.phase).toBe('closed');
    report(1);
    expect(shared.outage.phase).toBe('open');
  });

  it('lets one call of one worker find out whether it is over', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    const dueMs = nowMs + 5_000;
    const first = come(shared, dueMs);
    const second = come(shared, dueMs + 1, { worker: 'b' });
    expect(first.startsMs.length + second.startsMs.length).toBe(1);
    expect(first.permits).toBe(1);
    expect([first.isRateBound, second.isRateBound]).toEqual([true, true]);
    const other = { ...throttled(dueMs + 20), kind: 'accepted' } as const;
    expect(come(shared, dueMs + 25, { worker: 'b', events: [other] }).startsMs).toEqual([]);
  });

  it('is probed when it is time, though a worker leaves before', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    come(shared, nowMs + 1_000, { worker: 'b', isLeaving: true });
    expect(come(shared, nowMs + 1_010).startsMs).toEqual([]);
  });

  it('is probed at once by whoever comes when all others have gone', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    const later = readSharedPace(JSON.stringify(shared), { ...START, nowMs: nowMs + 4_000 });
    expect(come(later, nowMs + 4_000).startsMs).toHaveLength(1);
  });

  it('is probed by another one when the one leaves that was to do it', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    expect(come(shared, nowMs + 5_000).startsMs).toHaveLength(1);
    expect(come(shared, nowMs + 5_010, { worker: 'b' }).startsMs).toEqual([]);
    come(shared, nowMs + 5_020, { isLeaving: true });
    expect(come(shared, nowMs + 5_030, { worker: 'b' }).startsMs).toHaveLength(1);
  });

  it('is probed by another one when the call was not made that was to find out', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    const dueMs = nowMs + 5_000;
    expect(come(shared, dueMs).startsMs).toHaveLength(1);
    const abandoned = { kind: 'abandoned', random: 0.5, inFlight: 0, latencyMs: 0 } as const;
    // An old one that is given up is none.
    const old = { ...abandoned, sentAtMs: nowMs - 100, endedAtMs: dueMs + 5 };
    come(shared, dueMs + 5, { worker: 'b', events: [old] });
    expect(come(shared, dueMs + 10, { worker: 'b' }).startsMs).toEqual([]);
    const probe = { ...abandoned, sentAtMs: dueMs + 15, endedAtMs: dueMs + 15 };
    come(shared, dueMs + 20, { waiting: 0, events: [probe] });
    expect(come(shared, dueMs + 30, { worker: 'b' }).startsMs).toHaveLength(1);
  });

  it('is none where 503 turns out to be a limit: the pace begins anew for all', () => {
    const shared = fresh();
    shared.pace.ratePerMs = 0.5;
    let nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    for (const waitMs of [5_000, 10_000]) {
      nowMs += waitMs;
      come(shared, nowMs);
      const probe = { sentAtMs: nowMs + 10, endedAtMs: nowMs + 100, isFailure: false };
      come(shared, nowMs + 100, { verdicts: [probe] });
      nowMs += 200;
      const refused = { sentAtMs: nowMs - 50, endedAtMs: nowMs, isFailure: true, isRefused: true };
      come(shared, nowMs, { verdicts: [refused, refused, refused] });
    }
    expect(shared.outage).toMatchObject({ phase: 'closed', limitBy503: { isLimit: true } });
    const { phase, ratePerMs } = createPaceState({}, nowMs);
    expect(shared.pace).toMatchObject({ phase, ratePerMs });
  });

  it('goes on where an older version kept less of it', () => {
    const shared = fresh();
    const { limitBy503: _, ...older } = shared.outage;
    const json = JSON.stringify({ ...shared, outage: { ...older, failedInRow: 3 } });
    const { outage } = readSharedPace(json, START);
    expect(outage).toMatchObject({ failedInRow: 3, limitBy503: { isLimit: false } });
  });

  it('is over in steps', () => {
    const shared = fresh();
    const nowMs = START.nowMs + 2_000;
    come(shared, nowMs, { verdicts: calls(24, nowMs, true) });
    const dueMs = nowMs + 5_000;
    come(shared, dueMs);
    const backMs = dueMs + 300;
    const news = { verdicts: [{ sentAtMs: dueMs + 200, endedAtMs: backMs, isFailure: false }] };
    const { permits } = come(shared, backMs, news);
    expect(shared.outage.phase).toBe('recovering');
    expect(permits).toBe(3);
  });
});

describe('workers whose calls fail', () => {
  /** Comes a few times a second, with calls that all went the same way. */
  function report(shared: SharedPace, worker: string, atMs: number, isFailure: boolean): Lease {
    const verdicts = Array.from({ length: 8 }, (_, at) => ({
      sentAtMs: atMs - 20 + at,
      endedAtMs: atMs - 10 + at,
      isFailure,
    }));
    return come(shared, atMs, { worker, verdicts });
  }

  it.each<
    [string, { well?: number; failing?: number; agoMs?: number; own?: [number, number] }, boolean]
  >([
    ['those of another go well', { well: 1 }, true],
    ['there is no other', {}, false],
    ['those of the other fail, too', { failing: 1 }, false],
    ['as many workers fail as do well', { well: 2, failing: 1 }, true],
    ['those of another went well by a clock that is ahead', { well: 1, agoMs: -6_000 }, false],
    ['those of another went well long ago', { well: 1, agoMs: 6_000 }, false],
    ['they were few', { well: 1, own: [3, 3] }, false],
    ['most of them do not', { well: 1, own: [12, 4] }, false],
  ])(
    'make none for now, or go on: %s',
    (_, { well = 0, failing = 0, agoMs = 10, own = [8, 8] }, isHeld) => {
      const shared = fresh();
      const atMs = START.nowMs + 10_000;
      for (let at = 0; at < well; at += 1) report(shared, `well${at}`, atMs - agoMs, false);
      for (let at = 0; at < failing; at += 1) report(shared, `failing${at}`, atMs - agoMs, true);
      const [count, failures] = own;
      const verdicts = [
        ...calls(failures, atMs + 500, true),
        ...calls(count - failures, atMs + 500, false),
      ];
      expect(come(shared, atMs + 20, { verdicts }).mostInFlight === 0).toBe(isHeld);
      expect(shared.outage.phase).toBe('closed');
    },
  );

  it('go on when their own calls are old, and count none of these with new ones', () => {
    const shared = fresh();
    const atMs = START.nowMs + 10_000;
    report(shared, 'well', atMs, false);
    expect(report(shared, 'old', atMs, true).mostInFlight).toBe(0);
    come(shared, atMs, { worker: 'few', verdicts: calls(3, atMs + 500, true) });
    const laterMs = atMs + 6_000;
    report(shared, 'well', laterMs, false);
    expect(come(shared, laterMs, { worker: 'old' }).mostInFlight).toBeGreaterThan(0);
    const few = { worker: 'few', verdicts: calls(3, laterMs + 500, true) };
    expect(come(shared, laterMs, few).mostInFlight).toBeGreaterThan(0);
  });

  it('make no calls at first, and step back when those of others still go well', () => {
    const shared = fresh();
    const others = ['b', 'c', 'd'];
    let atMs = START.nowMs;
    for (const worker of ['a', ...others]) report(shared, worker, (atMs += 10), false);
    const leases = [report(shared, 'a', (atMs += 10), true)];
    expect(leases[0]).toMatchObject({ startsMs: [], failsAlone: false });
    for (let visit = 0; visit < 12; visit += 1) {
      atMs += 200;
      for (const worker of others) report(shared, worker, atMs, false);
      leases.push(come(shared, atMs, { worker: 'a' }));
      expect(shared.outage.phase).toBe('closed');
    }
    expect(leases.findIndex(({ failsAlone }) => failsAlone)).toBe(8); // after a second and a half
    expect(leases.every(({ startsMs }) => startsMs.length === 0)).toBe(true);
  });

  it('show an outage when those of others fail as well', () => {
    const shared = fresh();
    const all = ['a', 'b', 'c', 'd'];
    let atMs = START.nowMs;
    for (const worker of all) report(shared, worker, (atMs += 10), false);
    const leases: Lease[] = [];
    for (let visit = 0; visit < 3; visit += 1) {
      for (const worker of all) leases.push(report(shared, worker, (atMs += 50), true));
    }
    expect(shared.outage.phase).toBe('open');
    expect(leases.some(({ failsAlone }) => failsAlone)).toBe(false);
  });

  it('show an outage when there is no other worker', () => {
    const shared = fresh();
    report(shared, 'a', START.nowMs, false);
    for (let visit = 1; visit < 4; visit += 1) report(shared, 'a', START.nowMs + visit * 50, true);
    expect(shared.outage.phase).toBe('open');
  });
});

describe('an API that says when it will be back', () => {
  it('is asked by no worker before, and then by one', () => {
    const shared = fresh();
    const held = come(shared, START.nowMs, { worker: 'b' }).startsMs;
    const told = { isFailure: true, isRefused: true, retryAfterMs: 20_000 };
    const at = START.nowMs + 10;
    come(shared, at, { verdicts: [{ ...told, sentAtMs: at - 5, endedAtMs: at }] });
    expect(come(shared, at + 50, { worker: 'b', startsMs: held }).startsMs).toEqual([]);
    let starts = 0;
    for (let afterMs = 200; afterMs < 19_600; afterMs += 200)
      for (const worker of ['a', 'b'])
        starts += come(shared, at + afterMs, { worker }).startsMs.length;
    expect(starts).toBe(0);
    for (let afterMs = 19_600; afterMs < 20_400; afterMs += 200)
      for (const worker of ['a', 'b'])
        starts += come(shared, at + afterMs, { worker }).startsMs.length;
    expect(starts).toBe(1);
  });
});
