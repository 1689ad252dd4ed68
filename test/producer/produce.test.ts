import { describe, expect, it } from 'vitest';
import { produce } from '../../src/producer/produce.ts';
import type { IndexedKind, RowIndex } from '../../src/producer/row-index.ts';
import type { Chunk } from '../../src/queue/lookup-queue.ts';
import { type Claims, NO_CLAIMS } from '../../src/store/claims/claims.ts';

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
    claims = NO_CLAIMS,
    onWait = (_count: number) => {},
    onItsWay = [] as readonly string[],
  } = {},
) {
  const chunks: Chunk[] = [];
  const outstanding = new Set<string>(onItsWay);
  const aborter = new AbortController();
  let hasEnded = false;
  let asked = 0;
  const isComplete = await produce({
    claims,
    onWait: (count) => {
      onWait(count);
      if (chunks.length >= abortAt) aborter.abort();
    },
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

describe('what another run has under way', () => {
  const ROWS = ['a.com', 'b.com', 'c.com', 'd.com', 'e.com'].map((name) => ['due', name] as const);

  /** Claims of a run that is over after so many looks. */
  function claimsOf(names: readonly string[], looks: number, onOver: () => void = () => {}) {
    let looked = 0;
    return {
      take: (domains: readonly string[], isDone: (domain: string) => boolean) => {
        looked += 1;
        if (looked === looks) onOver();
        const held = looked < looks ? names : [];
        const refused = domains.filter((domain) => held.includes(domain));
        const granted = domains.filter((domain) => !held.includes(domain) && !isDone(domain));
        return { granted, refused };
      },
      close: () => {},
    };
  }

  it('comes last, when that run did not do it', async () => {
    const waits: number[] = [];
    const { chunks, outstanding } = await producing(ROWS, {
      claims: claimsOf(['a.com', 'd.com'], 5),
      onWait: (count) => waits.push(count),
    });
    expect(chunks).toEqual([['b.com'], ['c.com'], ['e.com'], ['a.com', 'd.com']]);
    expect(waits).toEqual([2, 2, 0, 0]);
    expect(outstanding).toEqual(['b.com', 'c.com', 'e.com', 'a.com', 'd.com']);
  });

  it('is told of less and less while it comes back', async () => {
    const waits: number[] = [];
    const names = ROWS.map(([, name]) => name);
    await producing(ROWS, { claims: claimsOf(names, 4), onWait: (count) => waits.push(count) });
    expect(waits).toEqual([3, 1, 0, 0]);
  });

  it('is left out when that run has done it', async () => {
    const fresh: string[] = [];
    const claims = claimsOf(['a.com', 'd.com'], 5, () => fresh.push('d.com'));
    const { chunks, isComplete, outstanding } = await producing(ROWS, { fresh, claims });
    expect(chunks).toEqual([['b.com'], ['c.com'], ['e.com'], ['a.com']]);
    expect(isComplete).toBe(true);
    expect(outstanding).not.toContain('d.com');
  });

  it('does not count as given out', async () => {
    const claims = claimsOf(['a.com', 'b.com'], 2);
    const { chunks, isComplete } = await producing(ROWS, { claims, maxLookups: 3 });
    expect(chunks).toEqual([['c.com', 'd.com'], ['e.com']]);
    expect(isComplete).toBe(false);
  });

  it('makes room for others where few may be given out', async () => {
    const claims = claimsOf(['a.com'], Number.POSITIVE_INFINITY);
    const { chunks, isComplete } = await producing(ROWS, { claims, maxLookups: 1 });
    expect(chunks).toEqual([['b.com']]);
    expect(isComplete).toBe(false);
  });

  it('is not waited for by a run that is stopped', async () => {
    const claims = claimsOf(['a.com'], Number.POSITIVE_INFINITY);
    const { chunks, hasEnded, outstanding } = await producing(ROWS, { claims, abortAt: 3 });
    expect(chunks).toEqual([['b.com'], ['c.com', 'd.com'], ['e.com']]);
    expect(hasEnded).toBe(true);
    expect(outstanding).not.toContain('a.com');
  });

  it('claims what is on its way from an earlier run before all else', async () => {
    const taken: (readonly string[])[] = [];
    const claims: Claims = {
      ...NO_CLAIMS,
      take: (domains) => {
        taken.push(domains);
        return { granted: domains, refused: [] };
      },
    };
    await producing([['due', 'a.com']], { claims, onItsWay: ['a.com'] });
    expect(taken).toEqual([[]]);
  });
});
