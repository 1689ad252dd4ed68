import { describe, expect, it } from 'vitest';
import { climb, resume, slow } from '../../src/worker/climb.ts';
import { createOwnPace } from '../../src/worker/own-pace.ts';
import { accepted, createPace, ended, give, type Pace, refused } from '../../src/worker/pace.ts';
import { learnedOf, readLearned } from '../../src/worker/pace-memory.ts';
import { nextStartMs, start } from '../../src/worker/pace-starts.ts';
import { play } from '../simulation/play.ts';

const UNKNOWN = { limitPerMs: 0, cap: 0 };

it('what a bucket saves up while a wait is stated is not taken for its rate', async () => {
  const limits = [
    { kind: 'bucket', count: 62, perMs: 1_000, burst: 62, headers: 'retry-after' },
  ] as const;
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    const { stack } = await play({ name, limits, domains: 1_000, callers: 256, latencyMs: 25 });
    const { limitPerSecond = 0 } = stack.describe().limit;
    expect(limitPerSecond).toBeGreaterThan(0.8 * 62);
    expect(limitPerSecond).toBeLessThan(1.4 * 62);
  }
});

it('how much a window holds is remembered, so that the next run does not look for it with refusals', async () => {
  const limits = [{ kind: 'sliding', count: 200, perMs: 4_000 }] as const;
  const world = { name: 'a window', limits, domains: 1_000, callers: 256, latencyMs: 25 };
  const first = await play(world);
  const learned = first.stack.remember();
  expect(learned?.windowCalls).toBeGreaterThan(150);
  const { score } = await play({ ...world, domains: 2_400 }, { learned });
  expect(score.refused / score.calls).toBeLessThan(0.01);
  expect(score.elapsedMs).toBeLessThan(2_400 / 0.05 / 0.93);
});

it.each(['one', 'two', 'three', 'four'])(
  'a limit of a sick spell is gone within a minute of the next run, a real one is kept from its first call on: %s',
  async (name) => {
    const world = { domains: 400, callers: 64, latencyMs: 20 };
    const sick = { reply: '429', share: 0.9, fromMs: 300, forMs: 1e9 } as const;
    const limit = { kind: 'bucket', count: 60, perMs: 1_000 } as const;
    const poisoned = (await play({ ...world, name, troubles: [sick] })).stack.remember();
    const well = await play({ ...world, name, domains: 2_000 }, { learned: poisoned });
    expect(well.score.elapsedMs).toBeLessThan(60_000);
    const limited = { ...world, name, domains: 900, limits: [limit] };
    const learned = (await play(limited)).stack.remember();
    const { score, server } = await play(limited, { learned });
    expect(server.acceptedAtMs.filter((atMs) => atMs < 1_000).length).toBeGreaterThan(50);
    expect(score.refused).toBeLessThan(20);
  },
);

it('a rate that was not refused is not given up for less than a tenth of it', async () => {
  const world = { domains: 2_000, callers: 64, latencyMs: 20 };
  for (const reply of ['403', '429', '500'] as const) {
    const troubles = [{ reply, share: 0.2, fromMs: 0, forMs: 1e9 }];
    const rates: number[] = [];
    const home = createOwnPace(0, { rate: undefined, learned: undefined, epochMs: 0 });
    const slowHome = home.slow;
    home.slow = (ratePerMs, nowMs) => {
      rates.push(ratePerMs / home.pace.flowPerMs);
      slowHome(ratePerMs, nowMs);
    };
    await play({ ...world, name: reply, troubles }, { home });
    expect(Math.min(1, ...rates)).toBeGreaterThanOrEqual(0.1);
  }
});

it('a stated wait ends with the call that tries it, not with one that was sent before it was known', () => {
  const pace = createPace(0, { ...UNKNOWN, limitPerMs: 0.02 });
  const call = { latencyMs: 100, inFlight: 2 };
  start(pace, 1_000);
  refused(pace, { ...call, sentAtMs: 1_000, retryAfterMs: 5_000 }, 1_100);
  accepted(pace, { ...call, sentAtMs: 1_150 }, 1_250);
  expect(nextStartMs(pace, 1_300, 0)).toBe(6_100);
  start(pace, 6_100);
  expect(nextStartMs(pace, 6_150, 1)).toBe(Number.POSITIVE_INFINITY);
  accepted(pace, { ...call, sentAtMs: 6_100 }, 6_200);
  expect(nextStartMs(pace, 6_300, 0)).toBeLessThan(6_400);
});

