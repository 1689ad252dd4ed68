import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSheetOfList } from '../../../src/rows/table-writer.ts';
import { cellOfText } from '../../../src/rows/typed-text.ts';
import { type SheetCell, textOfSheetCell } from '../../../src/rows/xlsx/cell.ts';
import { MOST_CHARACTERS } from '../../../src/rows/xlsx/cell-ref.ts';
import { writeNewWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { seededRandom } from '../../support/random.ts';
import { open } from './workbooks.ts';

const { next } = seededRandom('round-trip.property.test.ts');
const seed = Math.floor(next() * 2 ** 31);

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '007',
    '=1+1',
    '-5',
    "'x",
    ' a ',
    'a\r\nb',
    'a\tb',
    '_x0041_',
    '\0\x01',
    '😀',
    '1e5',
    '12345678901234567890',
    '<&>"]]>',
  ),
);
const value = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);

function wellFormed(given: string): string {
  return Buffer.from(given).toString();
}

/** Writes rows into a workbook of ours. */
async function write(rows: readonly (readonly SheetCell[])[], width: number): Promise<Buffer> {
  const columns = Array.from({ length: width }, (_, at) => `c${at}`);
  const format = { kind: 'csv', columns, cellsOf: (raw: string) => rows[Number(raw)] ?? [] };
  const writer = createSheetOfList({
    format: format as never,
    extent: { maxFields: width },
    added: ['ours'],
  });
  const xml = writer.header + rows.map((_, at) => writer.row(String(at), 0, ['x'])).join('');
  const read = async function* () {
    yield Buffer.from(xml);
  };
  const chunks: Buffer[] = [];
  const sheet = { name: 'S', layout: writer.layout, read };
  for await (const chunk of writeNewWorkbook([sheet], undefined)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

it('what is written into a workbook is read from it again', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(value, { minLength: 4, maxLength: 4 }), { maxLength: 5 }),
      async (rows) => {
        const opened = await open(await write(rows, 4));
        const expected = rows.map((cells) =>
          // Nothing tells an empty text from an empty cell, and XML knows neither -0 nor half characters.
          cells.map((cell) =>
            cell === ''
              ? null
              : typeof cell === 'string'
                ? wellFormed(cell)
                : cell === 0
                  ? 0
                  : cell,
          ),
        );
        const got = opened.rows.map((row) => [0, 1, 2, 3].map((at) => row[`c${at}`]));
        expect(got).toEqual(expected);
      },
    ),
    { seed, numRuns: 30 },
  );
});

it('a text of CSV looks in a workbook as it did', async () => {
  const texts = fc.oneof(
    text,
    fc.tuple(fc.integer(), fc.nat(99_999)).map(([whole, part]) => `${whole}.${part}`),
    fc.double().map(String),
  );
  fc.assert(
    fc.property(texts, (given) => {
      const cell = cellOfText(given);
      if (typeof cell !== 'object' || cell === null) expect(textOfSheetCell(cell)).toBe(given);
      else {
        const [, digits, style] = cell;
        expect(digits).toBe(given);
        expect(Number(digits).toFixed(style - 1)).toBe(given);
      }
    }),
    { seed, numRuns: 2_000 },
  );
});

it('a text that is too long for a cell is cut, and says so', async () => {
  const long = 'ä'.repeat(40_000);
  const { rows } = await open(await write([[long]], 1));
  expect(rows[0]?.['c0']).toBe(`${'ä'.repeat(MOST_CHARACTERS - 1)}…`);
});
