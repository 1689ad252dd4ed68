import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Rate } from '../../../src/pace/rate.ts';
import { permitsFor } from '../../../src/pace/shared/lease.ts';
import {
  createSharedRateLimiter,
  type SharedRateLimiter,
} from '../../../src/pace/shared/rate-limiter.ts';
import type { WorkerShare } from '../../../src/pace/shared/state.ts';
import { createRandom } from '../../support/random.ts';
import { openState, passed } from './states.ts';

function share(fields: Partial<WorkerShare>): WorkerShare {
  return {
    seenMs: 0,
    callers: 64,
    inFlight: 0,
    wanted: 64,
    starts: 0,
    permits: 0,
    cutMs: 0,
    ...fields,
  };
}

/** Lets workers come in a certain order, each using what it is given. */
function come(workers: Record<string, WorkerShare>, names: readonly string[], most: number): void {
  for (const [index, name] of names.entries()) {
    const mine = workers[name];
    if (!mine) continue;
    const permits = permitsFor(name, workers, { most, nowMs: index * 180 });
    mine.permits = permits;
    mine.inFlight = Math.min(mine.wanted, permits ?? mine.wanted);
  }
}

describe('permits', () => {
  it('are without a bound when there is none', () => {
    const workers = { a: share({}) };
    expect(permitsFor('a', workers, { most: Number.POSITIVE_INFINITY, nowMs: 0 })).toBeNull();
  });

  it('all go to the only one who wants them', () => {
    const workers = { a: share({}), b: share({ wanted: 0 }) };
    expect(permitsFor('a', workers, { most: 10, nowMs: 0 })).toBe(10);
  });

  it('are given back by whoever has more than its share, and only then given to others', () => {
    const workers = { a: share({ permits: 10, inFlight: 10 }), b: share({}) };
    expect(permitsFor('b', workers, { most: 10, nowMs: 0 })).toBe(0);
    come(workers, ['a', 'b'], 10);
    expect([workers.a.permits, workers.b.permits]).toEqual([5, 5]);
  });

  it('are shared by those that want some', () => {
    const workers = {
      a: share({ permits: 12, inFlight: 12 }),
      b: share({}),
      c: share({ wanted: 0 }),
    };
    expect(permitsFor('a', workers, { most: 12, nowMs: 0 })).toBe(6);
  });

  it('stay with whoever has them while nobody is short of any', () => {
    const workers = {
      a: share({ permits: 10, inFlight: 10 }),
      b: share({ wanted: 2, permits: 2, inFlight: 2 }),
    };
    expect(permitsFor('a', workers, { most: 12, nowMs: 0 })).toBe(10);
  });

  it('are held for what began, or is about to, without one', () => {
    const workers = { a: share({}), b: share({ permits: null, inFlight: 7, starts: 2 }) };
    expect(permitsFor('a', workers, { most: 10, nowMs: 0 })).toBe(1);
  });

  it('are all given in each turn, whoever came first', () => {
    const names = ['a', 'b', 'c'];
    const given = (order: readonly string[]): (number | null)[] => {
      const workers = Object.fromEntries(order.map((name) => [name, share({})]));
      return names.map((name) => permitsFor(name, workers, { most: 2, nowMs: 0 }));
    };
    expect(given(names).reduce((sum, each) => Number(sum) + Number(each), 0)).toBe(2);
    expect(given(['c', 'a', 'b'])).toEqual(given(names));
  });

  it('go round when there are fewer than workers', () => {
    const names = ['a', 'b', 'c', 'd'];
    const workers = Object.fromEntries(names.map((name) => [name, share({})]));
    const had = new Set<string>();
    for (let nowMs = 0; nowMs < 60_000; nowMs += 45) {
      const name = names[(nowMs / 45) % 4] ?? '';
      const mine = workers[name];
      if (!mine) continue;
      mine.permits = permitsFor(name, workers, { most: 1, nowMs });
      mine.inFlight = mine.permits ?? 0;
      if (mine.inFlight > 0) had.add(name);
    }
    expect(had.size).toBe(4);
  });

  it('are never more than there are, whoever comes when and wants what', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 64 })), {
          maxLength: 60,
        }),
        (most, visits) => {
          const workers: Record<string, WorkerShare> = {};
          for (const [index, [name, wanted]] of visits.entries()) {
            const mine = share({ ...workers[name], wanted });
            workers[name] = mine;
            mine.permits = permitsFor(name, workers, { most, nowMs: index * 100 });
            mine.inFlight = Math.min(wanted, mine.permits ?? 0);
            const held = Object.values(workers).reduce((sum, each) => sum + (each.permits ?? 0), 0);
            expect(held).toBeLessThanOrEqual(most);
          }
        },
      ),
    );
  });
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RUN_MS = 30_000;
const TEN_A_SECOND: Rate = { count: 10, perMs: 1_000 };
const TWENTY_A_SECOND: Rate = { count: 20, perMs: 1_000 };
const FIFTY_A_SECOND: Rate = { count: 50, perMs: 1_000 };
const THREE_HUNDRED_A_MINUTE: Rate = { count: 300, perMs: 60_000 };

