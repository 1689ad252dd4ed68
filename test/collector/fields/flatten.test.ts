import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeOf } from '../../../src/brand/shape.ts';
import { createRest } from '../../../src/collector/fields/enriched-columns.ts';
import { createColumnList, valueAt } from '../../../src/collector/fields/rank-paths.ts';
import { oddAnswer } from '../answers.ts';

const NESTED = { a: 1, b: { c: [1, { d: 2 }], e: { f: null } }, 'x.y': { ' ': '' }, g: {} };

describe('valueAt', () => {
  it('finds what shapeOf found, and nothing elsewhere', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (answer) => {
        const paths = shapeOf(answer);
        for (const path of paths) expect(valueAt(answer, path)).not.toBeUndefined();
        expect(valueAt(answer, ['no', 'such', 'path'])).toBeUndefined();
      }),
    );
    expect(valueAt(NESTED, ['b'])).toBeUndefined();
    expect(valueAt(NESTED, ['a', 'toString'])).toBeUndefined();
    expect(valueAt({}, ['constructor'])).toBeUndefined();
  });
});

describe('createColumnList', () => {
  it('puts what is new behind what it follows', () => {
    const list = createColumnList(100);
    list.merge([['name'], ['at', 'city'], ['tags']]);
    list.merge([['at', 'zip'], ['name']]);
    list.merge([['name'], ['legal'], ['at', 'city'], ['at', 'land'], ['end']]);
    expect(list.columns.map((path) => path.join('.'))).toEqual([
      'at.zip',
      'name',
      'legal',
      'at.city',
      'at.land',
      'end',
      'tags',
    ]);
    expect(list.isFull).toBe(false);
  });

  it('has each path once, whatever comes, and no more than allowed', () => {
    const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 2 });
    const shape = fc.uniqueArray(path, { selector: (path) => path.join('.') });
    fc.assert(
      fc.property(fc.array(shape), fc.integer({ min: 1, max: 15 }), (shapes, most) => {
        const list = createColumnList(most);
        for (const shape of shapes) list.merge(shape);
        const names = list.columns.map((path) => path.join('.'));
        const all = new Set(shapes.flat().map((path) => path.join('.')));
        expect(new Set(names).size).toBe(names.length);
        expect(names.every((name) => all.has(name))).toBe(true);
        expect(names).toHaveLength(Math.min(most, all.size));
        expect(list.isFull).toBe(all.size > most);
      }),
    );
  });
});

describe('createRest', () => {
  it('leaves out what is shown, and objects of which nothing is left', () => {
    const rest = createRest([['a'], ['b', 'c'], ['b', 'd']]);
    expect(rest({ a: 1, b: { c: 2, d: 3 }, e: { f: null } })).toEqual({ e: { f: null } });
    expect(rest({ a: 1, b: { c: 2, x: [] } })).toEqual({ b: { x: [] } });
    expect(rest({ a: 1, g: {} })).toBeUndefined();
  });

  it('tells a value from an object in its place', () => {
    const rest = createRest([['a'], ['b', 'c']]);
    expect(rest({ a: { b: 1 }, b: 2 })).toEqual({ a: { b: 1 }, b: 2 });
  });

  it('has each value that is not shown, where it was, and no other', () => {
    fc.assert(
      fc.property(oddAnswer, fc.infiniteStream(fc.boolean()), (answer, isShown) => {
        const paths = shapeOf(answer);
        const shown = paths.filter(() => isShown.next().value);
        const rest = createRest(shown)(answer) ?? {};
        const hidden = paths.filter((path) => !shown.includes(path));
        expect(shapeOf(rest)).toEqual(hidden);
        for (const path of hidden) expect(valueAt(rest, path)).toEqual(valueAt(answer, path));
      }),
      { numRuns: 200 },
    );
  });
});
