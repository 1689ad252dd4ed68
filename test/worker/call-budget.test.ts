import { expect, it } from 'vitest';
import type { Budget } from '../../src/worker/budget.ts';
import { lookUp } from '../../src/worker/lookup.ts';
import { createTestContext, found, throttled, tryAgain } from './lookups.ts';

/** A budget of which the first reservations are no longer good when their turn comes. */
function createStaleBudget(stale: number): { readonly budget: Budget; readonly log: string[] } {
  const log: string[] = [];
  let reserved = 0;
  return {
    log,
    budget: {
      tryReserve: () => undefined,
      reserve: async () => {
        reserved += 1;
        const number = reserved;
        return {
          isGood: () => number > stale,
          spend: () => void log.push(`spend ${number}`),
          giveBack: () => void log.push(`give back ${number}`),
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

it('each try of a lookup is a call of the budget', async () => {
  const { budget, log } = createStaleBudget(0);
  const answers = [tryAgain(), found];
  const context = {
    ...createTestContext((_, call) => answers[call - 1] ?? found),
    budget,
  };
  await lookUp('acme.com', context);
  expect(log).toEqual(['spend 1', 'spend 2']);
});

it('a call that was allowed only when its turn had passed waits for another turn', async () => {
  const log: string[] = [];
  const context = createTestContext(() => found);
  const allowance = {
    take: async () => {
      log.push('take');
      if (log.length === 1) await context.clock.sleep(20_000, context.stopSwitch.noCall);
      return true;
    },
    giveBack: () => void log.push('give back'),
  };
  expect((await lookUp('acme.com', context, { allowance })).kind).toBe('outcome');
  expect(context.called).toHaveLength(1);
  expect(log).toEqual(['take', 'give back', 'take']);
});

it.each(['the run was stopped', 'others ask'])(
  'a call that was allowed when %s is not made',
  async (why) => {
    const context = createTestContext(() => found);
    let isWanted = true;
    let left = 1;
    const allowance = {
      take: async () => {
        left -= 1;
        if (why === 'others ask') isWanted = false;
        else context.stopSwitch.stop({ reason: 'interrupted' });
        return true;
      },
      giveBack: () => void (left += 1),
    };
    const bounds = { allowance, isWanted: () => isWanted };
    expect(await lookUp('acme.com', context, bounds)).toEqual({ kind: 'not_asked' });
    expect(context.called).toEqual([]);
    expect(left).toBe(1);
  },
);

it('each call is taken from the allowance of its chunk, and what was answered 429 is given back', async () => {
  const log: string[] = [];
  const allowance = {
    take: async () => {
      log.push('take');
      return log.filter((entry) => entry === 'take').length <= 3;
    },
    giveBack: () => void log.push('give back'),
  };
  const answers = [throttled(10), tryAgain(), tryAgain()];
  const context = createTestContext((_, call) => answers[call - 1] ?? found);
  expect(await lookUp('acme.com', context, { allowance })).toEqual({ kind: 'not_asked' });
  expect(context.called).toHaveLength(3);
  expect(log).toEqual(['take', 'give back', 'take', 'take', 'take']);
  expect(context.stopSwitch.stopped).toBeUndefined();
});
