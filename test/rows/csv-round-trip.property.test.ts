import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guardFormula } from '../../src/rows/csv/csv-writer.ts';
import { openText, scanAll, sourceOf } from './sources.ts';

const SEED = Number(process.env['BRANDFILL_TEST_SEED'] ?? Date.now() % 2 ** 31);
console.log(`csv-round-trip.property.test.ts: seed ${SEED} (BRANDFILL_TEST_SEED sets it)`);

/** Each way to write CSV that is found out, and what shows it in the first rows. */
const DIALECTS: readonly (readonly [name: string, delimiter: string, lineEnd: string])[] = [
  ['comma', ',', '\n'],
  ['comma, CRLF', ',', '\r\n'],
  ['comma, CR', ',', '\r'],
  ['comma, CRCRLF', ',', '\r\r\n'],
  ['semicolon', ';', '\r\n'],
  ['tab', '\t', '\n'],
  ['pipe', '|', '\n'],
];

const cell = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('', ' ', '"', '""', "'", "it's", '\\', 'a\\', '\\"', ',', ';', '\t', '|'),
  fc.constantFrom('\n', '\r\n', 'a\nb', '\u0000', '\uFEFF', '1,5', '5" pipe', '=1+1', '日本', '🏷️'),
);

describe.each(DIALECTS)('a list with %s', (_, delimiter, lineEnd) => {
  const needsQuotes = (text: string): boolean =>
    [delimiter, '"', '\n', '\r'].some((one) => text.includes(one));
  const write = (text: string, isQuoted = false): string =>
    isQuoted || needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text;
  // What shows the dialect: quoted cells, an escaped quote, and even rows, more of them than of
  // those below that are ragged and full of line ends and delimiters.
  const shown = [`say "hi"${delimiter} or`, `x${delimiter}y`, `"${delimiter}`];
  const first = [
    ['id', 'domain', 'note'],
    ...[...shown, ...shown, ...shown].map((note, at) => [String(at), `d${at}.com`, note]),
  ];
  const options = {
    delimiter,
    record_delimiter: lineEnd,
    relax_column_count: true,
  };

  it('comes back cell by cell, with what is added', () => {
    const row = fc.record({
      cells: fc.array(cell, { minLength: 3, maxLength: 3 }),
      isQuoted: fc.boolean(),
      /** A ragged row: cells more or less. */
      change: fc.constantFrom(0, 0, 0, 0, -1, 1),
    });
    const input = fc.record({
      rows: fc.array(row, { maxLength: 12 }),
      added: fc.tuple(cell, cell),
      chunkBytes: fc.integer({ min: 3, max: 60 }),
      endsInLineEnd: fc.boolean(),
    });
    return fc.assert(
      fc.asyncProperty(input, async ({ rows, added, chunkBytes, endsInLineEnd }) => {
        const ragged = rows.map(({ cells, change }) =>
          change < 0
            ? [cells[0] || 'x', cells[1] ?? '']
            : [...cells, ...Array<string>(change).fill('x')],
        );
        // Lone returns are line ends in a file that has them, and only there.
        const table = [...first, ...ragged].map((cells) =>
          cells.map((text) => (lineEnd === '\r' ? text.replaceAll('\n', '') : text)),
        );
        const lines = table.map((cells, at) =>
          cells.map((text) => write(text, rows[at - first.length]?.isQuoted)).join(delimiter),
        );
        const text = lines.join(lineEnd) + (endsInLineEnd ? lineEnd : '');
        expect(parse(text, options)).toEqual(table); // or the test itself is wrong

        const source = sourceOf(text, { chunkBytes });
        const format = openText(source);
        const scanned = await scanAll(format, source, 'domain');
        expect(scanned.map((row) => row.cell)).toEqual(table.slice(1).map((cells) => cells[1]));
        // No row of a well-formed list is taken for shifted, and every row with a cell too many is.
        const shifted = scanned.slice(first.length - 1).map((row) => row.shifted !== undefined);
        expect(shifted).toEqual(ragged.map((cells) => cells.length > 3));
        const width = Math.max(3, ...scanned.map((row) => row.fields));
        const writer = format.createWriter(['p', 'q'], { maxFields: width });
        const out = scanned.map(({ raw, fields }) => writer.row(raw, fields, added));
        const expected = table.map((cells, at) =>
          cells.concat(
            Array<string>(width - cells.length).fill(''),
            at === 0 ? ['p', 'q'] : added.map(guardFormula),
          ),
        );
        expect(parse(writer.header + out.join(''), options)).toEqual(expected);
      }),
      { seed: SEED, numRuns: 12, endOnFailure: false },
    );
  });
});
