import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Meaning } from '../../src/brand/meaning.ts';
import { createCallCounters } from '../../src/common/calls.ts';
import { type Budget, joinBudgets } from '../../src/worker/budget.ts';
import type { Asked, Weighed } from '../../src/worker/evidence.ts';
import {
  createGate,
  createOwnPace,
  createWaitQueue,
  type GateOptions,
  type Permit,
} from '../../src/worker/gate.ts';
import { createPace } from '../../src/worker/pace.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { away, found, rejected, throttled } from './harness.ts';

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
    [RATE, 1_900],
    [{ count: 1, perMs: 2_000 }, NOW.now],
    [{ count: 2, perMs: 1_000 }, NOW.now],
  ])('of starts counts at the same fixed rate alone: %j', (rate, nextMs) => {
    const { pace, nextMs: next } = open(
      { fixed: { rate: RATE, startsMs: [10_900, 10_900] } },
      rate,
    );
    expect([pace.phase, next(NOW.now, 1)]).toEqual(['fixed', nextMs]);
  });
});

const ASKED = { failures: 0, begun: 0, refusals: 0, refusedAs: '', successesThen: 0, domain: 'a' };

/** A gate whose evidence and pace say what a test says, and keep what they are told. Opens at 1 s. */
function stage(parts: Partial<GateOptions> = {}) {
  const set = { nowMs: 1_000, isShut: false };
  const told: string[] = [];
  const weighed: Weighed['signal'][] = [];
  const pace = createPace(0, { limitPerMs: 0, cap: 0, isFixed: false });
  const stopSwitch = createStopSwitch();
  const gate = createGate({
    home: {
      pace,
      fixed: undefined,
      nextMs: (nowMs) => (set.isShut ? Number.POSITIVE_INFINITY : nowMs),
      start: () => {},
      ended: (how, { isAgain, retryAfterMs }) => {
        told.push(how, ...(isAgain ? ['again'] : []), ...(retryAfterMs ? [`${retryAfterMs}`] : []));
      },
      forget: () => told.push('forget'),
    },
    clock: { nowMs: () => set.nowMs, sleep: () => new Promise(() => {}) },
    now: () => 1_000_000 + set.nowMs,
    concurrency: 9,
    evidence: {
      mayStart: () => true,
      begin: () => 0,
      note: (_meaning, _asked, { isOut }) => {
        if (isOut) told.push('out:');
        const signal = weighed.shift() ?? 'good';
        return { signal, verdict: 'believe', isCleared: signal === 'none' && set.nowMs === 0 };
      },
      askAgain: () => told.push('askAgain'),
      idle: () => {},
      end: () => told.push('end'),
      lastingDoubt: () => (pace.cap === 1 ? { reason: 'refused' } : undefined),
    },
    budget: joinBudgets([]),
    stopSwitch,
    counters: createCallCounters(),
    maxWaitMs: 10_000,
    maxOutageMs: 20_000,
    ...parts,
  });
  const ask = (asked: Partial<Asked> = {}, isWanted = () => true, budget?: Budget) =>
    gate.ask({ asked: { ...ASKED, ...asked }, isWanted, budget });
  return { gate, ask, set, pace, stopSwitch, told, weighed };
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

const no = rejected('no');
const ANSWERS: Record<string, Meaning> = {
  found: found('a'),
  slow: throttled(),
  away: away(503),
  machine: { ...away(0), kind: 'machine', reason: 'http_0' },
  no,
  page: { ...no, kind: 'not_found' },
};

// Each step is a signal, an answer, its stated wait and domain; or the state of the pace; or the time.
it.each([
  ['good found 3000', 'good', ''],
  ['limit slow 3000', 'refused 3000', ''],
  ['limit machine 3000', 'away 3000', 'http_0'],
  ['out away 3000', 'away 3000', 'http_503'],
  ['none away 3000', 'none', 'http_503'],
  ['doubt away 3000', 'failing 3000 askAgain', 'http_503'],
  ['doubt found 3000', 'refused 3000 askAgain', 'http_200'],
  ['doubt no 3000', 'refused askAgain', 'http_400'],
  ['doubt page 3000', 'refused askAgain', 'http_400'],
  ['waits=again, doubt away', 'failing', 'http_503'],
  ['waits, doubt away', 'failing askAgain', 'http_503'],
  ['limit slow, own slow', 'refused forget none', ''],
  ['limit slow, limit slow b, own slow, own slow b', 'refused refused none forget none', ''],
  ['limit slow, testing, own slow b', 'refused forget none', ''],
  ['testing, limit slow, flowing, own slow b', 'refused forget none', ''],
  ['limit slow, good found b, own slow c', 'refused good none', ''],
  ['limit slow, good found b again, own slow c', 'refused good again forget none', ''],
  ['limit slow, none slow b again, own slow c', 'refused none again none', ''],
  ['none slow', 'none', ''],
  ['now=0, none slow', 'forget none', ''],
  ['waits, limit slow 10001, limit slow 10001', 'refused 1000 refused 1000', ''],
  [
    'waits, limit slow 10001, limit slow 10001 b',
    'refused 1000 end refused 10001',
    'quota 1011001',
  ],
  ['waits, limit slow 10001, good found, limit slow 10001 b', 'refused 1000 good refused 1000', ''],
  ['limit slow 10000', 'refused 10000', ''],
  ['limit slow 10001', 'end refused 10001', 'quota 1011001'],
  ['out away 10001', 'end away 10001', 'outage 1011001 http_503'],
  ['waits, now=11001', '', ''],
  ['waits, testing, now=11000', '', ''],
  ['waits, testing, now=11001', 'end', 'quota 10001'],
  ['waits, testing, refusedMs=2000, now=11001', '', ''],
  ['waits, testing, isStated=1, shutUntilMs=15000, now=11001', 'end', 'quota 10001 1015000'],
  ['waits, testing, cap=1, none away, now=11001', 'none end', 'refused'],
  ['waits, testing, doubt away, good found, now=11001', 'failing askAgain good end', 'quota 10001'],
  ['waits, testing, doubt away, none away, now=21000', 'failing askAgain none', 'http_503'],
  ['waits, testing, doubt away, now=21001', 'failing askAgain end', 'outage http_503'],
  ['testing, none slow', 'none', ''],
  ['isAway=1, none slow', 'none', ''],
  ['isAway=1, testing, refusedMs=600, shutUntilMs=1000, none slow', 'out: none', 'is out; whether'],
  ['isAway=1, testing, shutUntilMs=4500, now=3000', '', 'has been out for 3 s; again in 2 s'],
])('%s: the pace is told: %s; at last it is: %s', async (steps, told, last) => {
  const { gate, ask, set, pace, stopSwitch, told: kept, weighed } = stage();
  const all = steps.split(', ').map((step) => step.split(' '));
  const lookUp = (words: string[]): Partial<Asked> => ({
    domain: words.find((word) => word === 'b' || word === 'c') ?? 'a',
    refusals: words.includes('again') ? 1 : 0,
  });
  const permits = await Promise.all(
    all.map(async (words) => words[1] && (await ask(lookUp(words)))),
  );
  set.isShut = true;
  for (const [at, words] of all.entries()) {
    const [first = '', answer = '', retryAfterMs] = words;
    const [name = '', value] = first.split('=');
    const permit = permits[at];
    if (permit) {
      weighed.push(first as Weighed['signal']);
      void permit.ended({
        ...(ANSWERS[answer] ?? no),
        retryAfterMs: Number(retryAfterMs) || undefined,
      });
    } else if (name === 'waits') ask(lookUp([value ?? ''])).catch(() => {});
    else if (name === 'now') set.nowMs = Number(value);
    else Object.assign(pace, value ? { [name]: Number(value) } : { state: name });
    await nextTurn();
  }
  gate.idle();
  const { outage, trouble = '' } = gate.describe();
  const why = Object.values(stopSwitch.stopped ?? {})
    .filter(Boolean)
    .join(' ');
  const out = outage?.replace(/The API |one call (tries|is trying) | it is back|\.$/g, '');
  expect([kept.join(' '), why || out || trouble]).toEqual([told, last]);
});

it('of a call about several domains the worst tells the pace, and one that is asked again all', () => {
  const { ask, told, weighed } = stage();
  weighed.push('good', 'doubt');
  const each = [{ refusals: 1 }, {}].map((asked) => [no, { ...ASKED, ...asked }] as const);
  return ask().then((permit) => {
    expect(permit.endedTogether(no, each)).toEqual(['believe', 'believe']);
    expect(told).toEqual(['refused', 'again', 'askAgain']);
  });
});

it('what was throttled, and what was never sent, is counted', async () => {
  const counters = createCallCounters();
  const { ask } = stage({ counters });
  const none = { ...away(0), form: 'none' } as const;
  const all = [
    throttled(),
    { ...none, reason: 'connection_refused' },
    { ...none, reason: 'connection_refused', costMicros: 7 },
    { ...none, reason: 'timeout' },
    { ...away(500), reason: 'connection_refused' },
  ] as const;
  for (const meaning of all) void (await ask()).ended(meaning);
  expect(counters).toMatchObject({ calls: 5, throttled: 1, unsent: 2, billedMicros: 7 });
});

it.each([
  ['left', 'left', 'own spent, all spent', 'asked', ''],
  ['left', 'later', 'own spent, all spent', 'asked', ''],
  ['', 'later', 'all spent', 'asked', ''],
  ['used', 'left', '', 'NotAskedError', ''],
  ['left', 'used', 'own released', 'NotAskedError', 'max_calls'],
  ['', 'used', '', 'NotAskedError', 'max_calls'],
  ['left', 'broken', 'own released', 'RangeError', ''],
  ['', 'broken', '', 'RangeError', ''],
])('a budget of its own: %s, that of all: %s: %s, %s %s', async (own, all, log, outcome, why) => {
  const kept: string[] = [];
  const open = (name: string, how: string): Budget => {
    const keep = (what: string) => () => void kept.push(`${name} ${what}`);
    const permit = {
      domains: Infinity,
      isGood: () => true,
      spend: keep('spent'),
      release: keep('released'),
    };
    return {
      tryAcquire: () => (how === 'left' ? permit : undefined),
      acquire: async () => {
        if (how === 'broken') throw new RangeError();
        return how === 'used' ? { reason: 'max_calls' } : permit;
      },
    };
  };
  const { ask, stopSwitch } = stage({ budget: open('all', all) });
  const ends = await howEnds(ask({}, undefined, own ? open('own', own) : undefined));
  const stopped = stopSwitch.stopped?.reason ?? '';
  expect([kept.join(', '), ends, stopped]).toEqual([log, outcome, why]);
});

it.each([
  ['nothing', 'asked', 'spent none spent none'],
  ['2000 ms', 'asked', 'spent none spent none'],
  ['2001 ms', 'asked', 'spent none released none spent none'],
  ['a change of mind', 'NotAskedError', 'spent none released none'],
  ['a pause', 'asked', 'spent none released none open spent none'],
  ['a stop', 'AbortError', 'spent none end released none'],
  ['an earlier stop', 'AbortError', 'end released'],
])('the only place is free, and before the next call comes %s: %s, %s', async (what, how, log) => {
  let isWanted = true;
  const keep = (word: string) => () => void told.push(word);
  const permit = {
    domains: Infinity,
    isGood: () => true,
    spend: keep('spent'),
    release: keep('released'),
  };
  const pause = {
    isPaused: false,
    whileOpen: async () => {
      pause.isPaused = false;
      told.push('open');
    },
  };
  const budget = { tryAcquire: () => permit, acquire: async () => permit };
  const { ask, set, stopSwitch, told } = stage({ concurrency: 1, pause, budget });
  const first = await ask();
  const next = howEnds(ask({}, () => isWanted));
  await nextTurn();
  if (what === 'an earlier stop') stopSwitch.stop({ reason: 'interrupted' });
  else first.abandoned();
  if (what === 'a stop') stopSwitch.stop({ reason: 'interrupted' });
  set.nowMs += Number.parseInt(what, 10) || 0;
  isWanted = what !== 'a change of mind';
  pause.isPaused = what === 'a pause';
  expect([await next, told.join(' ')]).toEqual([how, log]);
});

describe('a queue of callers that wait', () => {
  it('calls those who were let through before in turn with those who were not', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const came = [false, false, true, true].map((isAgain, at) =>
      queue.wait(signal, isAgain).then(() => called.push(`${isAgain ? 'again' : 'new'} ${at}`)),
    );
    expect([queue.length, queue.hasAgain]).toEqual([4, true]);
    for (const _ of [...came, 'nobody']) queue.wakeNext();
    await Promise.all(came);
    expect(called).toEqual(['new 0', 'again 2', 'new 1', 'again 3']);
    expect([queue.length, queue.hasAgain]).toEqual([0, false]);
  });

  it('loses whoever is told to stop, before or meanwhile, and nobody else', async () => {
    const queue = createWaitQueue();
    const stopped = new AbortController();
    const [first, second] = [
      queue.wait(stopped.signal, false),
      queue.wait(new AbortController().signal, false),
    ];
    const reason = new Error('stopped');
    stopped.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(queue.wait(stopped.signal, false)).rejects.toBe(reason);
    expect(queue.length).toBe(1);
    queue.wakeNext();
    await second;
  });
});
