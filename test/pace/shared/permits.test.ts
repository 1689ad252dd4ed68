import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permitsFor } from '../../../src/pace/shared/permits.ts';
import type { WorkerShare } from '../../../src/pace/shared/state.ts';

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
