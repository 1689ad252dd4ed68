import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  type Budget,
  createRunBudget,
  createSharedBudget,
  isUsedUp,
  joinBudgets,
  type Permit,
  RUN_WINDOW,
  type SharedBudgetOptions,
  windowAt,
} from '../../src/calls/budget.ts';
import { slower } from '../../src/calls/rate.ts';
import { createFixedRate, nextFixedStartMs } from '../../src/worker/rate.ts';

const { signal } = new AbortController();

interface Surroundings extends Partial<SharedBudgetOptions> {
  /** How far the clock of the ledger is ahead. */
  readonly skewMs?: number;
  /** What the ledger knows that a domain costs. */
  readonly each?: number | undefined;
}

/** A budget of so many, in a window that ends at a time, and what its ledger was told. */
function openBudget(left: number, endsAtMs = Infinity, of: Surroundings = {}) {
  const { skewMs = 0, ...more } = of;
  let each = 'each' in of ? of.each : 1;
  const told: string[] = [];
  let nowMs = 0;
  const budget = createSharedBudget({
    ledger: {
      take: async (domains, known) => {
        each = known === undefined ? each : Math.max(known, each ?? 0);
        const count = each === undefined ? left : Math.min(domains * each, left);
        left -= count;
        told.push(`take ${each === undefined ? 'all' : domains * each}`);
        const window =
          nowMs + skewMs < endsAtMs ? { ...RUN_WINDOW, endsAtMs } : { id: 'next', endsAtMs: 1e9 };
        return { count, each, window, nowMs: nowMs + skewMs };
      },
      read: async () => ({ taken: 0, window: RUN_WINDOW }),
      giveBack: async (count, { id }, known) => {
        if (known !== undefined && known > (each ?? 0)) each = known;
        left += count;
        told.push(`back ${count} ${id}`);
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

const COST = { counts: 'cost', usedUp: () => ({ reason: 'max_cost' }) as const } as const;

it('what calls cost is held at its price, and counted as it came', async () => {
  const { budget, told } = openBudget(35, Infinity, { ...COST, each: 10 });
  const [one, other] = await Promise.all([permit(budget), permit(budget)]);
  one.spend(25);
  other.spend(4);
  await nextTurn();
  expect(told).toEqual(['take 20', 'back -9 run']);
  expect(await budget.acquire(signal)).toEqual({ reason: 'max_cost' });
});

it.each<[string, number, Surroundings, number]>([
  ['one at a time until it is told, then as much as it was', 100, {}, 20],
  ['the same where the last would cost more than is left', 98, {}, 19],
  ['no less than its documented price', 100, { least: 20 }, 5],
  ['as it is known from an earlier start', 100, { each: 50 }, 2],
])('what only answers tell is held: %s', async (_, bound, more, most) => {
  // Given an API that bills 5 for each call, all of which are wanted at once
  const { budget } = openBudget(bound, Infinity, { ...COST, each: undefined, ...more });
  let [underWay, alone, made] = [0, 0, 0];
  const isTold = more.each !== undefined;
  const call = async (): Promise<void> => {
    const acquired = await budget.acquire(signal);
    if (isUsedUp(acquired)) return;
    underWay += 1;
    if (!isTold && made === 0) alone = Math.max(alone, underWay);
    await nextTurn();
    underWay -= 1;
    made += 1;
    acquired.spend(5);
  };
  await Promise.all(Array.from({ length: 60 }, call));
  // Then nothing is spent beyond the bound, and the first call was alone
  expect(made * 5).toBeLessThanOrEqual(bound);
  expect(made).toBeGreaterThanOrEqual(most);
  expect(alone).toBe(isTold ? 0 : 1);
});

it.each<[string, number | undefined, number | undefined, unknown]>([
  ['what was free', 0, 1, { each: undefined, left: 100 }],
  ['what was given up, which may be billed', undefined, 1, { each: undefined, left: 0 }],
  ['what about several domains cost', 10, 4, { each: 3, left: 90 }],
  ['what used up all', 100, 1, { each: 100, left: 0 }],
])('of the first call %s is counted, and told at once', async (_, cost, domains, expected) => {
  const known: { each?: number | undefined; left: number } = { each: undefined, left: 0 };
  const { budget } = openBudget(100, Infinity, {
    ...COST,
    ledger: {
      take: async () => ({ count: 100, each: undefined, window: RUN_WINDOW, nowMs: 0 }),
      read: async () => ({ taken: 0, window: RUN_WINDOW }),
      giveBack: async (left, __, each) => void Object.assign(known, { each, left }),
    },
  });
  (await permit(budget)).spend(cost, domains);
  await nextTurn();
  await nextTurn();
  expect(known).toEqual(expected);
});

it('a call counts as one whatever it cost, and as its domains where nobody says how many came', async () => {
  const { budget } = openBudget(2);
  for (const _ of [1, 2]) (await permit(budget)).spend(999);
  expect(await budget.acquire(signal)).toMatchObject({ reason: 'max_calls_per' });
  const batched = openBudget(6, Infinity, { counts: 'domains', size: 4 });
  (await permit(batched.budget)).spend(999);
  expect((await permit(batched.budget)).domains).toBe(2);
});

it.each(['calls', 'micros'] as const)('a bound of a run on %s says whose it is', async (field) => {
  const ledger = {
    take: async () => ({ count: 0, each: 1, window: RUN_WINDOW, nowMs: 0 }),
    read: async () => ({ taken: 0, window: RUN_WINDOW }),
    giveBack: async () => {},
  };
  const budget = createRunBudget({ field, most: 1, each: 1 }, ledger, {});
  const reason = field === 'calls' ? 'max_calls' : 'max_cost';
  expect(await budget.acquire(signal)).toEqual({ reason });
});

it('a call that two budgets count is about as many domains as both allow', async () => {
  const [four, two] = [4, 2].map((size) => openBudget(9, 9, { counts: 'domains', size }));
  expect(
    (await permit(joinBudgets([four?.budget, two?.budget].flatMap((one) => one ?? [])))).domains,
  ).toBe(2);
});

it('a call that waits in line is not good any more when another has cost more', async () => {
  const { budget } = openBudget(100, Infinity, { ...COST, each: 1 });
  const [one, other] = await Promise.all([permit(budget), permit(budget)]);
  one.spend(5);
  expect(other.isGood()).toBe(false);
  other.release();
  expect((await permit(budget)).isGood()).toBe(true);
});

it('a call that was refused for the moment counts what it was billed', async () => {
  const { budget, told } = openBudget(9, Infinity, { ...COST, each: 3 });
  (await permit(budget)).release(2);
  await nextTurn();
  await nextTurn();
  expect(told).toEqual(['take 3', 'back 1 run']);
});

it.each([
  ['calls', 1, Infinity, Infinity],
  ['domains', 1, 4, 2],
  ['cost', 2, 3, 1],
] as const)(
  'of calls about four domains each, %s are counted',
  async (counts, each, most, next) => {
    const { budget } = openBudget(6, Infinity, { counts, size: 4, each });
    const first = await permit(budget);
    expect(first.domains).toBe(most);
    first.spend(4, counts === 'domains' ? 4 : 2);
    expect((await permit(budget)).domains).toBe(next);
  },
);

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
  expect(windowAt({ unit }, endsAtMs - 1)).toEqual({ id, endsAtMs });
  expect(windowAt({ unit }, endsAtMs).id).not.toBe(id);
});

it.each([
  ['day', 'Europe/Berlin', '2026-11-21T22:59:59.999Z', '2026-11-21', '2026-11-21T23:00:00.000Z'],
  ['day', 'America/Los_Angeles', '2026-11-21T07:00Z', '2026-11-20', '2026-11-21T08:00:00.000Z'],
  ['month', 'Asia/Kolkata', '2026-11-30T18:29Z', '2026-11', '2026-11-30T18:30:00.000Z'],
  ['hour', 'Asia/Kolkata', '2026-11-30T18:29Z', '2026-11-30T23', '2026-11-30T18:30:00.000Z'],
  [
    'a day of 25 hours',
    'Europe/Berlin',
    '2026-10-24T22:00Z',
    '2026-10-25',
    '2026-10-25T23:00:00.000Z',
  ],
  [
    'a day of 23 hours',
    'Europe/Berlin',
    '2026-03-29T21:59Z',
    '2026-03-29',
    '2026-03-29T22:00:00.000Z',
  ],
  [
    'a day before one without midnight',
    'Africa/Cairo',
    '2026-04-23T21:59Z',
    '2026-04-23',
    '2026-04-23T22:00:00.000Z',
  ],
  [
    'an hour that comes twice',
    'Europe/Berlin',
    '2026-10-25T00:30Z',
    '2026-10-25T02',
    '2026-10-25T02:00:00.000Z',
  ],
])('%s in %s at %s is %s, and ends at %s', (what, timeZone, at, id, ends) => {
  const unit = (/month|hour(?!s)/.exec(what)?.[0] ?? 'day') as 'month' | 'hour' | 'day';
  const window = windowAt({ unit, timeZone }, Date.parse(at));
  expect({ ...window, endsAtMs: new Date(window.endsAtMs).toISOString() }).toEqual({
    id,
    endsAtMs: ends,
  });
});

it('a large fixed rate is counted in a part of its window, and the slower of two is taken', () => {
  const [large, small] = [
    { count: 1_000, perMs: 1_000 },
    { count: 1.5, perMs: 3_000 },
  ];
  const startsMs = Array.from({ length: 250 }, () => 5);
  expect(nextFixedStartMs(createFixedRate(large, startsMs))).toBe(255);
  expect(nextFixedStartMs(createFixedRate(small, [0, 100]))).toBe(4_000);
  expect(nextFixedStartMs(createFixedRate({ count: 256, perMs: 256 }, [0, 3]))).toBe(2);
  expect(nextFixedStartMs(createFixedRate({ count: 10, perMs: 1_000 }, [0, 199]))).toBe(200);
  expect(nextFixedStartMs(createFixedRate({ count: 10, perMs: 1_000 }, [0, 200]))).toBe(300);
  expect([slower(large, small), slower(small, large)]).toEqual([small, small]);
  expect([slower(undefined, large), slower(large, undefined)]).toEqual([large, large]);
});
