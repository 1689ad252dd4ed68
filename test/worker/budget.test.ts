import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBudget } from '../../src/worker/budget.ts';

const never = new AbortController().signal;

/** Notes what comes of reservations that may have to wait. */
function watch(reservation: Promise<boolean>): { result: boolean | string } {
  const seen: { result: boolean | string } = { result: 'waits' };
  reservation.then(
    (isReserved) => {
      seen.result = isReserved;
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
      expect(await budget.reserve(never)).toBe(true);
      budget.spend();
    }
  });

  it('says no once it is spent', async () => {
    const budget = createBudget(2);
    for (const isReserved of [true, true, false, false]) {
      expect(await budget.reserve(never)).toBe(isReserved);
      if (isReserved) budget.spend();
    }
  });

  it('lets others wait while calls under way may still be given back', async () => {
    const budget = createBudget(1);
    await budget.reserve(never);
    const [one, two] = [watch(budget.reserve(never)), watch(budget.reserve(never))];
    await nextTurn();
    expect([one.result, two.result]).toEqual(['waits', 'waits']);
    budget.giveBack();
    await nextTurn();
    expect([one.result, two.result]).toEqual([true, 'waits']);
    budget.spend();
    await nextTurn();
    expect([one.result, two.result]).toEqual([true, false]);
  });

  it('sends home with the reason who waits when the run stops, once a call under way has ended', async () => {
    const budget = createBudget(1);
    await budget.reserve(never);
    const stop = new AbortController();
    const waiting = watch(budget.reserve(stop.signal));
    stop.abort('stopped');
    budget.giveBack();
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
            if (!(await budget.reserve(never))) return false;
            underWay += 1;
            expect(spent + underWay).toBeLessThanOrEqual(maxCalls);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            underWay -= 1;
            if (isGivenBack) budget.giveBack();
            else {
              spent += 1;
              budget.spend();
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
