import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cellOfText, createSheetOfList } from '../../../src/collector/output/workbook-file.ts';
import { type SheetCell, textOfSheetCell } from '../../../src/rows/xlsx/cell.ts';
import { MOST_CHARACTERS } from '../../../src/rows/xlsx/cell-ref.ts';
import { valueXml } from '../../../src/rows/xlsx/cell-xml.ts';
import { LONG_STYLE } from '../../../src/rows/xlsx/styles.ts';
import { writeNewWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { seededRandom } from '../../support/random.ts';
import { open, packRows } from './workbooks.ts';

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
  const packed = await packRows([Buffer.from(xml)]);
  const chunks: Buffer[] = [];
  const sheet = { name: 'S', layout: writer.layout, rows: packed };
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
    { seed, numRuns: 8 },
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
        expect(Number(digits).toFixed(style === LONG_STYLE ? 0 : style - 1)).toBe(given);
      }
    }),
    { seed, numRuns: 150 },
  );
});

it('a whole number is shown with all its digits, as a text when a sheet would lose some', async () => {
  const shown = (number: number): string => {
    const place = { prefix: '', column: 0, row: 1, style: 0, longStyle: () => 9 };
    const xml = valueXml(number, place);
    const style = / s="9"/.test(xml) ? '0' : 'General';
    return /inlineStr/.test(xml) ? 'text' : style;
  };
  const sizes = fc.integer({ min: 0, max: 15 }).chain((digits) =>
    fc.record({
      digits: fc.constant(digits + 1),
      size: fc.integer({
        min: digits === 0 ? 0 : 10 ** digits,
        max: Math.min(10 ** (digits + 1) - 1, Number.MAX_SAFE_INTEGER),
      }),
      sign: fc.constantFrom(1, -1),
    }),
  );
  fc.assert(
    fc.property(sizes, ({ digits, size, sign }) => {
      const expected = digits > 15 ? 'text' : digits > 11 ? '0' : 'General';
      expect(shown(sign * size)).toBe(expected);
      const cell = cellOfText(String(sign * size));
      const ofText = Array.isArray(cell) ? '0' : typeof cell === 'string' ? 'text' : 'General';
      if (size > 0) expect(ofText).toBe(expected);
    }),
    { seed, numRuns: 150 },
  );
});

it('a text that is too long for a cell is cut, and says so', async () => {
  const long = 'ä'.repeat(40_000);
  const { rows } = await open(await write([[long]], 1));
  expect(rows[0]?.['c0']).toBe(`${'ä'.repeat(MOST_CHARACTERS - 1)}…`);
});
