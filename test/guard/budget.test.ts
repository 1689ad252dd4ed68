import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Budget,
  createBudget,
  createCostBudget,
  createSharedBudget,
  isUsedUp,
  joinBudgets,
  type Permit,
} from '../../src/guard/budget.ts';
import { createTestLedger } from './ledgers.ts';

const never = new AbortController().signal;

async function reserve(budget: Budget): Promise<Permit> {
  const reserved = await budget.acquire(never);
  if (isUsedUp(reserved)) throw new Error(`used up: ${reserved.reason}`);
  return reserved;
}

/** Notes what comes of reservations that may have to wait. */
function watch(reservation: Promise<object>): { result: boolean | string } {
  const seen: { result: boolean | string } = { result: 'waits' };
  reservation.then(
    (reserved) => {
      seen.result = 'spend' in reserved;
    },
    (error: unknown) => {
      seen.result = String(error);
    },
  );
  return seen;
}

describe('a budget', () => {
  it('without a bound never says no', async () => {
    const budget = createBudget(undefined);
    for (let call = 0; call < 1_000; call += 1) {
      (await reserve(budget)).spend();
    }
  });

  it('says no, and why, once it is spent', async () => {
    const budget = createBudget(2);
    for (let call = 0; call < 2; call += 1) (await reserve(budget)).spend();
    for (let call = 0; call < 2; call += 1) {
      expect(await budget.acquire(never)).toEqual({ reason: 'max_calls' });
    }
  });

  it('gives at once what it has, and nothing else', () => {
    const budget = createBudget(2);
    const first = budget.tryAcquire();
    budget.tryAcquire()?.spend();
    expect(budget.tryAcquire()).toBeUndefined();
    first?.release();
    expect(budget.tryAcquire()).toBeDefined();
  });

  it('of two budgets, takes nothing from one when the other has nothing at once', () => {
    const [rich, poor] = [createBudget(1), createBudget(0)];
    expect(joinBudgets(rich, poor).tryAcquire()).toBeUndefined();
    expect(joinBudgets(poor, rich).tryAcquire()).toBeUndefined();
    const both = joinBudgets(rich, createBudget(1));
    both.tryAcquire()?.spend();
    expect([both.tryAcquire(), rich.tryAcquire()]).toEqual([undefined, undefined]);
  });

  it('lets others wait while calls under way may still be given back', async () => {
    const budget = createBudget(1);
    const first = await reserve(budget);
    const [one, two] = [watch(budget.acquire(never)), watch(budget.acquire(never))];
    await nextTurn();
    expect([one.result, two.result]).toEqual(['waits', 'waits']);
    first.release();
    await nextTurn();
    expect([one.result, two.result]).toEqual([true, 'waits']);
    first.spend(); // any will do: one call is like another
    await nextTurn();
    expect([one.result, two.result]).toEqual([true, false]);
  });

  it('sends home with the reason who waits when the run stops, once a call under way has ended', async () => {
    const budget = createBudget(1);
    const first = await reserve(budget);
    const stop = new AbortController();
    const waiting = watch(budget.acquire(stop.signal));
    stop.abort('stopped');
    first.release();
    await nextTurn();
    // Whoever was woken either gives up or has a place, but does not wait for ever.
    expect(waiting.result).not.toBe('waits');
  });

  it('is never exceeded and is used up to the last call, whatever comes of the calls', async () => {
    const calls = fc.array(fc.record({ turns: fc.nat(4), isGivenBack: fc.boolean() }), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(20), calls, async (maxCalls, list) => {
        const budget = createBudget(maxCalls);
        let spent = 0;
        let underWay = 0;
        const results = await Promise.all(
          list.map(async ({ turns, isGivenBack }) => {
            const reserved = await budget.acquire(never);
            if (isUsedUp(reserved)) return false;
            underWay += 1;
            expect(spent + underWay).toBeLessThanOrEqual(maxCalls);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            underWay -= 1;
            if (isGivenBack) reserved.release();
            else {
              spent += 1;
              reserved.spend();
            }
            return true;
          }),
        );
        expect(spent).toBeLessThanOrEqual(maxCalls);
        if (results.includes(false)) expect(spent).toBe(maxCalls);
      }),
    );
  });
});

describe('two budgets in one', () => {
  it('let through what both have, and give back to the one what the other has not', async () => {
    const { ledger } = createTestLedger({ count: 3, unit: 'day' });
    const shared = createSharedBudget({ ledger, now: () => 0 });
    const own = createBudget(2);
    const budget = joinBudgets(own, shared);
    (await reserve(budget)).spend();
    (await reserve(budget)).release();
    (await reserve(budget)).spend();
    expect(await budget.acquire(never)).toEqual({ reason: 'max_calls' });
    const other = joinBudgets(createBudget(5), shared);
    (await reserve(other)).spend();
    expect(await other.acquire(never)).toMatchObject({ reason: 'max_calls_per' });
    const last = createBudget(1);
    expect(await joinBudgets(last, shared).acquire(never)).toMatchObject({
      reason: 'max_calls_per',
    });
    await reserve(last);
  });

  it('give back to the one when the other is interrupted', async () => {
    const own = createBudget(1);
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    const { ledger } = createTestLedger({ count: 3, unit: 'day' });
    const budget = joinBudgets(own, createSharedBudget({ ledger, now: () => 0 }));
    await expect(budget.acquire(stop.signal)).rejects.toThrow('stopped');
    await reserve(own);
  });
});

describe('a budget of what calls cost', () => {
  it('holds the price of each call under way, and takes what the answer cost', async () => {
    const budget = createCostBudget(25, 10);
    const [one, two] = [budget.tryAcquire(), budget.tryAcquire()];
    expect(budget.tryAcquire()).toBeUndefined(); // 30 could be more than 25
    one?.spend(0);
    const three = budget.tryAcquire();
    expect(three).toBeDefined();
    two?.spend(10);
    three?.release();
    budget.tryAcquire()?.spend(); // given up, and perhaps billed
    expect(await budget.acquire(never)).toEqual({ reason: 'max_cost' });
  });

  it('lets a call wait while those under way may turn out to cost nothing', async () => {
    const budget = createCostBudget(10, 10);
    const first = budget.tryAcquire();
    const waiting = budget.acquire(never);
    first?.spend(0);
    expect(isUsedUp(await waiting)).toBe(false);
  });
});

it('a reservation of two budgets is good while both are', async () => {
  const good = [true, true];
  const budgets = good.map((_, at): Budget => {
    const reservation = { isGood: () => good[at] ?? false, spend: () => {}, release: () => {} };
    return { acquire: async () => reservation, tryAcquire: () => reservation };
  });
  const [one, other] = budgets;
  if (!one || !other) throw new Error('There are two.');
  const reserved = await reserve(joinBudgets(one, other));
  const seen = [
    [true, true],
    [false, true],
    [true, false],
  ].map((both) => {
    good.splice(0, 2, ...both);
    return reserved.isGood();
  });
  expect(seen).toEqual([true, false, false]);
  expect((await reserve(createBudget(undefined))).isGood()).toBe(true);
  expect((await reserve(createBudget(1))).isGood()).toBe(true);
});
