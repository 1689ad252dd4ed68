import { search } from '@jmespath-community/jmespath';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createPathFinder,
  expressionOf,
  flatColumnsOf,
  valueAt,
} from '../../../src/collector/fields/enriched-columns.ts';
import { oddAnswer, pathsOf } from '../answers.ts';

const ANSWER = { name: 'Acme', at: { city: 'Oslo', zip: null }, tags: ['a'] };

function columnsOf(answer: object, maxColumns: number) {
  const paths = pathsOf(answer as never);
  return flatColumnsOf({ paths, isCut: false }, maxColumns);
}

const namesOf = (columns: readonly { readonly name: string }[]): string[] =>
  columns.map(({ name }) => name);

describe('flatColumnsOf', () => {
  it('gives each path a column, up to so many, and the rest one for all', () => {
    expect(namesOf(columnsOf(ANSWER, 4))).toEqual(['name', 'at_city', 'at_zip', 'tags']);
    const [name, city, rest, ...more] = columnsOf(ANSWER, 2);
    expect(more).toEqual([]);
    expect([name?.expression, city?.expression]).toEqual(['name', 'at.city']);
    expect([name, city, rest].map((column) => column?.valueOf(ANSWER))).toEqual([
      'Acme',
      'Oslo',
      { at: { zip: null }, tags: ['a'] },
    ]);
    expect(rest?.name).toBe('json');
    expect(rest?.valueOf({ name: 'B' })).toBeUndefined();
    const [all] = columnsOf(ANSWER, 0);
    expect(all?.valueOf(ANSWER)).toEqual(ANSWER);
  });

  it('calls the domain that an answer names by what it is, and leaves one that was asked out', () => {
    const names = namesOf(columnsOf({ domain: 'acme.io', answered: { domain: 1 } }, 9));
    expect(names).toEqual(['answered_domain', 'answered_domain_2']);
    const [rest] = columnsOf({ domain: 'acme.com', name: 'Acme' }, 0);
    expect(rest?.valueOf({ domain: 'acme.com', name: 'Acme' })).toEqual({ name: 'Acme' });
  });

  it('has what is beyond all counting in the rest too', () => {
    const paths = pathsOf(ANSWER);
    const columns = flatColumnsOf({ paths, isCut: true }, 10);
    expect(namesOf(columns)).toEqual(['name', 'at_city', 'at_zip', 'tags', 'json']);
    const value = columns[4]?.valueOf({ ...ANSWER, odd: 1 });
    expect(value).toEqual({ odd: 1 });
  });

  it('names two paths that come to the same apart, in whatever order they come', () => {
    const answers = [
      { a: { b: 1 }, a_b: 2 },
      { a_b: 2, a: { b: 1 } },
    ];
    for (const answer of answers) {
      const columns = columnsOf(answer, 9);
      const values = columns.map(({ name, valueOf }) => [name, valueOf(answer)]);
      expect(Object.fromEntries(values)).toEqual({ a_b: 2, a_b_2: 1 });
    }
  });

  it('finds each value at its path, and names no two alike', () => {
    fc.assert(
      fc.property(oddAnswer, fc.nat(12), (answer, maxColumns) => {
        const columns = columnsOf(answer, maxColumns);
        const fields = columns.filter(({ isRest }) => !isRest);
        for (const { path = [], valueOf } of fields) {
          expect(valueOf(answer)).toEqual(valueAt(answer, path));
          expect(search(answer as never, expressionOf(path))).toEqual(valueAt(answer, path));
        }
        expect(fields.length).toBeLessThanOrEqual(maxColumns);
        expect(new Set(namesOf(fields)).size).toBe(fields.length);
      }),
      { numRuns: 300 },
    );
  });
});

describe('createPathFinder', () => {
  it('has each path once, in the order of the rows; lists and what is too deep are values', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(10)}1${'}'.repeat(10)}`) as never;
    const paths = pathsOf(ANSWER, { name: 1, at: { road: 'x' } }, { at: 'Oslo' }, deep);
    const written = paths.map((path) => path.join('.'));
    expect(written).toEqual('name at.city at.zip tags at.road at a.a.a.a.a.a.a.a'.split(' '));
  });

  it('has the order of the rows, in whatever order they are seen', () => {
    const answers = [
      { b: 1, c: { d: 2 } },
      { a: 1, b: 2 },
      { c: { e: 1, d: 2 }, a: 3 },
    ];
    for (const rows of ['012', '201', '120']) {
      const finder = createPathFinder();
      for (const row of rows.split('').map(Number))
        finder.see(JSON.stringify(answers[row]), row, 'acme.com');
      expect(finder.found().paths).toEqual([['b'], ['c', 'd'], ['a'], ['c', 'e']]);
    }
  });
});
