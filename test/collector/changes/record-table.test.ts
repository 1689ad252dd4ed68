import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecordTable } from '../../../src/collector/changes/change-finder.ts';

/** Identities that often meet in their first word, or altogether. */
const identity = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 2 }));

describe('createRecordTable', () => {
  it('gives each record once, to an identity that is its own, the first of those left', () => {
    fc.assert(
      fc.property(fc.array(identity), fc.array(identity), (records, rows) => {
        const table = createRecordTable(new Uint32Array(records.flat()));
        const left = new Set(records.keys());
        for (const [low, high] of rows) {
          const isIt = (record: number): boolean =>
            records[record]?.[0] === low && records[record]?.[1] === high;
          const first = [...left].find(isIt) ?? -1;
          expect(table.take(low, high)).toBe(first);
          left.delete(first);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('gives records of one identity in their order', () => {
    const table = createRecordTable(new Uint32Array([7, 7, 1, 1, 7, 7, 7, 7]));
    expect([7, 7, 7, 7].map((word) => table.take(word, word))).toEqual([0, 2, 3, -1]);
    expect(table.take(1, 1)).toBe(1);
    expect(table.take(1, 1)).toBe(-1);
  });

  it('gives the first of one identity first, also behind a row that has moved', () => {
    const table = createRecordTable(new Uint32Array([7, 7, 1, 1, 7, 7]));
    expect([1, 7, 7].map((word) => table.take(word, word))).toEqual([1, 0, 2]);
  });
});
