import { describe, expect, it, vi } from 'vitest';
import { type Answer } from '../../src/brand/answer.ts';
import { type Budget, createBudget } from '../../src/guard/budget.ts';
import { type RateLimiter } from '../../src/pace/rate-limiter.ts';
import { type CircuitBreaker } from '../../src/worker/circuit-breaker.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';
import { createTestContext, found, throttled, tryAgain } from './lookups.ts';

describe('a lookup in a run that stops', () => {
  it('makes no call when the run has stopped before', async () => {
    const context = createTestContext(() => found);
    context.stopSwitch.stop({ reason: 'interrupted' });
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    expect(context.counters.calls).toBe(0);
  });

  it('makes no call when the run stops in the moment in which it is let through', async () => {
    const context = createTestContext(() => found, { maxCalls: 1 });
    const reported: string[] = [];
    const limiter: RateLimiter = {
      ...context.limiter,
      tryAcquire: () => false,
      acquire: async (signal) => {
        await context.limiter.acquire(signal);
        context.stopSwitch.stop({ reason: 'interrupted' });
      },
      release: (outcome) => {
        reported.push(outcome.kind);
        return context.limiter.release(outcome);
      },
    };
    expect(await lookUp('acme.com', { ...context, limiter })).toEqual({ kind: 'not_asked' });
    expect([context.counters.calls, reported]).toEqual([0, ['abandoned']]);
    expect(context.budget.tryAcquire()).toBeDefined();
  });

  it.each([
    ['made late', false, ['late at 0', 'accepted at 360000']],
    ['given up', true, ['abandoned at 0']],
  ])('has its call %s after a long outage', async (_, isStopped, told) => {
    const context = createTestContext(() => found);
    const { clock, stopSwitch } = context;
    const seen: string[] = [];
    const limiter: RateLimiter = {
      ...context.limiter,
      restart: (acquiredAtMs) => seen.push(`late at ${acquiredAtMs}`),
      release: ({ kind, sentAtMs }) => {
        seen.push(`${kind} at ${sentAtMs}`);
        return 0;
      },
    };
    const breaker: CircuitBreaker = {
      ...context.breaker,
      isOut: true,
      tryAcquire: () => false,
      acquire: async (signal) => {
        await clock.sleep(360_000, signal);
        if (isStopped) stopSwitch.stop({ reason: 'outage' });
        signal.throwIfAborted();
      },
    };
    await lookUp('acme.com', { ...context, limiter, breaker });
    expect(seen).toEqual(told);
  });

  it.each<[string, Answer]>([
    ['failed', tryAgain()],
    ['was throttled', throttled(5_000)],
    ['was redirected', { kind: 'redirect', httpStatus: 302, path: '/elsewhere' }],
  ])('is not tried again when its last call %s', async (_, answer) => {
    const context = createTestContext(() => {
      context.stopSwitch.stop({ reason: 'interrupted' });
      return answer;
    });
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
    expect(context.called).toHaveLength(1);
  });

  it('does not wait any longer when it is about to be tried again', async () => {
    const context = createTestContext(() => {
      setTimeout(() => context.stopSwitch.stop({ reason: 'interrupted' }), 5);
      return tryAgain('http_503');
    });
    const slow = { ...context, clock: { ...context.clock, sleep: sleepForever } };
    expect(await lookUp('acme.com', slow)).toEqual({ kind: 'not_asked' });
  });

  it('stops the run when the budget is used up', async () => {
    const context = createTestContext(() => found, { maxCalls: 1 });
    expect(await lookUp('a.com', context)).toMatchObject({ kind: 'outcome' });
    expect(context.stopSwitch.stopped).toBeUndefined();
    expect(await lookUp('b.com', context)).toEqual({ kind: 'not_asked' });
    expect(context.stopSwitch.stopped).toEqual({ reason: 'max_calls' });
    expect(context.counters.calls).toBe(1);
  });

  it('pays for every call but those answered 429', async () => {
    const answers = [throttled(10), tryAgain(), throttled(10), found];
    const context = createTestContext((_, call) => answers[call - 1] ?? found, { maxCalls: 2 });
    expect(await lookUp('a.com', context)).toMatchObject({
      outcome: { status: 'found', attempts: 2 },
    });
    expect(context.counters.calls).toBe(4);
    expect(await lookUp('b.com', context)).toEqual({ kind: 'not_asked' });
  });
});

