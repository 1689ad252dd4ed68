import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createDistinctDomains,
  createDomainRows,
  createHashTable,
} from '../../src/producer/distinct-domains.ts';
import { useTempFolder } from '../support/temp-folder.ts';

async function distinctOf(batches: readonly (readonly string[])[], mostInMemory?: number) {
  const domains = await createDistinctDomains(
    useTempFolder(),
    mostInMemory === undefined ? {} : { mostInMemory },
  );
  onTestFinished(() => domains.close());
  for (const batch of batches) await domains.add(batch);
  const count = await domains.settle();
  const read: string[] = [];
  for await (const batch of domains.read()) read.push(...batch);
  return { count, read };
}

describe('distinct domains', () => {
  it('come out once, in the order they came in', async () => {
    const { count, read } = await distinctOf([['b.com', 'a.com'], ['b.com', 'c.com'], []]);
    expect(read).toEqual(['b.com', 'a.com', 'c.com']);
    expect(count).toBe(3);
  });

  it('are none when none came in', async () => {
    expect(await distinctOf([])).toEqual({ count: 0, read: [] });
  });

  it('are all there when there are more than fit in memory', async () => {
    const all = Array.from({ length: 5_000 }, (_, at) => `company-${at}.com`);
    const { count, read } = await distinctOf([all, all.toReversed(), all], 1_000);
    expect(count).toBe(5_000);
    expect(read.slice(0, 1_000)).toEqual(all.slice(0, 1_000));
    expect(read.toSorted()).toEqual(all.toSorted());
  });

  it('are those of a set, whatever comes in and however much fits in memory', async () => {
    const name = fc.integer({ min: 0, max: 40 }).map((number) => `n${number}.com`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(name, { maxLength: 30 }), { maxLength: 5 }),
        fc.integer({ min: 0, max: 20 }),
        async (batches, mostInMemory) => {
          const { count, read } = await distinctOf(batches, mostInMemory);
          const expected = [...new Set(batches.flat())].toSorted();
          expect(read.toSorted()).toEqual(expected);
          expect(count).toBe(expected.length);
        },
      ),
      { numRuns: 6 },
    );
  });
});

it('knows how many rows have a domain, also while it grows', () => {
  const { again, rowsOf } = createDomainRows();
  const rowsAt = (at: number): number => 1 + (at % 4);
  for (let at = 0; at < 50_000; at += 1) {
    for (let row = 1; row < rowsAt(at); row += 1) again(`company-${at}.com`);
  }
  const all = Array.from({ length: 50_000 }, (_, at) => at);
  expect(all.filter((at) => rowsOf(`company-${at}.com`) !== rowsAt(at))).toEqual([]);
  expect(rowsOf('another.com')).toBe(1);
});

describe('createHashTable', () => {
  it('counts each text once, also while it grows', () => {
    const table = createHashTable();
    const texts = Array.from({ length: 20_000 }, (_, at) => `company-${at}.com`);
    expect(texts.filter((text) => !table.add(text))).toEqual([]);
    expect(texts.filter((text) => table.add(text))).toEqual([]);
    expect(table.size).toBe(20_000);
  });

  it('tells apart what differs in one character only, or in length', () => {
    const table = createHashTable();
    const texts = ['', 'a', 'aa', 'ab', 'ba', '\0', '\0\0', 'é', 'e'];
    expect(texts.map((text) => table.add(text))).toEqual(texts.map(() => true));
  });
});
