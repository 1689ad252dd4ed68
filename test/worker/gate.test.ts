import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createCallCounters } from '../../src/common/calls.ts';
import { joinBudgets } from '../../src/worker/budget.ts';
import { createEvidence } from '../../src/worker/evidence.ts';
import { createGate, createOwnPace, createWaitQueue } from '../../src/worker/gate.ts';
import { createStopSwitch, NotAskedError } from '../../src/worker/stop-switch.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { away, found, throttled } from './harness.ts';

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
    const { pace, nextMs: next } = open({ fixed: { rate: RATE, startsMs: [10_900] } }, rate);
    expect([pace.phase, next(NOW.now, 1)]).toEqual(['fixed', nextMs]);
  });
});

/** A gate with so many callers, and lookups that ask at it. */
function openGate(concurrency: number) {
  const clock = createFakeClock({ isImpatient: true });
  const stopSwitch = createStopSwitch();
  const counters = createCallCounters();
  const onStop = (stop: Parameters<typeof stopSwitch.stop>[0]): void => stopSwitch.stop(stop);
  const gate = createGate({
    home: createOwnPace(0, { rate: undefined, learned: undefined, epochMs: 0 }),
    clock,
    now: clock.nowMs,
    concurrency,
    evidence: createEvidence({ callers: concurrency, onStop, isTrusting: true }),
    budget: joinBudgets([]),
    stopSwitch,
    counters,
    maxWaitMs: 60_000,
    maxOutageMs: 60_000,
  });
  const asked = { failures: 0, begun: 0, refusals: 0, refusedAs: '', successesThen: 0 };
  const lookUp = (domain: string) => ({ ...asked, domain });
  const ask = (domain: string, isWanted = () => true) =>
    gate.ask({ asked: lookUp(domain), isWanted });
  return { gate, ask, lookUp, counters };
}

it('of a call about several domains each has its verdict, and the worst tells the pace', async () => {
  for (const bad of [throttled(3_000), found('b')]) {
    const { gate, ask, lookUp } = openGate(4);
    const permit = await ask('a');
    const each = [
      [found('a'), lookUp('a')],
      [bad, lookUp('b')],
    ] as const;
    const told = permit.endedTogether(bad, each).map(async (one) => await one);
    const verdicts = await Promise.all(told);
    const isLimit = bad.kind === 'throttled';
    expect(verdicts).toEqual(['believe', isLimit ? 'again' : 'believe']);
    expect(gate.describe().waitMs).toBe(isLimit ? 3_000 : 0);
    (await ask('c')).abandoned();
    await gate.close();
  }
});

it('a call that is abandoned, or not wanted any more in its turn, leaves its place to the next', async () => {
  const { gate, ask } = openGate(1);
  const first = await ask('a');
  let isWanted = true;
  const second = ask('b', () => isWanted);
  const third = ask('c');
  isWanted = false;
  first.abandoned();
  await expect(second).rejects.toThrow(NotAskedError);
  expect(await (await third).ended(found('c'))).toBe('believe');
  await expect(ask('d', () => false)).rejects.toThrow(NotAskedError);
  await gate.close();
});

it('what was throttled, and what was never sent, is counted', async () => {
  const { gate, ask, counters } = openGate(2);
  const none = { ...away(0), form: 'none' } as const;
  const all = [
    throttled(),
    { ...none, reason: 'connection_refused' },
    { ...none, reason: 'timeout' },
    { ...away(500), reason: 'connection_refused' },
  ];
  for (const meaning of all) void (await ask('a')).ended(meaning);
  expect(counters).toMatchObject({ calls: 4, throttled: 1, unsent: 1 });
  await gate.close();
});

it('a caller beyond --concurrency waits until another one has ended', async () => {
  const { gate, ask } = openGate(2);
  const [first] = [await ask('a'), await ask('b')];
  let isThrough = false;
  const third = ask('c').then(() => {
    isThrough = true;
  });
  for (let turn = 0; turn < 9; turn += 1) await nextTurn();
  expect(isThrough).toBe(false);
  first.abandoned();
  await third;
  await gate.close();
});

describe('a queue of callers that wait', () => {
  it('calls them in the order in which they came', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const turns = ['a', 'b'].map((name) => queue.wait(signal, false).then(() => called.push(name)));
    expect(queue.length).toBe(2);
    for (const _ of [1, 2, 3]) queue.wakeNext();
    await Promise.all(turns);
    expect([called, queue.length]).toEqual([['a', 'b'], 0]);
  });

  it('calls those who were let through before in turn with those who were not', async () => {
    const queue = createWaitQueue();
    const { signal } = new AbortController();
    const called: string[] = [];
    const came = [false, false, true, true].map((isAgain, at) =>
      queue.wait(signal, isAgain).then(() => called.push(`${isAgain ? 'again' : 'new'} ${at}`)),
    );
    for (const _ of came) queue.wakeNext();
    await Promise.all(came);
    expect(called).toEqual(['new 0', 'again 2', 'new 1', 'again 3']);
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