describe('a refusal while calls that were sent after the refused one', () => {
  const call = { latencyMs: 20, inFlight: 8 };

  /** One call of 24 is refused; of those sent after it, so many of nine are served. */
  function open(served: number, retryAfterMs?: number) {
    const pace = createPace(0, UNKNOWN);
    for (let atMs = 1; atMs <= 24; atMs += 1) start(pace, atMs);
    for (let atMs = 1; atMs <= 14; atMs += 1)
      accepted(pace, { ...call, sentAtMs: atMs }, atMs + 20);
    const before = 1;
    pace.ratePerMs = before;
    refused(pace, { ...call, sentAtMs: 15, retryAfterMs }, 35);
    for (let nth = 1; nth <= 9; nth += 1) {
      const later = { ...call, sentAtMs: 15 + nth };
      if (nth <= served) accepted(pace, later, 35 + nth);
      else refused(pace, later, 35 + nth);
    }
    return { pace, before };
  }

  it.each([undefined, 3_600_000])('are served is by chance: %s ms stated', (retryAfterMs) => {
    const { pace } = open(9, retryAfterMs);
    expect(nextStartMs(pace, 45, 0)).toBe(45);
    expect(pace).toMatchObject({ phase: 'starting', state: 'flowing', isStated: false });
  });

  it.each([0, 4, 7])('are refused, too, holds all back: %s of nine were served', (served) => {
    expect(nextStartMs(open(served, 3_600_000).pace, 45, 0)).toBe(3_600_035);
  });

  it('are served often shows what the limit is at least, unless it lasts', () => {
    const limitAfter = (served: number, testMs: number): number => {
      const { pace, before } = open(served);
      start(pace, testMs);
      accepted(pace, { ...call, sentAtMs: testMs }, testMs + 20);
      return pace.limitPerMs / before;
    };
    expect(limitAfter(6, 90)).toBeCloseTo(0.6);
    expect(limitAfter(6, 5_000)).toBeLessThan(0.1);
    expect(limitAfter(0, 90)).toBeLessThan(0.35);
  });

  it('are served says nothing where the limit is sure: it refuses a call now and then', () => {
    const pace = createPace(0, { ...UNKNOWN, limitPerMs: 0.2 });
    for (let atMs = 1; atMs <= 24; atMs += 1) start(pace, atMs);
    refused(pace, { ...call, sentAtMs: 1, retryAfterMs: 1_000 }, 21);
    for (let atMs = 2; atMs <= 20; atMs += 1) accepted(pace, { ...call, sentAtMs: atMs }, 22);
    expect(nextStartMs(pace, 45, 0)).toBe(1_021);
  });
});

it('a given rate is trusted from the first call, and made slower by what it refuses', () => {
  const pace = createPace(0, UNKNOWN);
  give(pace, 0.1);
  const call = { latencyMs: 100, inFlight: 1 };
  const { ratePerMs } = pace;
  let nowMs = 0;
  for (let at = 0; at < 200; at += 1) {
    nowMs = nextStartMs(pace, nowMs, 0);
    start(pace, nowMs);
    const one = { ...call, sentAtMs: nowMs };
    // Each fourth is refused: the limit is lower than what the user says.
    if (at % 4 === 3) refused(pace, one, nowMs + 1);
    else accepted(pace, one, nowMs + 1);
    if (at === 0) expect(pace).toMatchObject({ phase: 'given', ratePerMs });
  }
  expect(pace.phase).toBe('cruising');
  expect(pace.ratePerMs).toBeLessThan(0.085);
});

it('a test that never ends is given up after five minutes', () => {
  const pace = createPace(0, UNKNOWN);
  refused(pace, { sentAtMs: 1, latencyMs: 100, inFlight: 1 }, 100);
  expect(nextStartMs(pace, 100, 9)).toBe(150);
  start(pace, 150);
  expect(nextStartMs(pace, 300_149, 0)).toBe(Number.POSITIVE_INFINITY);
  expect(nextStartMs(pace, 300_150, 9)).toBe(300_150);
  ended(pace, 149);
  expect(nextStartMs(pace, 200, 0)).toBe(Number.POSITIVE_INFINITY);
  ended(pace, 150);
  expect(nextStartMs(pace, 200, 9)).toBe(200);
});

