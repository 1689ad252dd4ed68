import { expect, it } from 'vitest';
import { columnName } from '../../../src/rows/xlsx/cell-ref.ts';
import { readLinks, type Workbook } from '../../../src/rows/xlsx/open-workbook.ts';
import type { Package } from '../../../src/rows/xlsx/package.ts';
import { readRowLine, writeRowLine } from '../../../src/rows/xlsx/row-line.ts';
import { readSharedStrings } from '../../../src/rows/xlsx/shared-strings.ts';
import { cleanCell } from '../../../src/rows/xlsx/sheet-reader.ts';
import {
  addLongNumbers,
  createLongNumbers,
  readNumberStyles,
} from '../../../src/rows/xlsx/styles.ts';
import { createSheetFiller } from '../../../src/rows/xlsx/xlsx.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { piecesOf } from '../sources.ts';

const workbook = {
  place: { firstColumn: 0 },
  frame: { prefix: '' },
  longNumbers: createLongNumbers(3),
} as Workbook;

it('fills a row whose cells end in tags with spaces in them, which XML allows', () => {
  const filler = createSheetFiller([{ index: 1, name: 'city' }], workbook);
  const own = '<c r="A2"><v>1</v></c ><c r="C2"><v>3</v></c\n>';
  const raw = writeRowLine({ cells: [1, null, 3], number: 2, xml: `<row r="2">${own}`, after: '' });
  const { raw: filled } = filler.fill(raw, 3, ['Oslo']);
  expect(readRowLine(filled).xml).toBe(
    '<row r="2"><c r="A2"><v>1</v></c >' +
      '<c r="B2" t="inlineStr"><is><t xml:space="preserve">Oslo</t></is></c>' +
      '<c r="C2"><v>3</v></c\n>',
  );
});

it('fills rows with thousands of empty cells that have a style, one after the other', () => {
  const width = 16_000;
  const filler = createSheetFiller([{ index: 1, name: 'city' }], workbook);
  const styled = Array.from({ length: width }, (_, at) => `<c r="${columnName(at)}2" s="3"/>`);
  const xml = `<row r="2">${styled.join('')}`;
  const raw = writeRowLine({ cells: [], number: 2, xml, after: '' });
  for (let row = 0; row < 12; row += 1) {
    const filled = readRowLine(filler.fill(raw, width, ['Oslo']).raw).xml;
    expect(filled.split('<c ')).toHaveLength(width + 1);
    expect(filled).toContain('<c r="B2" s="3" t="inlineStr">');
  }
});

it('a cell loses its comments, but nothing of a text that looks like one', () => {
  const xml = '<c r="A1"><!-- <![CDATA[ --><is><t><![CDATA[a<!--b-->&c]]></t></is><!--]]>--></c>';
  expect(cleanCell(xml, { ref: 'A1', hadRef: true })).toBe(
    '<c r="A1"><is><t>a&lt;!--b--&gt;&amp;c</t></is></c>',
  );
});

const RELATIONS =
  '<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="https://acme.com" TargetMode="External"/></Relationships>';

function packageOf(sheet: string): Package {
  return {
    name: 'list.xlsx',
    paths: [],
    find: (path) => path,
    store: async () => undefined,
    read: async function* () {
      yield Buffer.from(sheet);
    },
    readWhole: async () => Buffer.from(RELATIONS),
  };
}

it('a link over a range that ends before it begins is over no cells, however many rows it names', async () => {
  const links = ['B1:A99999999999', 'C2:D3']
    .map((ref) => `<hyperlink ref="${ref}" r:id="r1"/>`)
    .join('');
  const found = await readLinks(packageOf(`<sheetData></sheetData>${links}`), 'sheet1.xml');
  expect([...found.keys()]).toEqual(['C2', 'D2', 'C3', 'D3']);
});

it.each([64_000_000, 2_000_000, 0])(
  'texts are found again when %d bytes of them may be in memory',
  async (memoryBytes) => {
    const texts = Array.from({ length: 3_000 }, (_, at) => `${at} ${'Größe 😀'.repeat(at % 200)}`);
    const xml = `<sst>${texts.map((text) => `<si><t>${text}</t></si>`).join('')}<si/></sst>`;
    const { signal } = new AbortController();
    const strings = await readSharedStrings(piecesOf(Buffer.from(xml), 65_537), {
      spoolFolder: useTempFolder(),
      signal,
      memoryBytes,
    });
    const found = texts.map((_, at) => strings.find(at));
    await strings.close();
    expect(found).toEqual(texts);
    expect(strings.find(texts.length)).toBe('');
    expect(strings.find(texts.length + 1)).toBeUndefined();
  },
);

function stylesWith(code: string): string {
  const format = `<numFmt numFmtId="200" formatCode="${code}"/>`;
  return `<styleSheet><numFmts>${format}</numFmts><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`;
}

it('a format is read up to the length that spreadsheet programs allow', () => {
  expect(readNumberStyles(stylesWith('00000'))).toEqual([{ kind: 'number', digits: 5 }]);
  expect(readNumberStyles(stylesWith('0'.repeat(100_000)))).toEqual([
    { kind: 'number', digits: 255 },
  ]);
  expect(readNumberStyles(stylesWith('['.repeat(400_000)))).toEqual([
    { kind: 'number', digits: 0 },
  ]);
});

it('the style of long whole numbers goes behind all others, and only it is added', () => {
  const xml = stylesWith('00000').replace('<cellXfs>', '<cellXfs count="1">');
  const added =
    '<xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>';
  expect(addLongNumbers(xml)).toBe(
    xml
      .replace('<cellXfs count="1">', '<cellXfs count="2">')
      .replace('</cellXfs>', `${added}</cellXfs>`),
  );
});
