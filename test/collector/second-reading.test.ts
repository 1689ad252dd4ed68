import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/calls/outcome.ts';
import type { Fill } from '../../src/collector/fill.ts';
import { isListed, type OutputRow } from '../../src/collector/joined-row.ts';
import type { IndexedRow } from '../../src/collector/row-index.ts';
import { join, recordOf } from '../../src/collector/second-reading.ts';
import { createCutter } from '../../src/rows/source.ts';
import { piecesOf, sourceOf } from '../rows/sources.ts';
import { outcomeOf } from '../store/outcomes.ts';

const outcome = (domain: string, more: Partial<Outcome>): Outcome =>
  outcomeOf(domain, { fetchedAtMs: 5, json: '', ...more });

const OUTCOMES: readonly Outcome[] = [
  outcome('a.com', { attempts: 2, json: '{"name":"A"}' }),
  outcome('b.com', { status: 'not_found', reason: 'http_404', httpStatus: 404 }),
  outcome('down.com', { status: 'failed', reason: 'http_500', httpStatus: 500, attempts: 3 }),
];

async function joinAll(
  text: string,
  index: readonly IndexedRow[],
  { fill, at = 0 }: { readonly fill?: Fill; readonly at?: number } = {},
): Promise<OutputRow[]> {
  const rows: OutputRow[] = [];
  const joined = join({
    source: sourceOf(text),
    headBytes: 2,
    index: {
      read: async function* () {
        for (const row of index) yield [row];
      },
    },
    answers: (domain) => {
      const outcome = OUTCOMES.find((each) => each.domain === domain);
      const hasOlder = domain !== 'new.com' && (!outcome || outcome.status === 'failed');
      const older = outcomeOf(domain, { fetchedAtMs: 1, json: '{"name":"Older"}' });
      return { outcome, older: hasOlder ? older : undefined, at, said: 'x' };
    },
    apis: ['one', 'two'].slice(0, at + 1).map((name) => ({
      name,
      fields: [{ name: 'name', valueOf: (answer) => answer['name'] }],
      skipReason: 'max_calls',
    })),
    fill,
  });
  for await (const batch of joined) rows.push(...batch);
  return rows;
}

describe('join', () => {
  it('gives each row with its outcome, by its place in the input', async () => {
    const row = { kind: 'due', fields: 1 } as const;
    const due = (sizeBytes: number, text: string): IndexedRow => ({ ...row, sizeBytes, text });
    const rows = await joinAll('d\n1\n\n22\nß\n4\n,,\n5\n6', [
      due(2, 'a.com'),
      { kind: 'blank', sizeBytes: 1, fields: 0, text: '' },
      due(3, 'b.com'),
      { kind: 'invalid', sizeBytes: 3, fields: 1, text: 'empty' },
      due(2, 'down.com'),
      { kind: 'passed', sizeBytes: 3, fields: 3, text: 'a.com', key: 'k' },
      due(2, 'skipped.com'),
      due(1, 'new.com'),
    ]);
    expect(rows.filter((row) => !isListed(row))).toEqual([
      { raw: ',,\n', fields: 3, status: 'passed', domain: 'a.com', key: 'k' },
    ]);
    expect(
      rows
        .filter(isListed)
        .map((row) => [
          [row.raw, row.fields, row.number, row.domain, row.status, row.reason].join('|'),
          [row.outcome?.httpStatus, row.outcome?.attempts ?? 0, row.fetchedAtMs, row.values[0]],
        ]),
    ).toEqual([
      ['1\n|1|1|a.com|found|', [200, 2, 5, 'A']],
      ['22\n|1|2|b.com|not_found|http_404', [404, 1, 5, undefined]],
      ['ß\n|1|3||invalid|empty', [undefined, 0, 0, undefined]],
      ['4\n|1|4|down.com|stale|http_500', [500, 3, 1, 'Older']],
      ['5\n|1|5|skipped.com|stale|max_calls', [undefined, 0, 1, 'Older']],
      ['6|1|6|new.com|skipped|max_calls', [undefined, 0, 0, undefined]],
    ]);
  });

  it('fills blank cells of a row that has an answer, and of no other', async () => {
    const asked: unknown[] = [];
    const fill = {
      apply: (row, answer) => {
        asked.push([row.raw, answer['name']]);
        return { raw: 'filled\n', fields: 2, fills: ['A'] };
      },
    } as Partial<Fill> as Fill;
    const row = { sizeBytes: 2, fields: 1 } as const;
    const rows = await joinAll(
      'd\n1\n2\n3\n4\n',
      [
        { ...row, kind: 'known', text: 'a.com', key: 'abc' },
        { ...row, kind: 'due', text: 'b.com' },
        { ...row, kind: 'due', text: 'down.com', key: 'def' },
        { ...row, kind: 'due', text: 'new.com' },
      ],
      { fill },
    );
    expect(asked).toEqual([
      ['1\n', 'A'],
      ['3\n', 'Older'],
    ]);
    const shown = rows
      .filter(isListed)
      .map(({ raw, fields, key, fills }) => [raw, fields, key, fills]);
    expect(shown).toEqual([
      ['filled\n', 2, 'abc', ['A']],
      ['2\n', 1, '', undefined],
      ['filled\n', 2, 'def', ['A']],
      ['4\n', 1, '', undefined],
    ]);
  });
});

