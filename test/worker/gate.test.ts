import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { ClosedConnectionError } from '../../src/brand/transport.ts';
import { type Budget, type Permit as BudgetPermit, joinBudgets } from '../../src/calls/budget.ts';
import { createCallCounters } from '../../src/calls/outcome.ts';
import type { Signal, Trouble } from '../../src/worker/diagnosis.ts';
import type { Permit } from '../../src/worker/flight.ts';
import { Gate } from '../../src/worker/gate.ts';
import type { GateOptions } from '../../src/worker/gate-options.ts';
import { createOwnPace } from '../../src/worker/own-pace.ts';
import { createPace, type Pace } from '../../src/worker/pace.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { WaitQueue } from '../../src/worker/wait-queue.ts';
import * as answer from './meanings.ts';

describe('what an earlier run learned', () => {
  const NOW = { now: 1_000, epochMs: 10_000 };
  const RATE = { count: 1, perMs: 1_000 };
  const open = (learned: object, rate?: typeof RATE) =>
    createOwnPace(NOW.now, {
      rate,
      learned: { limitPerMs: 0.02, cap: 4, statedUntilMs: 0, ...learned },
      epochMs: NOW.epochMs,
    });

  it('is gone on with, a stated wait too, unless that is over', () => {
    const waiting = open({ statedUntilMs: 15_000 });
    expect(waiting.nextMs(NOW.now, 0)).toBe(5_000);
    expect(waiting.pace).toMatchObject({ phase: 'cruising', limitPerMs: 0.02, isStated: true });
    expect(waiting.nextMs(6_000, 4)).toBe(Number.POSITIVE_INFINITY);
    expect(open({ statedUntilMs: 11_000 }).pace).toMatchObject({ isStated: false, shutUntilMs: 0 });
  });

  it.each([
    { rate: RATE, nextMs: 1_900 },
    { rate: { count: 1, perMs: 2_000 }, nextMs: NOW.now },
    { rate: { count: 2, perMs: 1_000 }, nextMs: NOW.now },
  ])('of starts counts at the same given rate alone: $rate', ({ rate, nextMs }) => {
    const fixed = { rate: RATE, lastSlotMs: 10_900, startsMs: [10_900] };
    expect(open({ fixed }, rate).nextMs(NOW.now, 1)).toBe(nextMs);
  });

  it.each([
    { found: 'below a given rate counts less than that', limitPerMs: 0.001, holds: 'given' },
    { found: 'above it is not forgotten for it', limitPerMs: 0.5, holds: 'cruising' },
  ])('of a limit $found', ({ limitPerMs, holds }) => {
    const { pace, nextMs } = open({ limitPerMs, statedUntilMs: 0 }, { count: 10, perMs: 1_000 });
    expect([pace.phase, nextMs(NOW.now, 1)]).toEqual([holds, NOW.now]);
  });
});

/**
 * A gate whose diagnosis and pace say what a test says, and keep what they are told. Opens at 1 s.
 */
