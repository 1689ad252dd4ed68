import { describe, expect, it } from 'vitest';
import { produce } from '../../src/collector/produce.ts';
import type { IndexedKind, RowIndex } from '../../src/collector/row-index.ts';
import type { Chunk } from '../../src/queue/lookup-queue.ts';

function indexOf(rows: readonly (readonly [IndexedKind, string])[]): Pick<RowIndex, 'read'> {
  return {
    read: async function* () {
      for (const [kind, text] of rows) yield [{ kind, text, sizeBytes: 1, fields: 1 }];
    },
  };
}

async function producing(
  rows: readonly (readonly [IndexedKind, string])[],
  {
    fresh = [] as readonly string[],
    abortAt = Number.POSITIVE_INFINITY,
    abortAtRow = Number.POSITIVE_INFINITY,
    maxLookups = Number.POSITIVE_INFINITY,
  } = {},
) {
  const chunks: Chunk[] = [];
  const outstanding = new Set<string>();
  const aborter = new AbortController();
  let hasEnded = false;
  let asked = 0;
  const isComplete = await produce({
    maxLookups,
    index: indexOf(rows),
    queue: {
      add: async (chunk) => {
        chunks.push(chunk);
        if (chunks.length === abortAt) aborter.abort();
      },
      end: () => {
        hasEnded = true;
      },
      work: async () => {},
      settled: async () => {},
      close: async () => {},
    },
    outstanding,
    isFresh: (domain) => {
      asked += 1;
      if (asked === abortAtRow) aborter.abort();
      return fresh.includes(domain);
    },
    chunkSize: 2,
    signal: aborter.signal,
  });
  return {
    chunks: chunks.map(({ domains }) => domains),
    hasEnded,
    isComplete,
    outstanding: [...outstanding],
  };
}

describe('produce', () => {
  it('puts each domain that is due on the queue once, in the order of the rows', async () => {
    const { chunks, hasEnded } = await producing(
      [
        ['due', 'a.com'],
        ['known', 'b.com'],
        ['due', 'a.com'],
        ['invalid', 'empty'],
        ['blank', ''],
        ['due', 'c.com'],
        ['due', 'd.com'],
        ['due', 'e.com'],
      ],
      { fresh: ['d.com'] },
    );
    expect(chunks).toEqual([['a.com', 'c.com'], ['e.com']]);
    expect(hasEnded).toBe(true);
  });

  it('stops when told to, and ends the queue', async () => {
    const rows = Array.from({ length: 20 }, (_, at) => ['due', `c${at}.com`] as const);
    const { chunks, hasEnded } = await producing(rows, { abortAt: 2 });
    expect(chunks).toHaveLength(2);
    expect(hasEnded).toBe(true);
  });

  it('stopped while it gathers a chunk, leaves nothing on its way that it has not given out', async () => {
    const rows = Array.from({ length: 20 }, (_, at) => ['due', `c${at}.com`] as const);
    const { chunks, outstanding } = await producing(rows, { abortAtRow: 5 });
    expect(outstanding).toEqual(chunks.flat());
  });
});
