import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  type Budget,
  createSharedBudget,
  isUsedUp,
  joinBudgets,
  type Permit,
  RUN_WINDOW,
  type SharedBudgetOptions,
  windowAt,
} from '../../src/worker/budget.ts';
import { createFixedRate, nextFixedStartMs, slower } from '../../src/worker/rate.ts';

const { signal } = new AbortController();

/** A budget of so many, in a window that ends at a time, and what its ledger was told. */
function openBudget(
  left: number,
  endsAtMs = Infinity,
  { skewMs = 0, ...more }: Partial<SharedBudgetOptions> & { skewMs?: number } = {},
) {
  const told: string[] = [];
  let nowMs = 0;
  const budget = createSharedBudget({
    ledger: {
      take: async (most) => {
        const calls = Math.min(most, left);
        left -= calls;
        told.push(`take ${most}`);
        const window =
          nowMs + skewMs < endsAtMs ? { ...RUN_WINDOW, endsAtMs } : { id: 'next', endsAtMs: 1e9 };
        return { calls, window, nowMs: nowMs + skewMs };
      },
      read: async () => ({ taken: 0, window: RUN_WINDOW }),
      giveBack: async (calls, { id }) => {
        left += calls;
        told.push(`back ${calls} ${id}`);
      },
    },
    now: () => nowMs,
    ...more,
  });
  const add = (calls: number): void => void (left += calls);
  return { budget, told, add, pass: (ms: number) => void (nowMs += ms) };
}

async function permit(budget: Budget): Promise<Permit> {
  const acquired = await budget.acquire(signal);
  if (isUsedUp(acquired)) throw new Error(acquired.reason);
  return acquired;
}

it('what is acquired and released is acquired again, what is spent is not', async () => {
  const { budget, told } = openBudget(2, 50);
  const [one, other] = await Promise.all([permit(budget), permit(budget)]);
  expect([told, budget.tryAcquire()]).toEqual([['take 2'], undefined]);
  const waiting = budget.acquire(signal);
  await nextTurn();
  one.spend();
  await nextTurn();
  other.release();
  const third = await waiting;
  if (isUsedUp(third)) throw new Error('It was released.');
  third.spend();
  expect(await budget.acquire(signal)).toEqual({ reason: 'max_calls_per', comeBackAtMs: 50 });
});

it('what nobody waits for goes back at once, but for what is kept ahead until the end', async () => {
  const { budget, told } = openBudget(9);
  (await permit(budget)).release();
  await nextTurn();
  await nextTurn();
  expect(told).toEqual(['take 1', 'back 1 run']);
  const ahead = openBudget(9, Infinity, { ahead: 3 });
  (await permit(ahead.budget)).spend();
  await nextTurn();
  const second = ahead.budget.tryAcquire();
  expect(ahead.told).toEqual(['take 4']);
  second?.spend();
  await ahead.budget.close();
  expect(ahead.told).toEqual(['take 4', 'back 2 run']);
});

it('a call that waited beyond its window is not good any more, and nothing of that goes back', async () => {
  // The clock of the ledger is ahead of ours.
  const { budget, told, pass } = openBudget(9, 1_100, { ahead: 1, skewMs: 100 });
  const early = await permit(budget);
  pass(999);
  expect(early.isGood()).toBe(true);
  pass(1);
  expect([early.isGood(), budget.tryAcquire()]).toEqual([false, undefined]);
  early.release();
  const late = await permit(budget);
  expect(late.isGood()).toBe(true);
  await budget.close();
  expect(told).toEqual(['take 2', 'take 2', 'back 1 next']);
});

it('what calls cost is held at its price, and counted as it came', async () => {
  const options = {
    price: 10,
    costOf: (micros = 10) => micros,
    usedUp: () => ({ reason: 'max_cost' }),
  };
  const { budget, told } = openBudget(35, Infinity, options as Partial<SharedBudgetOptions>);
  const [one, other] = await Promise.all([permit(budget), permit(budget)]);
  one.spend(25);
  other.spend(4);
  await nextTurn();
  expect(told).toEqual(['take 20', 'back -9 run']);
  expect(await budget.acquire(signal)).toEqual({ reason: 'max_cost' });
});