function stage(parts: Partial<GateOptions> = {}) {
  const set = {
    nowMs: 1_000,
    isShut: false,
    mayStart: true,
    trouble: undefined as Trouble | undefined,
    /** What the next answers tell of the pace. @default good */
    signals: [] as Signal[],
    /** Domains to be asked about, one after the other, to see whether the API is well. */
    probes: [] as string[],
    /** Those that got a bad answer before. */
    bad: new Set<string>(),
  };
  const told: unknown[] = [];
  const pace = createPace(0, { limitPerMs: 0, cap: 0 });
  const stopSwitch = createStopSwitch();
  const keep = (what: string) => (): void => void told.push(what);
  const gate = new Gate({
    home: {
      pace,
      fixed: undefined,
      nextMs: (nowMs) => (set.isShut ? Number.POSITIVE_INFINITY : nowMs),
      start: () => {},
      ended: (how, { retryAfterMs }) => told.push({ how, ...(retryAfterMs && { retryAfterMs }) }),
      slow: keep('slow'),
      climb: keep('climb'),
      resume: keep('resume'),
    },
    clock: { nowMs: () => set.nowMs, sleep: () => new Promise(() => {}) },
    now: () => 1_000_000 + set.nowMs,
    concurrency: 9,
    diagnosis: {
      mayStart: () => set.mayStart,
      hearOthers: () => {},
      begin: () => ({ answersBefore: 0, totals: { name: 'call', tries: 0, answers: 0 } }),
      note: () => ({ signal: set.signals.shift() ?? 'good', verdict: 'believe' }),
      noteTogether: (each) =>
        each.map(() => ({ signal: set.signals.shift() ?? 'good', verdict: 'believe' })),
      wasBad: ({ domain }) => set.bad.has(domain),
      findings: () => [],
      isOfRate: () => false,
      get probe() {
        return stopSwitch.stopped ? undefined : set.probes[0];
      },
      noteProbe: ({ reason }) => {
        told.push(`probe of ${set.probes.shift()}: ${reason}`);
        return set.signals.shift() ?? 'good';
      },
      giveUpProbe: () => told.push(`no probe of ${set.probes.shift()}`),
      askAgain: keep('ask again'),
      leave: keep('leave'),
      pauseMs: 0,
      idle: keep('idle'),
      end: keep('end'),
      get trouble() {
        return set.trouble;
      },
    },
    probe: async (domain) => ({ ...answer.found(domain), costMicros: 5 }),
    budget: joinBudgets([]),
    stopSwitch,
    counters: createCallCounters(),
    maxWaitMs: 10_000,
    maxOutageMs: 20_000,
    ...parts,
  });
  const ask = (domain = 'a', isWanted = () => true, budget?: Budget) =>
    gate.ask({ subject: { domain }, isWanted, budget });
  return { gate, ask, set, pace, stopSwitch, told };
}

/** A budget with calls left, none, or trouble, that keeps what it is told. */
function budgetOf(
  how: 'left' | 'later' | 'used up' | 'broken',
  keep: (what: string) => void,
): Budget {
  const permit: BudgetPermit = {
    domains: Infinity,
    isGood: () => true,
    spend: (micros) => keep(micros === 0 ? 'spent nothing' : 'spent'),
    release: () => keep('released'),
  };
  return {
    tryAcquire: () => (how === 'left' ? permit : undefined),
    acquire: async () => {
      if (how === 'broken') throw new RangeError();
      return how === 'used up' ? { reason: 'max_calls' } : permit;
    },
  };
}

/** Says how asking ended. */
const howEnds = (asked: Promise<Permit>): Promise<string> =>
  asked.then(
    (permit) => {
      permit.abandoned();
      return 'asked';
    },
    ({ name }: Error) => name,
  );

/**
 * What happens to a gate, one after the other: a call is answered, a lookup waits, or time passes.
 */
type Step =
  | { readonly signal: Signal; readonly gets: Meaning; readonly of: string }
  | { readonly waits: string }
  | { readonly atMs: number }
  | { readonly pace: Partial<Pace> }
  | { readonly trouble: Trouble };

/** Lookups of b, unlike others, got a bad answer before. */
async function playSteps(steps: readonly Step[]) {
  const staged = stage();
  const { ask, set, pace } = staged;
  set.bad.add('b');
  const permits: (Permit | undefined)[] = [];
  for (const step of steps) permits.push('signal' in step ? await ask(step.of) : undefined);
  set.isShut = true;
  for (const [at, step] of steps.entries()) {
    if ('signal' in step) {
      set.signals.push(step.signal);
      void permits[at]?.ended(step.gets);
    } else if ('waits' in step) ask(step.waits).catch(() => {});
    else if ('atMs' in step) set.nowMs = step.atMs;
    else if ('pace' in step) Object.assign(pace, step.pace);
    else set.trouble = step.trouble;
    await nextTurn();
  }
  staged.gate.idle();
  return staged;
}

const { later } = answer;
const WAITS_3 = later(answer.away(), 3_000);
const heard =
  (signal: Signal, usual: Meaning) =>
  (of = 'a', gets = usual): Step => ({ signal, gets, of });
