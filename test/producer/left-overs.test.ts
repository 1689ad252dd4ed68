import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Database } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { linePasses, noteLeftOvers, produce } from '../../src/producer/produce.ts';
import type { IndexedKind, RowIndex } from '../../src/producer/row-index.ts';
import { NO_CLAIMS } from '../../src/store/claims/claims.ts';
import type { OutcomeHead } from '../../src/store/entries.ts';
import { createLeftOvers } from '../../src/store/notes.ts';
import { type OutcomeStore, openStore } from '../../src/store/store.ts';
import { outcomeOf } from '../store/outcomes.ts';

const never = new AbortController().signal;

type Row = readonly [IndexedKind, string];
type Kept = Pick<OutcomeStore, 'findHead' | 'put' | 'leftOvers'>;

function indexOf(rows: readonly Row[]): Pick<RowIndex, 'read'> {
  return {
    read: async function* () {
      for (const [kind, text] of rows) yield [{ kind, text, sizeBytes: 1, fields: 1 }];
    },
  };
}

/** A run that asks about as many domains as it has calls; returns them in their order. */
async function runWith(
  store: Kept,
  domains: readonly string[],
  { calls, startedAtMs }: { readonly calls: number; readonly startedAtMs: number },
): Promise<readonly string[]> {
  const index = indexOf(domains.map((domain): Row => ['due', domain]));
  const isFresh = (domain: string): boolean =>
    (store.findHead(domain)?.fetchedAtMs ?? -1) >= startedAtMs;
  const asked: string[] = [];
  const kept: Promise<void>[] = [];
  await produce({
    claims: NO_CLAIMS,
    index,
    queue: {
      add: async (chunk) => {
        for (const domain of chunk.domains) {
          asked.push(domain);
          kept.push(store.put(outcomeOf(domain, { fetchedAtMs: startedAtMs }), []));
        }
      },
      end: () => {},
      work: async () => {},
      settled: async () => {},
      close: async () => {},
    },
    outstanding: new Set(),
    isFresh,
    passes: linePasses(store.leftOvers),
    chunkSize: 1,
    maxLookups: calls,
    signal: never,
  });
  await Promise.all(kept);
  await noteLeftOvers({ index, leftOvers: store.leftOvers, isFresh, startedAtMs });
  return asked;
}

/** A store in memory: a property test has no time for a disk. */
function createMemoryStore(): Kept {
  const heads = new Map<string, OutcomeHead>();
  const since = new Map<string, number>();
  const table = {
    get: (key: string) => since.get(key),
    put: async (key: string, value: number) => since.set(key, value),
    doesExist: (key: string) => since.has(key),
    remove: async (key: string) => since.delete(key),
    getRange: () => [...since].map(([key, value]) => ({ key, value })),
  } as unknown as Database<number, string>;
  const findHead = (domain: string): OutcomeHead | undefined => heads.get(domain);
  const write = async (commit: () => Promise<unknown>): Promise<unknown> => await commit();
  return {
    findHead,
    put: async ({ domain, status, fetchedAtMs }) => {
      heads.set(domain, { status, fetchedAtMs, shapeId: 0 });
    },
    leftOvers: createLeftOvers({ table, endpointId: 'endpoint', findHead, write }),
  };
}

