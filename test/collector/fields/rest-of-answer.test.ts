import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shapeOf } from '../../../src/brand/shape.ts';
import { createRest } from '../../../src/collector/fields/enriched-columns.ts';
import { valueAt } from '../../../src/collector/fields/rank-paths.ts';
import { oddAnswer } from '../answers.ts';

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
      { numRuns: 500 },
    );
  });
});