const good = heard('good', answer.found('a'));
const limit = heard('limit', answer.throttled());
const none = heard('none', answer.throttled());
const out = heard('out', WAITS_3);
const failing = heard('failing', answer.away());
const paced = (pace: Partial<Pace>): Step => ({ pace });
const TESTING = paced({ state: 'testing', lastMs: 20_000 });

const [REFUSED, NONE] = [{ how: 'refused' }, { how: 'none' }];
const THREE = { retryAfterMs: 3_000 };

it.each<{ readonly happens: readonly Step[]; readonly holds: readonly unknown[] }>([
  { happens: [good('a', WAITS_3)], holds: [{ how: 'good' }] },
  { happens: [none('a', WAITS_3)], holds: [NONE] },
  { happens: [limit('a', WAITS_3)], holds: [{ ...REFUSED, ...THREE }] },
  { happens: [out()], holds: [{ how: 'away', ...THREE }] },
  { happens: [failing('a', answer.machine)], holds: [{ how: 'away' }, 'ask again'] },
  { happens: [failing('a', WAITS_3)], holds: [{ how: 'failing', ...THREE }, 'ask again'] },
  // A wait beside a verdict on a domain is no wait for all.
  { happens: [limit('a', later(answer.invalid(), 3_000))], holds: [REFUSED] },
  { happens: [limit('a', later(answer.page(), 3_000))], holds: [REFUSED] },
  // Something that is held is asked again, unless a lookup waits that was asked before.
  { happens: [{ waits: 'a' }, failing()], holds: [{ how: 'failing' }, 'ask again'] },
  { happens: [{ waits: 'b' }, failing()], holds: [{ how: 'failing' }] },
])('$happens: the pace is told $holds', async ({ happens, holds }) => {
  expect((await playSteps(happens)).told).toEqual([...holds, 'idle']);
});

const [WAITS, AT_11_S] = [{ waits: 'a' }, { atMs: 11_001 }];
const tooLong = (of = 'a'): Step => limit(of, later(answer.throttled(), 3_600_000));
const DOWN = { trouble: { isDown: true, meaning: answer.forbidden() } };

it.each<{ readonly happens: readonly Step[]; readonly stopped: object | undefined }>([
  // A longer wait than may be waited for, for one domain alone, or for several.
  { happens: [limit('a', later(answer.throttled(), 10_000))], stopped: undefined },
  { happens: [tooLong()], stopped: { reason: 'quota', comeBackAtMs: 4_601_000 } },
  { happens: [out('a', later(answer.away(), 3_600_000))], stopped: { trouble: 'http_503' } },
  { happens: [WAITS, tooLong(), tooLong()], stopped: undefined },
  { happens: [WAITS, tooLong(), tooLong('e')], stopped: { reason: 'quota' } },
  { happens: [WAITS, tooLong(), good(), tooLong('e')], stopped: undefined },
  // Nothing but refusals for too long.
  { happens: [WAITS, AT_11_S], stopped: undefined },
  { happens: [WAITS, TESTING, { atMs: 11_000 }], stopped: undefined },
  { happens: [WAITS, TESTING, AT_11_S], stopped: { reason: 'quota', throttledMs: 10_001 } },
  { happens: [WAITS, TESTING, paced({ refusedMs: 2_000 }), AT_11_S], stopped: undefined },
  // No call could be tried: Redis, which has the pace, is away.
  { happens: [WAITS, TESTING, paced({ lastMs: 6_000 }), AT_11_S], stopped: undefined },
  {
    happens: [WAITS, TESTING, paced({ isStated: true, shutUntilMs: 15_000 }), AT_11_S],
    stopped: { reason: 'quota', throttledMs: 10_001, comeBackAtMs: 1_015_000 },
  },
  { happens: [WAITS, TESTING, DOWN, AT_11_S], stopped: { reason: 'forbidden' } },
  // Failures are waited for longer, until calls are well.
  { happens: [WAITS, TESTING, failing(), { atMs: 21_000 }], stopped: undefined },
  {
    happens: [WAITS, TESTING, failing(), none(), { atMs: 21_001 }],
    stopped: { reason: 'outage', trouble: 'http_503' },
  },
  { happens: [WAITS, TESTING, failing(), good(), AT_11_S], stopped: { reason: 'quota' } },
])('$happens: stopped is $stopped', async ({ happens, stopped }) => {
  const is = (await playSteps(happens)).stopSwitch.stopped;
  expect(stopped ? { is } : is).toEqual(stopped && { is: expect.objectContaining(stopped) });
});

