import { expect, it } from 'vitest';
import { columnName } from '../../../src/rows/xlsx/cell-ref.ts';
import type { Workbook } from '../../../src/rows/xlsx/open-workbook.ts';
import { readRowText, writeRowLine } from '../../../src/rows/xlsx/row-line.ts';
import { NO_STRINGS } from '../../../src/rows/xlsx/shared-strings.ts';
import { createRowCells } from '../../../src/rows/xlsx/sheet-reader.ts';
import { createLongNumbers } from '../../../src/rows/xlsx/styles.ts';
import { createSheetFiller } from '../../../src/rows/xlsx/xlsx.ts';

const workbook = {
  place: { firstColumn: 0 },
  frame: { prefix: '' },
  longNumbers: createLongNumbers(3),
  rowCells: createRowCells({
    strings: NO_STRINGS,
    links: new Map(),
    styles: [],
    is1904: false,
  }),
} as Workbook;

const lineOf = (xml: string): string =>
  writeRowLine({ number: 2, fields: 3, xml: Buffer.from(xml), after: '' }).toString();

it('fills a row whose cells end in tags with spaces in them, which XML allows', () => {
  const filler = createSheetFiller([{ index: 1, name: 'city' }], workbook);
  const own = '<c r="A2"><v>1</v></c ><c r="C2"><v>3</v></c\n>';
  const raw = lineOf(`<row r="2">${own}`);
  const { raw: filled } = filler.fill(raw, 3, ['Oslo']);
  expect(readRowText(filled).xml).toBe(
    '<row r="2"><c r="A2"><v>1</v></c >' +
      '<c r="B2" t="inlineStr"><is><t xml:space="preserve">Oslo</t></is></c>' +
      '<c r="C2"><v>3</v></c\n>',
  );
});

it('puts a value into a cell that has one, or a formula, where it is to replace them', () => {
  const own = '<c r="A2"><v>1</v></c><c r="B2" s="2" t="str"><f>A2&amp;""</f><v>x</v></c>';
  const raw = lineOf(`<row r="2">${own}`);
  const column = { index: 1, name: 'site' };
  const { raw: replaced } = createSheetFiller([column], workbook, true).fill(raw, 2, ['acme.com']);
  expect(readRowText(replaced).xml).toBe(
    '<row r="2"><c r="A2"><v>1</v></c>' +
      '<c r="B2" s="2" t="inlineStr"><is><t xml:space="preserve">acme.com</t></is></c>',
  );
  expect(createSheetFiller([column], workbook).fill(raw, 2, ['acme.com']).filled).toEqual([]);
});

it('fills rows with thousands of empty cells that have a style, one after the other', () => {
  const width = 16_000;
  const filler = createSheetFiller([{ index: 1, name: 'city' }], workbook);
  const styled = Array.from({ length: width }, (_, at) => `<c r="${columnName(at)}2" s="3"/>`);
  const xml = `<row r="2">${styled.join('')}`;
  const raw = lineOf(xml);
  for (let row = 0; row < 3; row += 1) {
    const filled = readRowText(filler.fill(raw, width, ['Oslo']).raw).xml;
    expect(filled.split('<c ')).toHaveLength(width + 1);
    expect(filled).toContain('<c r="B2" s="3" t="inlineStr">');
  }
});
