import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/brand/json-object.ts';
import { numberPaths, shapeOf } from '../../src/brand/shape.ts';
import { valueAt } from '../../src/collector/fields/enriched-columns.ts';

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

describe('numberPaths', () => {
  it('is the same for answers with the same paths, and another for others', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const leaf = fc.constantFrom(1, null, []);
    const inner = fc.dictionary(name, fc.oneof(leaf, fc.dictionary(name, leaf)));
    const answer = fc.dictionary(name, fc.oneof(leaf, inner));
    fc.assert(
      fc.property(answer, answer, (one, other) => {
        const [number, otherNumber] = [one, other].map((each) => numberPaths(JSON.stringify(each)));
        const [names, otherNames] = [one, other].map(namesIn);
        expect(number === otherNumber).toBe(names === otherNames);
      }),
    );
  });

  it('says of none, and of more than 2,000 names or very long ones, that they are that', () => {
    const wide = (names: number, length = 1): JsonObject =>
      Object.fromEntries(
        Array.from({ length: names }, (_, at) => [`${at}`.padEnd(length, '-'), 1]),
      );
    const numberOf = (answer: unknown): number => numberPaths(JSON.stringify(answer));
    expect(['', '[]', '{}', 'x'].map(numberPaths)).toEqual([0, 0, 0, 0]);
    expect(numberOf(wide(2_000))).toBeGreaterThan(1);
    expect(numberOf(wide(2_001))).toBe(1);
    expect(numberOf({ a: wide(1_000), b: wide(999) })).toBe(1);
    expect(numberOf(wide(101, 1_000))).toBe(1);
  });
});

/** All names, as they are nested. */
function namesIn(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value : 0,
  );
}
