import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Budget,
  type CallLedger,
  createSharedBudget,
  isUsedUp,
  type Permit,
  windowAt,
} from '../../src/guard/budget.ts';
import { createGate } from '../support/gate.ts';
import { createTestLedger } from './ledgers.ts';

const never = new AbortController().signal;
const DAY_MS = 86_400_000;
const NIGHT = Date.UTC(2026, 10, 21, 23, 59, 59);
const MIDNIGHT = Date.UTC(2026, 10, 22);

async function reserve(budget: Budget): Promise<Permit> {
  const reserved = await budget.acquire(never);
  if (isUsedUp(reserved)) throw new Error(`used up: ${reserved.reason}`);
  return reserved;
}

/** Spends calls until there are none, at most so many. */
async function spend(budget: Budget, most = 10_000): Promise<number> {
  for (let spent = 0; spent < most; spent += 1) {
    const reserved = await budget.acquire(never);
    if (isUsedUp(reserved)) return spent;
    reserved.spend();
  }
  return most;
}

describe('a budget that runs share', () => {
  it('is used up to the last call by one run, and says when there will be more', async () => {
    const { ledger } = createTestLedger({ count: 1_234, unit: 'day' }, () => NIGHT);
    const budget = createSharedBudget({ ledger, now: () => NIGHT });
    expect(await spend(budget)).toBe(1_234);
    expect(await budget.acquire(never)).toEqual({
      reason: 'max_calls_per',
      comeBackAtMs: MIDNIGHT,
    });
  });

  it('holds the price of a call until its answer says what it cost, and is kept to the unit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 1, max: 9 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (count, price, shares) => {
          const { ledger, taken } = createTestLedger({ count, unit: 'day' }, () => NIGHT);
          const options = { ledger, now: () => NIGHT, price };
          const budget = createSharedBudget({ ...options, costOf: (cost = price) => cost });
          let spent = 0;
          let isOver = false;
          for (let call = 0; call < 1_000; call += 1) {
            const permit = await budget.acquire(never);
            isOver = isUsedUp(permit);
            if (isUsedUp(permit)) break;
            const share: number = shares.next().value;
            const cost = share < 0.9 ? Math.floor(share * (price + 1)) : undefined;
            permit.spend(cost);
            spent += cost ?? price;
          }
          expect(spent).toBeLessThanOrEqual(count);
          if (isOver) expect(spent).toBeGreaterThan(count - price);
          await budget.close();
          expect([...taken.values()].reduce((sum, each) => sum + each, 0)).toBe(spent);
        },
      ),
    );
  });

  it('gives back less where a call cost more than its price', async () => {
    const { ledger, taken } = createTestLedger({ count: 100, unit: 'day' }, () => NIGHT);
    const options = { ledger, now: () => NIGHT, price: 2 };
    const budget = createSharedBudget({ ...options, costOf: (cost = 2) => cost });
    (await reserve(budget)).spend(31);
    await budget.close();
    expect([...taken.values()]).toEqual([31]);
  });

  it('begins anew with the next window', async () => {
    let nowMs = NIGHT;
    const now = (): number => nowMs;
    const { ledger, taken } = createTestLedger({ count: 100, unit: 'day' }, now);
    const budget = createSharedBudget({ ledger, now });
    expect(await spend(budget)).toBe(100);
    nowMs = MIDNIGHT;
    expect(await spend(budget)).toBe(100);
    expect([...taken.values()]).toEqual([100, 100]);
  });

  it('does not let calls of a window be made in the next one', async () => {
    let nowMs = NIGHT;
    const now = (): number => nowMs;
    const { ledger, taken } = createTestLedger({ count: 100, unit: 'day' }, now);
    const budget = createSharedBudget({ ledger, now });
    const waited = await reserve(budget);
    expect(waited.isGood()).toBe(true);
    nowMs = MIDNIGHT;
    expect(waited.isGood()).toBe(false);
    waited.release();
    expect(await spend(budget)).toBe(100);
    expect(taken.get('2026-11-22')).toBe(100);
  });

  it('goes by the clock of the ledger, not by its own', async () => {
    const AHEAD_MS = 3 * DAY_MS;
    let nowMs = NIGHT;
    const { ledger } = createTestLedger({ count: 5, unit: 'day' }, () => nowMs);
    const budget = createSharedBudget({ ledger, now: () => nowMs + AHEAD_MS });
    const waited = await reserve(budget);
    nowMs = MIDNIGHT - 1;
    expect(waited.isGood()).toBe(true);
    nowMs = MIDNIGHT;
    expect(waited.isGood()).toBe(false);
  });

  it('takes one block more, not all, after a ledger that was long in answering', async () => {
    let nowMs = NIGHT;
    const { ledger: real, taken } = createTestLedger({ count: 500, unit: 'day' }, () => nowMs);
    let trips = 0;
    const ledger: CallLedger = {
      ...real,
      take: async (signal) => {
        trips += 1;
        if (trips > 5) throw new Error('asked again and again');
        if (trips === 1) nowMs += 800; // of the last second
        return await real.take(signal);
      },
    };
    const budget = createSharedBudget({ ledger, now: () => nowMs });
    expect(await spend(budget, 3)).toBe(3);
    expect([...taken.values()]).toEqual([20]);
  });

  it('goes on with its window when its clock is set forward', async () => {
    let aheadMs = 0;
    const { ledger: real, taken } = createTestLedger({ count: 500, unit: 'day' }, () => NIGHT);
    let trips = 0;
    const ledger: CallLedger = {
      ...real,
      take: async (signal) => {
        trips += 1;
        if (trips > 5) throw new Error('asked again and again');
        return await real.take(signal);
      },
    };
    const budget = createSharedBudget({ ledger, now: () => NIGHT + aheadMs });
    expect(await spend(budget, 3)).toBe(3);
    aheadMs = DAY_MS;
    expect(await spend(budget, 17)).toBe(17);
    expect([...taken.values()]).toEqual([20]);
  });

  it('waits for calls under way that may come back before it says no', async () => {
    const { ledger } = createTestLedger({ count: 1, unit: 'day' });
    const budget = createSharedBudget({ ledger, now: () => 0 });
    const first = await reserve(budget);
    let second: object | undefined;
    const waiting = budget.acquire(never).then((reserved) => {
      second = reserved;
    });
    await nextTurn();
    expect(second).toBeUndefined();
    first.release();
    await waiting;
    expect(second).toHaveProperty('spend');
  });

  it('gives back what it took and did not use, so that others can', async () => {
    const { ledger, taken } = createTestLedger({ count: 500, unit: 'day' });
    const one = createSharedBudget({ ledger, now: () => 0 });
    expect(await spend(one, 3)).toBe(3);
    expect([...taken.values()]).toEqual([10]);
    await one.close();
    await one.close();
    expect([...taken.values()]).toEqual([3]);
    expect(await spend(createSharedBudget({ ledger, now: () => 0 }))).toBe(497);
  });

  it('is closed only when its calls are given back, those included that were under way to it', async () => {
    const { ledger: real, taken } = createTestLedger({ count: 500, unit: 'day' });
    const [answered, accepted] = [createGate(), createGate()];
    const ledger: CallLedger = {
      ...real,
      take: async (signal) => {
        const got = await real.take(signal);
        await answered.opened;
        return got;
      },
      giveBack: async (calls, window) => {
        await accepted.opened;
        await real.giveBack(calls, window);
      },
    };
    const budget = createSharedBudget({ ledger, now: () => 0 });
    const stop = new AbortController();
    const waiting = budget.acquire(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    let takenAtClose: number[] | undefined;
    const closed = budget.close().then(() => {
      takenAtClose = [...taken.values()];
    });
    answered.open();
    await nextTurn();
    expect([takenAtClose, ...taken.values()]).toEqual([undefined, 10]);
    accepted.open();
    await closed;
    expect(takenAtClose).toEqual([0]);
  });

  it('gives back at once what was reserved for calls that are not made, though it goes on', async () => {
    const { ledger, taken } = createTestLedger({ count: 40, unit: 'day' });
    const budget = createSharedBudget({ ledger, now: () => 0 });
    const all: Permit[] = [];
    for (let i = 0; i < 40; i += 1) all.push(await reserve(budget));
    const [made, ...notMade] = all;
    for (const one of notMade) one.release();
    expect([...taken.values()]).toEqual([40]);
    made?.spend();
    (await reserve(budget)).release();
    await nextTurn();
    expect([...taken.values()]).toEqual([1]);
    expect(await spend(createSharedBudget({ ledger, now: () => 0 }))).toBe(39);
    expect(await budget.acquire(never)).toMatchObject({ reason: 'max_calls_per' });
  });

  it('does not go to the ledger for a call that is reserved anew at once', async () => {
    const { ledger: real } = createTestLedger({ count: 500, unit: 'day' });
    const trips: string[] = [];
    const ledger: CallLedger = {
      ...real,
      take: (signal) => {
        trips.push('take');
        return real.take(signal);
      },
      giveBack: (calls, window) => {
        trips.push(`give back ${calls}`);
        return real.giveBack(calls, window);
      },
    };
    const budget = createSharedBudget({ ledger, now: () => 0 });
    for (let call = 0; call < 10; call += 1) {
      budget.tryAcquire()?.release(); // it is not its turn
      const reserved = await reserve(budget);
      await nextTurn();
      reserved.spend();
    }
    expect(trips).toEqual(['take']);
  });

  it('gives back what is left once no call was reserved for some seconds', async () => {
    const { ledger, taken } = createTestLedger({ count: 500, unit: 'day' });
    const timers: (() => void)[] = [];
    const later = (work: () => void, ms: number): void => {
      expect(ms).toBe(5_000);
      timers.push(work);
    };
    const budget = createSharedBudget({ ledger, now: () => 0, later });
    expect(await spend(budget, 3)).toBe(3);
    expect(timers).toHaveLength(1);
    timers.shift()?.(); // calls were made since it was set
    await nextTurn();
    expect([...taken.values()]).toEqual([10]);
    timers.shift()?.();
    await nextTurn();
    expect([[...taken.values()], timers]).toEqual([[3], []]);
    expect(await spend(budget, 12)).toBe(12);
    expect([...taken.values()]).toEqual([23]);
  });

  it('gives nothing back to a window that is over', async () => {
    let nowMs = NIGHT;
    const now = (): number => nowMs;
    const { ledger, taken } = createTestLedger({ count: 500, unit: 'day' }, now);
    const budget = createSharedBudget({ ledger, now });
    await spend(budget, 3);
    nowMs = MIDNIGHT;
    await budget.close();
    expect([...taken.values()]).toEqual([10]);
  });

  it('wastes one block at most when its process is killed', async () => {
    const { ledger } = createTestLedger({ count: 500, unit: 'day' });
    await spend(createSharedBudget({ ledger, now: () => 0 }), 3); // never closed
    expect(await spend(createSharedBudget({ ledger, now: () => 0 }))).toBe(490);
  });

  it('sends home who waits for a ledger that does not answer, when the run stops', async () => {
    const stop = new AbortController();
    const { ledger: real } = createTestLedger({ count: 1, unit: 'day' });
    const ledger = { ...real, take: () => new Promise<never>(() => {}) };
    const waiting = createSharedBudget({ ledger, now: () => 0 }).acquire(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });

  it('is passed by no number of runs at the same time, in any window, whatever comes of the calls', async () => {
    const step = fc.record({
      run: fc.nat(3),
      turns: fc.nat(4),
      passesMs: fc.constantFrom(0, 0, 0, 0, 20_000),
      isGivenBack: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.array(step, { maxLength: 150 }),
        async (count, steps) => {
          let nowMs = NIGHT;
          const now = (): number => nowMs;
          const { ledger, taken } = createTestLedger({ count, unit: 'minute' }, now);
          const runs = [0, 1, 2, 3].map(() => createSharedBudget({ ledger, now }));
          const made = new Map<number, number>();
          await Promise.all(
            steps.map(async ({ run, turns, passesMs, isGivenBack }) => {
              const reserved = await runs[run]?.acquire(never);
              if (!reserved || isUsedUp(reserved)) return;
              for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
              nowMs += passesMs;
              if (!reserved.isGood()) return reserved.release();
              const minute = Math.floor(nowMs / 60_000);
              if (!isGivenBack) made.set(minute, (made.get(minute) ?? 0) + 1);
              if (isGivenBack) reserved.release();
              else reserved.spend();
            }),
          );
          for (const calls of made.values()) expect(calls).toBeLessThanOrEqual(count);
          await Promise.all(runs.map((run) => run.close()));
          // What is given back is counted no more, and what was made stays counted.
          const minute = new Date(nowMs).toISOString().slice(0, 16);
          expect(taken.get(minute) ?? 0).toBe(made.get(Math.floor(nowMs / 60_000)) ?? 0);
        },
      ),
    );
  });
});

describe('a calendar window', () => {
  it.each([
    ['minute', '2026-12-31T23:59:30.500Z', '2026-12-31T23:59', '2027-01-01T00:00:00.000Z'],
    ['hour', '2026-03-29T01:30:00.000Z', '2026-03-29T01', '2026-03-29T02:00:00.000Z'],
    ['day', '2026-11-21T00:00:00.000Z', '2026-11-21', '2026-11-22T00:00:00.000Z'],
    ['day', '2024-02-28T23:59:59.999Z', '2024-02-28', '2024-02-29T00:00:00.000Z'],
    ['month', '2026-12-31T12:00:00.000Z', '2026-12', '2027-01-01T00:00:00.000Z'],
    ['month', '2024-02-29T12:00:00.000Z', '2024-02', '2024-03-01T00:00:00.000Z'],
  ] as const)('of one %s at %s is %s and ends at %s', (unit, now, id, end) => {
    const window = windowAt(unit, Date.parse(now));
    expect(window.id).toBe(id);
    expect(new Date(window.endsAtMs).toISOString()).toBe(end);
  });
});