it('a ledger that had none left is asked again after a second: others may have given some back', async () => {
  const { budget, told, add, pass } = openBudget(0, 9_000);
  pass(100);
  for (const passedMs of [0, 999]) {
    pass(passedMs);
    expect(await budget.acquire(signal)).toMatchObject({ comeBackAtMs: 9_000 });
  }
  add(1);
  pass(1);
  (await permit(budget)).spend();
  expect(told).toEqual(['take 1', 'take 1']);
});

it('a wait ends with its signal', async () => {
  const stop = new AbortController();
  const { budget } = openBudget(1);
  stop.abort(new Error('stopped'));
  await expect(budget.acquire(stop.signal)).rejects.toThrow('stopped');
});

it('several budgets have to consent, and one that did is released where another does not', async () => {
  const [wide, narrow] = [openBudget(9, 1_000, { ahead: 3 }), openBudget(3, 500, { ahead: 1 })];
  const joined = joinBudgets([wide.budget, narrow.budget]);
  const first = await permit(joined);
  const second = joined.tryAcquire();
  expect(joined.tryAcquire()).toBeUndefined();
  expect([wide, wide, wide].map(({ budget }) => budget.tryAcquire()?.release())).toHaveLength(3);
  first.spend();
  second?.release();
  (await permit(joined)).spend();
  (await permit(joined)).spend();
  expect(await joined.acquire(signal)).toMatchObject({ comeBackAtMs: 500 });
  expect(await joinBudgets([narrow.budget, wide.budget]).acquire(signal)).toMatchObject({
    comeBackAtMs: 500,
  });
  await wide.budget.close();
  const taken = wide.told.map(
    (one) => Number(one.split(' ')[1]) * (one.startsWith('take') ? 1 : -1),
  );
  expect(taken.reduce((sum, calls) => sum + calls)).toBe(3);
  const [long, short] = [openBudget(9, 1_000), openBudget(9, 500)];
  for (const budgets of [
    [long.budget, short.budget],
    [short.budget, long.budget],
  ]) {
    expect((await permit(joinBudgets(budgets))).isGood()).toBe(true);
  }
  const over = await permit(joinBudgets([long.budget, short.budget]));
  short.pass(500);
  expect(over.isGood()).toBe(false);
  const unbounded = joinBudgets([]);
  expect(unbounded.tryAcquire()?.isGood()).toBe(true);
  (await permit(unbounded)).spend();
});

it.each([
  ['minute', '2026-11-21T23:59', '2026-11-22T00:00:00.000Z'],
  ['hour', '2026-11-21T23', '2026-11-22T00:00:00.000Z'],
  ['day', '2026-11-21', '2026-11-22T00:00:00.000Z'],
  ['month', '2026-11', '2026-12-01T00:00:00.000Z'],
] as const)('a %s of the calendar is %s, and ends at %s', (unit, id, ends) => {
  const endsAtMs = Date.parse(ends);
  expect(windowAt(unit, endsAtMs - 1)).toEqual({ id, endsAtMs });
  expect(windowAt(unit, endsAtMs).id).not.toBe(id);
});

it('a large fixed rate is counted in a part of its window, and the slower of two is taken', () => {
  const [large, small] = [
    { count: 1_000, perMs: 1_000 },
    { count: 1.5, perMs: 3_000 },
  ];
  const startsMs = Array.from({ length: 250 }, () => 5);
  expect(nextFixedStartMs(createFixedRate(large, startsMs))).toBe(255);
  expect(nextFixedStartMs(createFixedRate(small, [0, 100]))).toBe(4_000);
  expect(nextFixedStartMs(createFixedRate({ count: 256, perMs: 256 }, [0, 3]))).toBe(3);
  expect(nextFixedStartMs(createFixedRate({ count: 10, perMs: 100 }, [0, 4]))).toBe(10);
  expect([slower(large, small), slower(small, large)]).toEqual([small, small]);
  expect([slower(undefined, large), slower(large, undefined)]).toEqual([large, large]);
});