describe('a fixed rate that workers share', () => {
  it.each([
    { rate: TEN_A_SECOND, workers: 3, callers: 4, callMs: 1_000 },
    { rate: FIFTY_A_SECOND, workers: 4, callers: 8, callMs: 600 },
    { rate: TWENTY_A_SECOND, workers: 8, callers: 1, callMs: 350 },
    { rate: THREE_HUNDRED_A_MINUTE, workers: 3, callers: 8, callMs: 4_000 },
    { rate: FIFTY_A_SECOND, workers: 2, callers: 32, callMs: 100 },
  ])(
    'is held and kept to where $workers times $callers callers are enough for it',
    async ({ rate, ...fleet }) => {
      const startsMs = await callAll(rate, fleet);
      const expected = (RUN_MS / rate.perMs) * rate.count;
      expect(startsMs.length).toBeGreaterThan(0.93 * expected);
      expect(mostWithin(startsMs, rate.perMs)).toBeLessThanOrEqual(1.1 * rate.count);
    },
  );
});

interface Fleet {
  readonly workers: number;
  readonly callers: number;
  readonly callMs: number;
}

/** When calls were made by callers that do nothing else for half a minute. */
async function callAll(rate: Rate, { workers, callers, callMs }: Fleet): Promise<number[]> {
  const random = createRandom(7);
  const stored = openState();
  const startsMs: number[] = [];
  const endMs = Date.now() + RUN_MS;
  const keepCalling = async (limiter: SharedRateLimiter): Promise<void> => {
    const { signal } = new AbortController();
    while (Date.now() < endMs) {
      await limiter.acquire(signal);
      const sentAtMs = Date.now();
      if (sentAtMs < endMs) startsMs.push(sentAtMs);
      await passed(callMs * (0.7 + 0.6 * random()));
      limiter.release({ kind: 'accepted', sentAtMs });
    }
  };
  const fleet = Array.from({ length: workers }, (_, index) =>
    createSharedRateLimiter({
      stored,
      worker: `worker ${index}`,
      callers,
      rate,
      maxOutageMs: 3_600_000,
      onOutageTooLong: () => {},
      clock: { nowMs: () => Date.now(), sleep: async () => {} },
      random,
    }),
  );
  for (const limiter of fleet) {
    for (let caller = 0; caller < callers; caller += 1) void keepCalling(limiter);
  }
  await vi.advanceTimersByTimeAsync(RUN_MS);
  const closed = Promise.all(fleet.map((limiter) => limiter.close()));
  await vi.advanceTimersByTimeAsync(2_000);
  await closed;
  return startsMs;
}

/** The most of them in any window that is so long. */
function mostWithin(startsMs: readonly number[], windowMs: number): number {
  let from = 0;
  return startsMs.reduce((most, startMs, index) => {
    while (startMs - (startsMs[from] ?? 0) >= windowMs) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}
