import { expect, it } from 'vitest';
import { type Budget, createBudget } from '../../src/guard/budget.ts';
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

it.each(['the run was stopped', 'others ask'])(
  'a call that its chunk allowed when %s is not made, and given back',
  async (why) => {
    const context = createTestContext(() => found);
    const ofChunk = createBudget(1);
    let isWanted = true;
    const budget: Budget = {
      tryReserve: () => undefined,
      reserve: async (signal) => {
        const reserved = await ofChunk.reserve(signal);
        if (why === 'others ask') isWanted = false;
        else context.stopSwitch.stop({ reason: 'interrupted' });
        return reserved;
      },
    };
    const bounds = { budget, isWanted: () => isWanted };
    expect(await lookUp('acme.com', context, bounds)).toEqual({ kind: 'not_asked' });
    expect(context.called).toEqual([]);
    expect(ofChunk.tryReserve()).toBeDefined();
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
  expect(ofChunk.tryReserve()).toBeDefined();
});
