import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Shape } from '../../../src/brand/shape.ts';
import { rankPaths, type ShapeUse } from '../../../src/collector/fields/rank-paths.ts';

/** Ranks the names of shapes, each of which so many rows have; they come in this order. */
function rank(
  shapes: readonly (readonly [rows: number, ...names: string[]])[],
  most = 100,
  filledShareOf?: (path: readonly string[]) => number,
): readonly string[] {
  const known = shapes.map(([, ...names]): Shape => names.map((name) => name.split('.')));
  let firstRow = 1;
  const uses = shapes.map(([rows], id): [number, ShapeUse] => {
    firstRow += rows;
    return [id, { firstRow, rows }];
  });
  const { paths, isCut } = rankPaths(new Map(uses), {
    findShape: (id) => known[id],
    most,
    ...(filledShareOf && { filledShareOf }),
  });
  return [...paths.map((path) => path.join('.')), ...(isCut ? ['…'] : [])];
}

describe('rankPaths', () => {
  it('puts what most rows have first, over all shapes that have it', () => {
    expect(
      rank([
        [3, 'rare', 'name', 'at.city'],
        [2, 'name', 'tags'],
        [2, 'at.city', 'name', 'tags'],
      ]),
    ).toEqual(['name', 'at.city', 'tags', 'rare']);
  });

  it('keeps the order of the answers among those that as many rows have', () => {
    const shapes = [
      [1, 'name', 'zip'],
      [1, 'name', 'at.city', 'zip'],
    ] as const;
    expect(rank([[5, 'c', 'a', 'b']])).toEqual(['c', 'a', 'b']);
    expect(rank(shapes)).toEqual(['name', 'zip', 'at.city']);
  });

  it('counts no row that has nothing there', () => {
    const shares: Readonly<Record<string, number>> = { a: 0, b: 0.5 };
    const filled = ([name = '']: readonly string[]): number => shares[name] ?? 1;
    expect(
      rank(
        [
          [10, 'a', 'b', 'c'],
          [6, 'd'],
        ],
        100,
        filled,
      ),
    ).toEqual(['c', 'd', 'b', 'a']);
  });

  it('has no more than are wanted, and says that there are others', () => {
    expect(
      rank(
        [
          [2, 'a', 'b', 'c'],
          [1, 'c'],
        ],
        2,
      ),
    ).toEqual(['c', 'a', '…']);
    expect(rank([[2, 'a', 'b']], 2)).toEqual(['a', 'b']);
    expect(rank([], 2)).toEqual([]);
  });

  it('finds what most rows have among more names than can be counted', () => {
    const odd = Array.from({ length: 3_000 }, (_, at) => [
      1,
      ...Array.from({ length: 10 }, (_, name) => `odd.${at}-${name}`),
      ...(at % 3 === 0 ? ['name'] : []),
    ]) as [number, ...string[]][];
    const [first, ...others] = rank([[50, 'domain'], ...odd], 10);
    expect([first, others[0]]).toEqual(['name', 'domain']);
    expect(others.at(-1)).toBe('…');
  });

  it('says of how many rows it does not know the paths', () => {
    const uses = new Map([
      [7, { firstRow: 1, rows: 3 }],
      [8, { firstRow: 2, rows: 2 }],
    ]);
    const findShape = (id: number): Shape | undefined => (id === 7 ? [['name']] : undefined);
    expect(rankPaths(uses, { findShape, most: 9 })).toEqual({
      paths: [['name']],
      isCut: true,
      unshapedRows: 2,
    });
  });

  it('has each path once, none before one that more rows have', () => {
    const shape = fc.tuple(fc.nat(9), fc.uniqueArray(fc.constantFrom('a', 'b', 'c.d', 'c.e')));
    fc.assert(
      fc.property(fc.array(shape), (shapes) => {
        const counts = new Map<string, number>();
        for (const [rows, names] of shapes)
          for (const name of names) counts.set(name, (counts.get(name) ?? 0) + rows);
        const ranked = rank(shapes.map(([rows, names]) => [rows, ...names]));
        expect([...ranked].sort()).toEqual([...counts.keys()].sort());
        const rows = ranked.map((name) => counts.get(name) ?? 0);
        expect(rows).toEqual([...rows].sort((one, other) => other - one));
      }),
    );
  });
});