it('a bound of calls under way is tried with one more after 300, and comes back at a refusal soon after', () => {
  const pace = createPace(0, { ...UNKNOWN, limitPerMs: 0.05, cap: 4 });
  let nowMs = 1_000;
  const call = (inFlight: number) => ({ sentAtMs: nowMs - 100, latencyMs: 100, inFlight });
  const accept = (times: number, inFlight: number): void => {
    for (let time = 0; time < times; time += 1) {
      nowMs += 20;
      accepted(pace, call(inFlight), nowMs);
    }
  };
  accept(50, 3);
  accept(299, 4);
  expect(pace.cap).toBe(4);
  expect([nextStartMs(pace, nowMs, 3), nextStartMs(pace, nowMs, 4)]).toEqual([nowMs, Infinity]);
  accept(1, 4);
  expect(pace.cap).toBe(5);
  accept(49, 5);
  const { ratePerMs } = pace;
  refused(pace, { ...call(5), retryAfterMs: 1_000 }, nowMs);
  expect(pace).toMatchObject({ cap: 4, state: 'flowing', shutUntilMs: nowMs + 1_000, ratePerMs });
  nowMs += 2_000;
  accept(249, 4);
  expect(pace.cap).toBe(4);
  accept(1, 4);
  expect(pace.cap).toBe(5);
  accept(50, 5);
  refused(pace, call(5), nowMs);
  expect(pace).toMatchObject({ cap: 5, state: 'slower' });
});

it('what headers state is kept to in the next run as well, until they state something else', () => {
  const call = { latencyMs: 100, inFlight: 1, sentAtMs: 1_000 };
  const stating = (count: number) => ({ ...call, limits: { quota: { count, perMs: 1_000 } } });
  const first = createPace(0, UNKNOWN);
  accepted(first, stating(62), 1_100);
  const kept: unknown = JSON.parse(JSON.stringify(learnedOf(first, undefined, 0)));
  const known = readLearned(kept, 0, { nowMs: 2_000, maxWaitMs: 0 });
  const next = createPace(0, { ...UNKNOWN, ...known });
  expect(next).toMatchObject({ phase: 'published', limitPerMs: 0.062 });
  refused(next, call, 1_100);
  const slowerPerMs = next.ratePerMs;
  expect(slowerPerMs).toBeLessThan(0.062);
  accepted(next, stating(62), 1_200);
  expect(next.ratePerMs).toBe(slowerPerMs);
  accepted(next, stating(30), 1_300);
  expect(next.limitPerMs).toBe(0.03);
});

/** A pace at a limit of 100/s that is known. */
function openKnown(
  more: Partial<Pace> = {},
  known = createPace(0, { ...UNKNOWN, limitPerMs: 0.1 }),
) {
  const pace = Object.assign(known, more);
  let nowMs = 0;
  /** So many calls are made as soon as they may be, each of which takes 20 ms. */
  const call = (times: number, end: 'accepted' | 'refused' = 'accepted'): void => {
    for (let time = 0; time < times; time += 1) {
      nowMs = Math.max(nowMs, nextStartMs(pace, nowMs, 1));
      start(pace, nowMs);
      const sent = { sentAtMs: nowMs, latencyMs: 20, inFlight: 2 };
      if (end === 'accepted') accepted(pace, sent, nowMs + 20);
      else refused(pace, sent, nowMs + 20);
    }
  };
  const pass = (ms: number): void => void (nowMs += ms);
  return { pace, call, pass, now: () => nowMs };
}

