import { search } from '@jmespath-community/jmespath';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expressionOf, valueAt } from '../../../src/collector/fields/enriched-columns.ts';
import { oddAnswer, pathsOf } from '../answers.ts';

describe('expressionOf', () => {
  it.each([
    [['name'], 'name'],
    [['location', 'city'], 'location.city'],
    [['legal-name'], '"legal-name"'],
    [['x.y', 'let'], '"x.y"."let"'],
    [['say "hi"\n'], String.raw`"say \"hi\"\n"`],
    [['_a1', '1a'], '_a1."1a"'],
  ])('writes %j as %s', (path, expression) => {
    expect(expressionOf(path)).toBe(expression);
  });

  it('finds in any answer what is at the path', async () => {
    await fc.assert(
      fc.asyncProperty(oddAnswer, async (answer) => {
        for (const path of await pathsOf(answer)) {
          expect(search(answer as never, expressionOf(path))).toEqual(valueAt(answer, path));
        }
      }),
      { numRuns: 200 },
    );
  });
});