it.each([
  { pace: { isAway: true }, failing: undefined },
  { pace: { state: 'testing' }, failing: { isOut: false, lastedMs: 400 } },
  { pace: { state: 'testing', isAway: true }, failing: { isOut: true, lastedMs: 400 } },
] as const)('with a pace of $pace, calls fail so: $failing', async ({ pace, failing }) => {
  const { gate } = await playSteps([paced({ refusedMs: 600, ...pace }), { atMs: 1_000 }]);
  expect(gate.describe().failing).toEqual(failing);
});

describe('a probe', () => {
  it.each([
    {
      budget: 'left',
      stopped: false,
      holds: ['idle', 'spent', 'probe of p: http_200', { how: 'good' }, 'idle'],
    },
    {
      budget: 'later',
      stopped: false,
      holds: ['idle', 'spent', 'probe of p: http_200', { how: 'good' }, 'idle'],
    },
    { budget: 'used up', stopped: false, holds: ['idle', 'no probe of p', 'idle'] },
    { budget: 'left', stopped: true, holds: ['idle', 'end', 'released', { how: 'none' }] },
  ] as const)('is paid from the budget ($budget; stopped: $stopped)', async (given) => {
    const { gate, set, stopSwitch, told } = stage({
      budget: budgetOf(given.budget, (what) => told.push(what)),
    });
    set.probes.push('p');
    gate.idle();
    await Promise.resolve(); // it is let through, and not made yet
    if (given.stopped) stopSwitch.stop({ reason: 'interrupted' });
    await nextTurn();
    expect(told).toEqual(given.holds);
  });

  it.each([
    { calls: 2, holds: 'probe of p: http_200' },
    { calls: 1, holds: 'no probe of p' },
  ])('is one of the calls of the run that asked last: $calls', async ({ calls, holds }) => {
    const { gate, ask, set, told } = stage();
    const { acquire, tryAcquire } = budgetOf('later', (what) => told.push(what));
    let left = calls;
    const usedUp = { reason: 'max_calls' } as const;
    const own: Budget = {
      tryAcquire,
      acquire: async (signal) => (left-- > 0 ? await acquire(signal) : usedUp),
    };
    void (await ask('a', undefined, own)).ended(answer.found('a'));
    set.probes.push('p');
    gate.idle();
    for (let turn = 0; turn < 9; turn += 1) await nextTurn();
    expect(told).toContain(holds);
    expect(told.filter((what) => String(what).startsWith('spent'))).toHaveLength(calls);
  });

  it.each([
    { redirects: 3, holds: 'probe of p: http_200' },
    { redirects: 4, holds: 'probe of p: http_301' },
  ])('goes where it is sent, $redirects times, and tells what it gets there', async (given) => {
    const asked: (string | undefined)[] = [];
    const { gate, set, told } = stage({
      budget: budgetOf('left', (what) => told.push(what)),
      probe: async (domain, path) => {
        asked.push(path);
        return asked.length <= given.redirects
          ? answer.sentTo(`/${asked.length}`)
          : answer.found(domain);
      },
    });
    set.probes.push('p');
    gate.idle();
    for (let turn = 0; turn < 9; turn += 1) await nextTurn();
    expect(asked).toEqual([undefined, '/1', '/2', '/3']);
    expect(told.filter((what) => String(what).startsWith('spent'))).toHaveLength(4);
    expect(told.filter((what) => String(what).startsWith('probe'))).toEqual([given.holds]);
  });

  it('takes the last call of a budget from one that waits in line', async () => {
    let left = 1;
    const { gate, ask, set, told, stopSwitch } = stage({
      budget: {
        tryAcquire: () => (left-- > 0 ? budgetOf('left', () => {}).tryAcquire() : undefined),
        acquire: async () => ({ reason: 'max_calls' }),
      },
    });
    set.isShut = true;
    const waiting = howEnds(ask('b'));
    set.probes.push('p');
    set.isShut = false;
    gate.idle();
    expect(await waiting).toBe('NotAskedError');
    expect(told).toContain('probe of p: http_200');
    expect(stopSwitch.stopped).toEqual({ reason: 'max_calls' });
  });

  it('goes ahead of all, though no other call may start, and one after the other', async () => {
    const { gate, ask, set, told } = stage({ concurrency: 1 });
    const first = await ask();
    const others = [ask('b'), ask('c')];
    set.mayStart = false;
    set.probes.push('p', 'q');
    gate.idle();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(told.filter((what) => typeof what === 'string' && what.startsWith('probe'))).toEqual([
      'probe of p: http_200',
      'probe of q: http_200',
    ]);
    set.mayStart = true;
    first.abandoned();
    for (const other of others) (await other).abandoned();
  });
});