it('rows of megabytes are given a few at a time, whether they or their answers are long', async () => {
  const long = 'x'.repeat(1_200_000);
  for (const [raw, json] of [
    [`${long}\n`, '{}'],
    ['1\n', `{"a":"${long}"}`],
  ] as const) {
    const row = { kind: 'due', fields: 1, sizeBytes: raw.length, text: 'a.com' } as const;
    const batches = join({
      source: sourceOf(raw.repeat(3), { chunkBytes: 1_000_000 }),
      headBytes: 0,
      index: {
        read: async function* () {
          yield [row, row, row];
        },
      },
      answers: () => ({ outcome: outcome('a.com', { json }), at: 0, said: '' }),
      apis: [{ name: 'one', fields: [], skipReason: '' }],
    });
    const sizes: number[] = [];
    for await (const batch of batches) sizes.push(batch.length);
    expect(sizes).toEqual([2, 1]);
  }
});

it.each([
  [0, [undefined, undefined], [undefined, undefined]],
  [1, ['two', undefined], ['x', 'x']],
])(
  'of several APIs a row says which it is from, and what they said: %d',
  async (at, from, said) => {
    const row = { sizeBytes: 2, fields: 1, kind: 'due' } as const;
    const index = [
      { ...row, text: 'a.com' },
      { ...row, text: 'b.com' },
    ];
    const rows = (await joinAll('d\n1\n2\n', index, { at })).filter(isListed);
    expect(rows.map(({ source }) => source)).toEqual(from);
    expect(rows.map(({ sources }) => sources)).toEqual(said);
  },
);

it('what fills is found in the columns as well, where there are several APIs', () => {
  const fields = [{ name: 'city', valueOf: (answer: object) => Object.values(answer)[0] }];
  expect(recordOf({ town: 'Ulm' }, fields, false)).toEqual({ town: 'Ulm' });
  expect(recordOf({ town: 'Ulm' }, fields, true)).toEqual({ town: 'Ulm', city: 'Ulm' });
});

describe('createCutter', () => {
  it('gives each piece as it was, wherever the stream is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 9 })),
        fc.integer({ min: 1, max: 12 }),
        async (pieces, chunkBytes) => {
          const cut = createCutter(piecesOf(Buffer.from(pieces.join('')), chunkBytes));
          for (const piece of pieces) {
            const taken = await cut(Buffer.byteLength(piece));
            expect(taken.equals(Buffer.from(piece))).toBe(true);
          }
          expect(await cut(5)).toHaveLength(0);
        },
      ),
    );
  });
});