async function withStore(use: (store: OutcomeStore) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'brandfill-test-'));
  const store = await openStore(folder, 'endpoint');
  try {
    await use(store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

describe('what a run did not come to', () => {
  it('is asked first by the next, in the order of the rows, each domain once', async () => {
    await withStore(async (store) => {
      const run = (domains: string[], calls: number, startedAtMs: number) =>
        runWith(store, domains, { calls, startedAtMs });
      expect(await run(['a', 'b', 'c', 'd', 'b'], 2, 100)).toEqual(['a', 'b']);
      expect(await run(['new', 'd', 'a', 'c', 'd'], 3, 200)).toEqual(['d', 'c', 'new']);
      expect(store.leftOvers.times()).toEqual([200]);
      expect(await run(['new', 'd', 'a', 'c'], 9, 300)).toEqual(['a', 'new', 'd', 'c']);
      expect(store.leftOvers.times()).toEqual([]);
    });
  });

  it('waits for a run that has it in its list', async () => {
    await withStore(async (store) => {
      await runWith(store, ['a', 'b', 'c'], { calls: 1, startedAtMs: 100 });
      expect(await runWith(store, ['x', 'y'], { calls: 1, startedAtMs: 200 })).toEqual(['x']);
      expect(store.leftOvers.sinceOf('c')).toBe(100);
      const last = await runWith(store, ['x', 'y', 'c'], { calls: 2, startedAtMs: 300 });
      expect(last).toEqual(['c', 'y']);
    });
  });

  it('is no longer left over once anybody has asked', async () => {
    await withStore(async (store) => {
      await store.leftOvers.add(['a', 'b'], 100);
      await store.put(outcomeOf('a', { fetchedAtMs: 150 }), []);
      expect(store.leftOvers.sinceOf('a')).toBeUndefined();
      await store.put(outcomeOf('b', { fetchedAtMs: 50 }), []);
      expect(store.leftOvers.sinceOf('b')).toBe(100);
      await store.leftOvers.add(['a', 'b'], 200);
      expect([store.leftOvers.sinceOf('a'), store.leftOvers.sinceOf('b')]).toEqual([200, 100]);
    });
  });

  it('is told apart by API', async () => {
    await withStore(async (store) => {
      await store.leftOvers.add(['a'], 100);
      expect(store.leftOvers.times()).toEqual([100]);
      expect(linePasses(store.leftOvers)).toHaveLength(2);
    });
    const folder = mkdtempSync(join(tmpdir(), 'brandfill-test-'));
    const [one, two] = [await openStore(folder, 'one'), await openStore(folder, 'two')];
    await one.leftOvers.add(['a'], 100);
    expect([two.leftOvers.times(), two.leftOvers.sinceOf('a')]).toEqual([[], undefined]);
    await Promise.all([one.close(), two.close()]);
    rmSync(folder, { recursive: true });
  });

  it('goes out before the rest, those that wait longest first, and nothing goes out twice', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `d${at}`);
    const night = fc.record({
      list: fc.array(fc.constantFrom(...names), { maxLength: 20 }),
      calls: fc.nat(6),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(night, { minLength: 1, maxLength: 7 }), async (nights) => {
        const store = createMemoryStore();
        /** Since which night each domain has been left over, kept without the store. */
        const waiting = new Map<string, number>();
        for (const [night, { list, calls }] of nights.entries()) {
          const startedAtMs = (night + 1) * 1_000;
          const asked = await runWith(store, list, { calls, startedAtMs });
          expect(asked).toHaveLength(Math.min(calls, new Set(list).size));
          expect(new Set(asked).size).toBe(asked.length);
          const waits = [...new Set(waiting.values())].sort((a, b) => a - b);
          // Four nights are told apart, the later ones are one; all others come last.
          const rank = (domain: string): number => {
            const since = waiting.get(domain);
            return since === undefined ? 99 : Math.min(4, waits.indexOf(since));
          };
          const ranks = asked.map(rank);
          expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
          const left = [...new Set(list)].filter((domain) => !asked.includes(domain));
          for (const domain of left) {
            if (asked.length > 0) expect(rank(domain)).toBeGreaterThanOrEqual(Math.max(...ranks));
          }
          for (const domain of asked) waiting.delete(domain);
          for (const domain of left) waiting.set(domain, waiting.get(domain) ?? startedAtMs);
        }
      }),
    );
  });

  it('of a list that is always due comes round as often as the budget allows', async () => {
    const store = createMemoryStore();
    const list = Array.from({ length: 23 }, (_, at) => `d${at}`);
    const asked: string[] = [];
    for (let night = 1; night <= 12; night += 1) {
      asked.push(...(await runWith(store, list, { calls: 4, startedAtMs: night * 1_000 })));
    }
    const times = list.map((domain) => asked.filter((name) => name === domain).length);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(1);
  });
});
