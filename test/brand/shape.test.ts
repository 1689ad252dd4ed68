import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createShapeFinder, shapeOf } from '../../src/brand/shape.ts';
import { valueAt } from '../../src/collector/fields/flatten.ts';

const NESTED = { a: 1, b: { c: [1, { d: 2 }], e: { f: null } }, 'x.y': { ' ': '' }, g: {} };

describe('shapeOf', () => {
  it('has the path of each value, in the order of the answer; lists are values', () => {
    expect(shapeOf(NESTED)).toEqual([['a'], ['b', 'c'], ['b', 'e', 'f'], ['x.y', ' ']]);
  });

  it('leaves objects whole that lie deeper than eight levels', () => {
    const deep = { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } };
    const [path] = shapeOf(deep);
    expect(path).toHaveLength(8);
    expect(valueAt(deep, path ?? [])).toEqual({ i: 1 });
  });
});

describe('createShapeFinder', () => {
  it('finds what shapeOf finds, whatever came before', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const leaf = fc.constantFrom(1, null, []);
    const inner = fc.dictionary(name, fc.oneof(leaf, fc.dictionary(name, leaf)));
    const answer = fc.dictionary(name, fc.oneof(leaf, inner));
    fc.assert(
      fc.property(fc.array(answer, { minLength: 2 }), (answers) => {
        const find = createShapeFinder();
        for (const each of answers) expect(find(each)).toEqual(shapeOf(each));
      }),
    );
  });

  it('gives the same object for the same columns, also with others between', () => {
    const find = createShapeFinder();
    const first = find({ a: 1, b: { c: 2 } });
    expect(find({ a: { b: 1 } })).not.toBe(first);
    expect(find({ a: 'x', b: { c: null } })).toBe(first);
  });
});
