import { describe, expect, it } from 'vitest';
import type { FieldNode } from '../../../src/web/app/contract.ts';
import {
  faultOfName,
  firstFields,
  isUsable,
  leavesOf,
  moved,
  searched,
  toggled,
} from '../../../src/web/app-page/choices.ts';

const leaf = (expression: string, example = ''): FieldNode => ({
  label: expression.split('.').at(-1) ?? '',
  expression,
  name: expression.replace('.', '_'),
  kind: 'value',
  examples: [example],
  children: [],
});
const CITY = leaf('place.city', 'Ulm');
const PLACE: FieldNode = {
  ...leaf('place'),
  kind: 'object',
  children: [CITY, leaf('place.zip', '89073')],
};
const TREE = [leaf('name', 'Acme'), PLACE];
const NAMES = ['a', 'b', 'c'].map((name) => ({ name, expression: name }));

describe('the choice of columns', () => {
  it('begins with the values at the first level, or with all where there are none', () => {
    expect(firstFields(TREE)).toEqual([{ name: 'name', expression: 'name' }]);
    expect(firstFields([PLACE]).map(({ name }) => name)).toEqual(['place_city', 'place_zip']);
    expect(leavesOf(TREE)).toHaveLength(3);
  });

  it('adds at the end, takes out, and keeps what was renamed', () => {
    const renamed = [{ name: 'company', expression: 'name' }];
    expect(toggled(renamed, CITY, true)).toEqual([
      ...renamed,
      { name: 'place_city', expression: 'place.city' },
    ]);
    expect(toggled(NAMES, leaf('b'), false).map(({ name }) => name)).toEqual(['a', 'c']);
  });

  it('moves a column, but not beyond an end', () => {
    const order = (from: number, to: number): string =>
      moved(NAMES, from, to)
        .map(({ name }) => name)
        .join('');
    expect([order(0, 2), order(2, 0), order(1, 2)]).toEqual(['bca', 'cab', 'acb']);
    expect([order(0, -1), order(2, 3), order(7, 0)]).toEqual(['abc', 'abc', 'abc']);
  });

  it('wants a name for each column, and no name twice', () => {
    const fields = [...NAMES, { name: ' a ', expression: 'd' }, { name: ' ', expression: 'e' }];
    expect(fields.map((_, at) => faultOfName(fields, at) !== undefined)).toEqual([
      true,
      false,
      false,
      true,
      true,
    ]);
    expect(isUsable({ fields, fills: [] })).toBe(false);
    expect(isUsable({ fields: NAMES, fills: [] })).toBe(true);
  });

  it('may be all, or cells to fill alone, but not nothing', () => {
    const fills = [{ column: 'Town', expression: 'place.city' }];
    expect(isUsable({ fields: null, fills: [] })).toBe(true);
    expect(isUsable({ fields: [], fills })).toBe(true);
    expect(isUsable({ fields: [], fills: [] })).toBe(false);
  });

  it('is searched by name and by value, and shows what leads there', () => {
    expect(searched(TREE, 'ULM')).toEqual([{ ...PLACE, children: [CITY] }]);
    expect(searched(TREE, 'place')).toEqual([PLACE]);
    expect(searched(TREE, 'nothing')).toEqual([]);
    expect(searched(TREE, ' ')).toBe(TREE);
  });
});
