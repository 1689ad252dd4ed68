import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/brand/json-object.ts';
import { createShapeFinder, shapeOf } from '../../src/brand/shape.ts';
import { valueAt } from '../../src/collector/fields/rank-paths.ts';

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

  it('finds none when there are more than 2,000 names, or very long ones', () => {
    const find = createShapeFinder();
    const wide = (names: number, length = 1): JsonObject =>
      Object.fromEntries(
        Array.from({ length: names }, (_, at) => [`${at}`.padEnd(length, '-'), 1]),
      );
    expect(find(wide(2_000))).toHaveLength(2_000);
    expect(find(wide(2_001))).toBeUndefined();
    expect(find({ a: wide(1_000), b: wide(998) })).toHaveLength(1_998);
    expect(find({ a: wide(1_000), b: wide(999) })).toBeUndefined();
    const empty = Object.keys(wide(2_001)).map((name) => [name, {}]);
    expect(find(Object.fromEntries(empty))).toBeUndefined();
    expect(find(wide(100, 1_000))).toHaveLength(100);
    expect(find(wide(101, 1_000))).toBeUndefined();
    // The name of an object is in the path of each of its values.
    expect(find({ ['x'.repeat(1_000)]: wide(100) })).toBeUndefined();
    expect(find({ a: 1 })).toEqual([['a']]);
  });

  it('finds the same again after answers that it forgot', () => {
    const find = createShapeFinder();
    for (let at = 0; at < 20; at += 1) {
      find(Object.fromEntries(Array.from({ length: 1_500 }, (_, name) => [`${at} ${name}`, 1])));
      expect(find(NESTED)).toEqual(shapeOf(NESTED));
    }
  });
});
