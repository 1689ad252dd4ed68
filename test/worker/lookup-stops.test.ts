import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/brand/answer.ts';
import type { Turnstile } from '../../src/pace/turnstile.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import type { OutageGate } from '../../src/worker/outage-gate.ts';
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
    const turnstile: Turnstile = {
      ...context.turnstile,
      tryEnter: () => false,
      enter: async (signal) => {
        await context.turnstile.enter(signal);
        context.stopSwitch.stop({ reason: 'interrupted' });
      },
      report: (outcome) => {
        reported.push(outcome.kind);
        return context.turnstile.report(outcome);
      },
    };
    expect(await lookUp('acme.com', { ...context, turnstile })).toEqual({ kind: 'not_asked' });
    expect([context.counters.calls, reported]).toEqual([0, ['abandoned']]);
    expect(context.budget.tryReserve()).toBeDefined();
  });

  it.each([
    ['made late', false, ['late at 0', 'accepted at 360000']],
    ['given up', true, ['abandoned at 0']],
  ])('has its call %s after a long outage', async (_, isStopped, told) => {
    const context = createTestContext(() => found);
    const { clock, stopSwitch } = context;
    const seen: string[] = [];
    const turnstile: Turnstile = {
      ...context.turnstile,
      startLate: (enteredAtMs) => seen.push(`late at ${enteredAtMs}`),
      report: ({ kind, sentAtMs }) => {
        seen.push(`${kind} at ${sentAtMs}`);
        return 0;
      },
    };
    const outage: OutageGate = {
      ...context.outage,
      isOut: true,
      tryPass: () => false,
      pass: async (signal) => {
        await clock.sleep(360_000, signal);
        if (isStopped) stopSwitch.stop({ reason: 'outage' });
        signal.throwIfAborted();
      },
    };
    await lookUp('acme.com', { ...context, turnstile, outage });
    expect(seen).toEqual(told);
  });

  it('ends with its answer when that comes in time', async () => {
    const context = createTestContext(() => {
      context.stopSwitch.stop({ reason: 'interrupted' });
      return found;
    });
    expect(await lookUp('acme.com', context)).toMatchObject({ outcome: { status: 'found' } });
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

  it('has no outcome when its call is given up', async () => {
    const context = createTestContext(() => {
      context.stopSwitch.giveUp({ reason: 'interrupted' });
      throw context.stopSwitch.noCall.reason;
    });
    expect(await lookUp('acme.com', context)).toEqual({ kind: 'not_asked' });
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