it('of a call about several domains the worst tells the pace', async () => {
  const { ask, set, told } = stage();
  set.signals.push('good', 'limit', 'good');
  const permit = await ask();
  const meanings = [answer.found('a'), answer.throttled(), answer.invalid()];
  const each = meanings.map((meaning) => [meaning, { domain: 'a' }] as const);
  const verdicts = permit.endedTogether(answer.found('all'), each);
  expect(verdicts).toEqual(['believe', 'believe', 'believe']);
  expect(told).toEqual([{ how: 'refused' }]);
});

it('what was throttled, and what was never sent, is counted', async () => {
  const counters = createCallCounters();
  const { ask } = stage({ counters });
  const none = { ...answer.away(), form: 'none', httpStatus: undefined } as const;
  const all: readonly Meaning[] = [
    answer.throttled(),
    { ...none, reason: 'connection_refused' },
    { ...none, reason: 'connection_refused', costMicros: 7 },
    { ...none, reason: 'timeout' },
    { ...answer.broken(), reason: 'connection_refused' },
  ];
  for (const meaning of all) void (await ask()).ended(meaning);
  expect(counters).toMatchObject({ calls: 5, throttled: 1, unsent: 2, billedMicros: 7 });
});

it('a call whose connection was closed already costs nothing', async () => {
  const kept: string[] = [];
  const { ask } = stage({ budget: budgetOf('left', (what) => kept.push(what)) });
  (await ask()).abandoned(new ClosedConnectionError());
  (await ask()).abandoned(new Error('given up'));
  expect(kept).toEqual(['spent nothing', 'spent']);
});

it.each([
  { own: 'left', all: 'left', holds: ['own spent', 'all spent'], ends: 'asked' },
  { own: 'left', all: 'later', holds: ['own spent', 'all spent'], ends: 'asked' },
  { own: undefined, all: 'later', holds: ['all spent'], ends: 'asked' },
  { own: 'used up', all: 'left', holds: [], ends: 'NotAskedError' },
  {
    own: 'left',
    all: 'used up',
    holds: ['own released'],
    ends: 'NotAskedError',
    stops: 'max_calls',
  },
  { own: undefined, all: 'used up', holds: [], ends: 'NotAskedError', stops: 'max_calls' },
  { own: 'left', all: 'broken', holds: ['own released'], ends: 'RangeError' },
  { own: undefined, all: 'broken', holds: [], ends: 'RangeError' },
] as const)(
  'a budget of its own: $own, that of all: $all: $ends',
  async ({ own, all, holds, ends, ...of }) => {
    const kept: string[] = [];
    const open = (name: string, how: typeof all): Budget =>
      budgetOf(how, (what) => kept.push(`${name} ${what}`));
    const { ask, stopSwitch } = stage({ budget: open('all', all) });
    const ended = await howEnds(ask('a', undefined, own && open('own', own)));
    expect([kept, ended]).toEqual([holds, ends]);
    expect(stopSwitch.stopped?.reason).toBe('stops' in of ? of.stops : undefined);
  },
);