describe('a rate that is taken down to see whether that changes anything', () => {
  const slowed = (ratePerMs = 0.01, more: Partial<Pace> = {}) => {
    const opened = openKnown(more);
    opened.call(50);
    slow(opened.pace, ratePerMs, opened.now());
    return opened;
  };

  it('is held until it is let climb, by doubling every six calls, to what it was', () => {
    const { pace, call, now } = slowed();
    call(30);
    expect(pace.ratePerMs).toBe(0.01);
    climb(pace, 0, now());
    const rates: number[] = [];
    for (let step = 0; step < 5; step += 1) {
      call(7);
      rates.push(Math.round(pace.ratePerMs * 1_000));
    }
    expect([...rates.slice(0, 2), rates.at(-1)]).toEqual([20, 40, 98]);
    expect(pace).toMatchObject({ climbToPerMs: 0, limitPerMs: 0.1 });
  });

  it('is what it was at once, when that was for nothing', () => {
    const { pace, call, now } = slowed();
    const { ratePerMs } = openKnown().pace;
    call(10);
    resume(pace, now());
    expect(pace).toMatchObject({ ratePerMs, climbToPerMs: 0, nextMs: now() });
    // Nor does the time in which it was slow count when the limit is estimated.
    expect(pace).toMatchObject({ epochMs: now(), epochAccepted: 0 });
  });

  it('climbs no faster than calls are wanted, and no further: what comes next can be told from it', () => {
    const { pace, call, pass, now } = slowed(0.02);
    climb(pace, 0, now());
    for (let at = 0; at < 50; at += 1) {
      call(1);
      pass(1_000);
    }
    expect(pace.ratePerMs).toBeLessThan(0.03);
    expect(pace.climbToPerMs).toBe(0);
  });

  it.each([
    { refusedAt: 'far below the limit', ratePerMs: 0.02, limitPerMs: 0.014, patienceMs: 60_000 },
    { refusedAt: 'about the limit', ratePerMs: 0.15, limitPerMs: 0.1, patienceMs: 60_000 },
    { refusedAt: 'far above the limit', ratePerMs: 0.5, limitPerMs: 0.35, patienceMs: 60_000 },
  ])(
    'and refused on the way up $refusedAt, shows a limit of $limitPerMs',
    ({ refusedAt: _, ...known }) => {
      const { ratePerMs, ...holds } = known;
      const { pace, call, now } = openKnown({ ratePerMs });
      climb(pace, 1, now());
      call(1, 'refused');
      expect(pace).toMatchObject({ phase: 'cruising', state: 'slower', climbToPerMs: 0 });
      expect(pace.limitPerMs).toBeCloseTo(holds.limitPerMs);
      expect(pace.patienceMs).toBe(holds.patienceMs);
    },
  );

  it('not where it is refused', () => {
    const { pace, call, now } = openKnown();
    call(1, 'refused');
    const { ratePerMs } = pace;
    slow(pace, 0.001, now());
    expect(pace).toMatchObject({ ratePerMs, climbToPerMs: 0 });
  });
});

describe('time', () => {
  it.each([
    { idleMs: 1_900, isSkipped: false },
    { idleMs: 200_000, isSkipped: true },
  ])(
    'in which no call was wanted ($idleMs ms) says nothing of the limit: $isSkipped',
    ({ idleMs, isSkipped }) => {
      const { pace, call, pass } = openKnown();
      call(50);
      const { epochMs, healthyMs } = pace;
      pass(idleMs);
      call(1);
      expect(pace.epochMs - epochMs > idleMs - 100).toBe(isSkipped);
      expect(pace.healthyMs - healthyMs > idleMs - 100).toBe(isSkipped);
    },
  );

  it('in which nobody could call does not count as refused', () => {
    const { pace, call, pass, now } = openKnown();
    call(50);
    call(1, 'refused');
    pass(1_800_000);
    start(pace, now());
    expect(now() - pace.refusedMs).toBeLessThan(1_000);
  });

  it.each([
    { windowCalls: 0, calls: 1_000 },
    { windowCalls: 100, calls: 3_000 },
  ])(
    'without a refusal has something faster tried soon after a start, however sure the limit is: $windowCalls in a window',
    ({ windowCalls, calls }) => {
      const known = { ...UNKNOWN, limitPerMs: 0.1, windowCalls };
      const { pace, call } = openKnown({ riseCalls: 1e6 }, createPace(0, known));
      call(calls - 250);
      expect(pace.ratePerMs).toBeCloseTo(0.098);
      call(500);
      expect(pace.ratePerMs).toBeGreaterThan(0.15);
    },
  );
});

it.each([
  { ms: 60_000, isPenalty: true },
  { ms: 8_000, isPenalty: false },
])(
  'all that is refused for $ms ms after a moment is a penalty: $isPenalty',
  ({ ms, isPenalty }) => {
    const { pace, call, now } = openKnown();
    call(40);
    const refusedMs = now();
    while (now() < refusedMs + ms) call(1, 'refused');
    call(1);
    // Half of what was accepted before, or so many in all of that time.
    if (isPenalty) expect(pace.limitPerMs).toBeCloseTo(0.05, 2);
    else expect(pace.limitPerMs).toBeLessThan(0.01);
  },
);
