import { expect, it } from 'vitest';
import { readLinks } from '../../../src/rows/xlsx/open-workbook.ts';
import type { Package } from '../../../src/rows/xlsx/package.ts';
import { cleanCell } from '../../../src/rows/xlsx/sheet-reader.ts';
import { addLongNumbers, readNumberStyles } from '../../../src/rows/xlsx/styles.ts';

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
