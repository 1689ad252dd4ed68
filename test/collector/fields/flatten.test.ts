import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeOf } from '../../../src/brand/shape.ts';
import { createColumnList, valueAt } from '../../../src/collector/fields/rank-paths.ts';

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