function sleepForever(_: number, signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

it('stops in two steps: first no new call, then no call at all', () => {
  const stopSwitch = createStopSwitch();
  const seen = (): unknown[] => [
    stopSwitch.stopped?.reason,
    stopSwitch.noNewCall.aborted,
    stopSwitch.noCall.aborted,
  ];
  expect(seen()).toEqual([undefined, false, false]);
  stopSwitch.stop({ reason: 'quota', comeBackAtMs: 5 });
  expect(seen()).toEqual(['quota', true, false]);
  stopSwitch.giveUp({ reason: 'interrupted' });
  expect(seen()).toEqual(['quota', true, true]);
  expect(stopSwitch.stopped).toEqual({ reason: 'quota', comeBackAtMs: 5 });
});

it('knows the reason before anybody hears of the stop', () => {
  const stopSwitch = createStopSwitch();
  const heard = vi.fn<(reason: unknown) => void>();
  stopSwitch.noNewCall.addEventListener('abort', () => heard(stopSwitch.stopped?.reason));
  stopSwitch.stop({ reason: 'max_calls' });
  stopSwitch.stop({ reason: 'quota' });
  expect(heard.mock.calls).toEqual([['max_calls']]);
});

/** A budget of which the first reservations are no longer good when their turn comes. */
function createStaleBudget(stale: number): { readonly budget: Budget; readonly log: string[] } {
  const log: string[] = [];
  let reserved = 0;
  return {
    log,
    budget: {
      tryAcquire: () => undefined,
      acquire: async () => {
        reserved += 1;
        const number = reserved;
        return {
          isGood: () => number > stale,
          spend: () => void log.push(`spend ${number}`),
          release: () => void log.push(`give back ${number}`),
        };
      },
    },
  };
}

it('a call that waited beyond the end of its window is made on another reservation', async () => {
  const { budget, log } = createStaleBudget(2);
  const context = { ...createTestContext(() => found), budget };
  expect((await lookUp('acme.com', context)).kind).toBe('outcome');
  expect(context.called).toHaveLength(1);
  expect(log).toEqual(['give back 1', 'give back 2', 'spend 3']);
});

it.each(['the run was stopped', 'others ask'])(
  'a call that its chunk allowed when %s is not made, and given back',
  async (why) => {
    const context = createTestContext(() => found);
    const ofChunk = createBudget(1);
    let isWanted = true;
    const budget: Budget = {
      tryAcquire: () => undefined,
      acquire: async (signal) => {
        const reserved = await ofChunk.acquire(signal);
        if (why === 'others ask') isWanted = false;
        else context.stopSwitch.stop({ reason: 'interrupted' });
        return reserved;
      },
    };
    const bounds = { budget, isWanted: () => isWanted };
    expect(await lookUp('acme.com', context, bounds)).toEqual({ kind: 'not_asked' });
    expect(context.called).toEqual([]);
    expect(ofChunk.tryAcquire()).toBeDefined();
  },
);

it('each call is one of its chunk too, which stops nobody else when they are used up; a 429 is none', async () => {
  const answers = [throttled(10), tryAgain(), tryAgain()];
  const context = createTestContext((_, call) => answers[call - 1] ?? found);
  const bounds = { budget: createBudget(2) };
  expect(await lookUp('acme.com', context, bounds)).toEqual({ kind: 'not_asked' });
  expect(context.called).toHaveLength(3);
  expect(context.stopSwitch.stopped).toBeUndefined();
});

it('a call of a chunk is given back when there is none left for all lookups', async () => {
  const context = { ...createTestContext(() => found), budget: createBudget(0) };
  const ofChunk = createBudget(1);
  expect(await lookUp('acme.com', context, { budget: ofChunk })).toEqual({ kind: 'not_asked' });
  expect(context.stopSwitch.stopped).toEqual({ reason: 'max_calls' });
  expect(ofChunk.tryAcquire()).toBeDefined();
});