describe('the only place is free again, and before the next call', () => {
  it.each([
    { comes: 'nothing', ends: 'asked', holds: ['spent', NONE, 'spent', NONE] },
    { comes: '2,000 ms', ms: 2_000, ends: 'asked', holds: ['spent', NONE, 'spent', NONE] },
    {
      comes: '2,001 ms',
      ms: 2_001,
      ends: 'asked',
      holds: ['spent', NONE, 'released', NONE, 'spent', NONE],
    },
    { comes: 'a change of mind', ends: 'NotAskedError', holds: ['spent', NONE, 'released', NONE] },
    {
      comes: 'a pause',
      ends: 'asked',
      holds: ['spent', NONE, 'released', NONE, 'open', 'spent', NONE],
    },
    { comes: 'a stop', ends: 'AbortError', holds: ['spent', NONE, 'end', 'released', NONE] },
    { comes: 'an earlier stop', ends: 'AbortError', holds: ['end', 'released'] },
  ])('comes $comes: $ends', async ({ comes, ms = 0, ends, holds }) => {
    let isWanted = true;
    const pause = {
      isPaused: false,
      whileOpen: async () => {
        pause.isPaused = false;
        told.push('open');
      },
    };
    const budget = budgetOf('left', (what) => told.push(what));
    const { ask, set, stopSwitch, told } = stage({ concurrency: 1, pause, budget });
    const first = await ask();
    const next = howEnds(ask('b', () => isWanted));
    await nextTurn();
    if (comes === 'an earlier stop') stopSwitch.stop({ reason: 'interrupted' });
    else first.abandoned();
    if (comes === 'a stop') stopSwitch.stop({ reason: 'interrupted' });
    set.nowMs += ms;
    isWanted = comes !== 'a change of mind';
    pause.isPaused = comes === 'a pause';
    expect([await next, told]).toEqual([ends, holds]);
  });
});

describe('a queue of callers that wait', () => {
  it('calls probes first, and those who were let through before in turn with those who were not', async () => {
    const queue = new WaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const kinds = ['new', 'new', 'again', 'again', 'probe'] as const;
    const came = kinds.map((kind) => queue.wait(signal, kind).then(() => called.push(kind)));
    expect(queue).toMatchObject({ length: 5, hasAgain: true, hasProbe: true });
    for (const _ of [...came, 'nobody']) queue.wakeNext();
    await Promise.all(came);
    expect(called).toEqual(['probe', 'new', 'again', 'new', 'again']);
    expect(queue).toMatchObject({ length: 0, hasAgain: false, hasProbe: false });
  });

  it.each([2, 3, 4, 5])(
    'at a given rate is not in step with a limit that serves each %ith',
    async (each) => {
      const queue = new WaitQueue();
      const { signal } = new AbortController();
      const called: string[] = [];
      const came = Array.from({ length: 240 }, async (_, at) => {
        const kind = at % 2 === 0 ? 'new' : 'again';
        await queue.wait(signal, kind);
        called.push(kind);
      });
      for (const _ of came) queue.wakeNext(true);
      await Promise.all(came);
      const served = called.filter((_, turn) => turn % each === each - 1);
      const ofNew = served.filter((kind) => kind === 'new').length / served.length;
      expect(ofNew).toBeGreaterThan(0.25);
      expect(ofNew).toBeLessThan(0.75);
    },
  );

  it('gives each list a turn, however many of another came first', async () => {
    const queue = new WaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const came = ['long', 'long', 'long', 'short', 'short'].map(async (list) => {
      await queue.wait(signal, 'new', { list, isWanted: () => true });
      called.push(list);
    });
    for (const _ of came) queue.wakeNext();
    await Promise.all(came);
    expect(called).toEqual(['long', 'short', 'long', 'short', 'long']);
  });

  it('loses whoever is told to stop, before or meanwhile, and nobody else', async () => {
    const queue = new WaitQueue();
    const stopped = new AbortController();
    const first = queue.wait(stopped.signal, 'new');
    const second = queue.wait(new AbortController().signal, 'new');
    const reason = new Error('stopped');
    stopped.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(queue.wait(stopped.signal, 'new')).rejects.toBe(reason);
    expect(queue.length).toBe(1);
    queue.wakeNext();
    await second;
  });
});
