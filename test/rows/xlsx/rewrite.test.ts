import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../support/any-character.ts';
import { seededRandom } from '../../support/random.ts';
import {
  open,
  type Parts,
  partsOf,
  rewrite,
  row,
  type SheetSpec,
  type WorkbookSpec,
  type WrittenWorkbook,
  workbookOf,
  zipOf,
} from './workbooks.ts';

const seed = Math.floor(seededRandom('rewrite.test.ts').next() * 2 ** 31);

const SHEET = 'xl/worksheets/sheet1.xml';
const ROWS = row(1, 'domain', 'city') + row(2, 'acme.com', 'Oslo') + row(3, 'globex.com', 'Rome');
const TABLE =
  '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:B3"><autoFilter ref="A1:B3"/><tableColumns count="2"><tableColumn id="1" name="domain"/><tableColumn id="4" name="ci&#10;ty"/></tableColumns></table>';
/** Style 1 has a fill, 2 a date, 3 a font only. */
const STYLES =
  '<fills><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="solid"/></fill></fills><borders><border><left/></border></borders>' +
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="0" fillId="1"/><xf numFmtId="14"/><xf numFmtId="0" fontId="1"/></cellXfs>';

/** Adds a column `ours` with the places of rows. */
async function written(spec: WorkbookSpec, added = 'ours'): Promise<WrittenWorkbook> {
  const bytes = await workbookOf({ styles: STYLES, ...spec });
  return await rewrite(await open(bytes, { column: 'domain' }), [added], (at) => [at]);
}

async function sheetOf(spec: Partial<SheetSpec>): Promise<string> {
  const sheet = { name: 'S', rows: ROWS, ...spec };
  return (await written({ sheets: [sheet] })).parts[SHEET] ?? '';
}

const blank = (ref: string, style: number): string => `<c r="${ref}" s="${style}"/>`;
const colour = (ref: string): string => ROWS.replace(/<\/row>$/, `${blank(ref, 1)}</row>`);
const merge = (ref: string): string =>
  `<mergeCells count="1"><mergeCell ref="${ref}"/></mergeCells>`;

const columns = (min: number, max: number, style = 1): string =>
  `<cols><col min="${min}" max="${max}" width="9" style="${style}"/></cols>`;

it.each<[string, Partial<SheetSpec>, string]>([
  ['right of the list', {}, 'C'],
  ['right of a longer row', { rows: ROWS + row(4, 'a.com', null, null, 'x') }, 'E'],
  ['right of a note below the list', { rows: ROWS + row(9, 'n', null, 'x') }, 'D'],
  ['right of a coloured cell', { rows: colour('F3') }, 'G'],
  [
    'right of a coloured row without texts',
    { rows: `${ROWS}<row r="4">${blank('D4', 1)}</row>` },
    'E',
  ],
  ['right of merged cells', { after: merge('B3:D3') }, 'E'],
  ['right of a coloured column', { before: columns(4, 5) }, 'F'],
  ['regardless of a column that has only a font', { before: columns(4, 5, 3) }, 'C'],
  ['regardless of columns to the end', { before: columns(3, 16_384) }, 'C'],
  ['regardless of a font', { rows: colour('F3').replace('s="1"', 's="3"') }, 'C'],
  ['regardless of a format that goes on to the end', { rows: colour('XFD3') }, 'C'],
  [
    'right of where a formula spills',
    {
      rows: ROWS.replace(
        /<c r="B3"/,
        '<c r="B3" t="str" cm="1"><f t="array" ref="B3:E3">X()</f><v>a</v></c><c r="C3"',
      ).replace('<is><t>Rome</t></is>', '<is><t>b</t></is>'),
    },
    'F',
  ],
  [
    'left of a stray cell at the end of the sheet',
    { rows: ROWS.replace(/<\/row>$/, '<c r="D3"><v>1</v></c><c r="XFD3"><v>1</v></c></row>') },
    'C',
  ],
  ['regardless of what is merged elsewhere', { after: merge('A8:F9') }, 'C'],
])('a column of ours begins %s', async (_, spec, column) => {
  const sheet = await sheetOf(spec);
  expect(sheet).toMatch(
    new RegExp(`<c r="${column}[13]" t="inlineStr"><is><t xml:space="preserve">ours<`),
  );
  expect(sheet).toContain(`<v>1</v></c>`);
});

describe('what is there', () => {
  it('stays as it is, but for our cells, the size of the sheet and hints', async () => {
    const rows =
      '<row r="1" spans="1:2" ht="30"><c r="A1" s="2" t="inlineStr"><is><t>domain</t></is></c></row>\n <!-- own -->' +
      '<row r="2" spans="1:2"><c r="A2" t="str"><f>LOWER("A.com")</f><v>a.com</v></c></row><row r="7" ht="9"/>' +
      '<row r="8"><c r="A8" t="inlineStr"><is><t><![CDATA[b.com]]></t></is></c></row><row r="9" s="1"/>';
    const before = '<dimension ref="A1:A9"/><sheetViews><sheetView/></sheetViews>';
    const after = '<autoFilter ref="A1:A8"><filterColumn colId="0"/></autoFilter><pageSetup/>';
    const sheet = await sheetOf({ rows, before, after });
    const cells = sheet
      .replaceAll(/<c r="B\d".*?<\/c>/g, '')
      .replace('A1:B9', 'A1:A9')
      .replace('A1:B8', 'A1:A8');
    const own = before + `<sheetData>${rows.replaceAll(' spans="1:2"', '')}</sheetData>` + after;
    expect(cells.slice(cells.indexOf('<dimension'))).toBe(`${own}</worksheet>`);
    // The header has the style of its last cell.
    expect(sheet).toContain('<c r="B1" s="2" t="inlineStr">');
    expect(sheet.match(/<c r="B\d"/g)).toHaveLength(3);
  });

  it('stays in other parts and other sheets, to the byte', async () => {
    const sheets = [
      { name: 'S', rows: ROWS },
      { name: 'Other', rows: row(1, 'keep') },
    ];
    const spec = { sheets, parts: { 'xl/calcChain.xml': '<calcChain/>', 'xl/media/a.png': 'png' } };
    const { parts } = await written(spec);
    const before = { ...partsOf({ styles: STYLES, ...spec }) };
    expect({ ...parts, [SHEET]: '' }).toEqual({ ...before, [SHEET]: '' });
    expect(Object.keys(parts)).toEqual(Object.keys(before));
  });

  it('has our cells in place of blank ones where their format goes on to the end of the sheet', async () => {
    const ends = `${blank('C3', 1)}${blank('D3', 1)}${blank('XFD3', 1)}`;
    const sheet = await sheetOf({ rows: ROWS.replace(/<\/row>$/, `${ends}</row>`) });
    expect(sheet).toContain(
      `<c r="C3" s="1"><v>1</v></c>${blank('D3', 1)}${blank('XFD3', 1)}</row>`,
    );
  });

  it('gives our cells the style of their row or column, unless it would show a number otherwise', async () => {
    const ofRow = (style: number) =>
      ROWS.replace('<row r="3"', `<row r="3" s="${style}" customFormat="1"`);
    const ours = async (spec: Partial<SheetSpec>) =>
      /<c r="C3"[^>]*>/.exec(await sheetOf(spec))?.[0];
    expect(await ours({ rows: ofRow(1) })).toBe('<c r="C3" s="1">');
    expect(await ours({ rows: ofRow(2) })).toBe('<c r="C3">');
    expect(await ours({ before: columns(1, 16_384) })).toBe('<c r="C3" s="1">');
    expect(await ours({ rows: ofRow(3), before: columns(1, 16_384) })).toBe('<c r="C3" s="3">');
  });

  it('may use prefixes, and leave out where cells are', async () => {
    const xml = `<x:worksheet xmlns:x="m"><x:sheetData><x:row><x:c t="str"><x:v>domain</x:v></x:c></x:row ><x:row><x:c t="str"><x:v>ä.com</x:v></x:c></x:row></x:sheetData></x:worksheet>`;
    expect(await sheetOf({ xml })).toContain(
      '<x:c t="str"><x:v>ä.com</x:v></x:c><x:c r="B2"><x:v>0</x:v></x:c></x:row>',
    );
  });
});

describe('a table', () => {
  const after = '<tableParts count="1"><tablePart r:id="rIdTable"/></tableParts>';
  const LEFT = [
    "The table 'T' could not be extended over the added columns: sorting with it moves its own cells and leaves the added ones where they are.",
  ];
  const TOTALS = TABLE.replace('A1:B3"', 'A1:B4" totalsRowCount="1"');

  it('is extended over our columns, so that sorting it keeps rows together', async () => {
    const { parts, notices } = await written(
      { sheets: [{ name: 'S', rows: ROWS, after, table: TABLE }] },
      'a & b',
    );
    expect(notices).toEqual([]);
    expect(parts['xl/tables/table1.xml']).toBe(
      TABLE.replace('displayName="T" ref="A1:B3"', 'displayName="T" ref="A1:C3"')
        .replace('<autoFilter ref="A1:B3"/>', '<autoFilter ref="A1:C3"/>')
        .replace('count="2"', 'count="3"')
        .replace('</tableColumns>', '<tableColumn id="5" name="a &amp; b"/></tableColumns>'),
    );
  });

  it('keeps its totals where they are: they are no row of the list', async () => {
    const rows = ROWS + row(4, 'Total', 2);
    const bytes = await workbookOf({ sheets: [{ name: 'S', rows, after, table: TOTALS }] });
    const opened = await open(bytes);
    expect(opened.scanned).toHaveLength(2);
    const { parts } = await rewrite(opened, ['ours'], () => ['x']);
    expect(parts[SHEET]).toContain(`${row(4, 'Total', 2)}</sheetData>`);
    expect(parts['xl/tables/table1.xml']).toContain('ref="A1:C4"');
  });

  it.each<[string, string, string, string | undefined, readonly string[]]>([
    ['is elsewhere', TABLE.replaceAll('A1:B3', 'A9:B12'), ROWS, undefined, []],
    ['is narrower', TABLE.replaceAll('A1:B3', 'A1:A3'), ROWS, undefined, LEFT],
    [
      'is filled by a query',
      TABLE.replace(' id="1"', ' id="1" tableType="queryTable"'),
      ROWS,
      undefined,
      LEFT,
    ],
    ['has such a name', TABLE, ROWS, 'DOMAIN', LEFT],
    [
      'has a note at its right',
      TABLE,
      ROWS + row(5, 'b.com', null, null, 'call Jo'),
      undefined,
      LEFT,
    ],
  ])('is left alone when it %s', async (_, table, rows, added, expected) => {
    const { parts, notices } = await written(
      { sheets: [{ name: 'S', rows, after, table }] },
      added,
    );
    expect(notices).toEqual(expected);
    expect(parts['xl/tables/table1.xml']).toBe(table);
  });
});

it.each([
  ['A1:B3', 'A1:C3'],
  ['A1:B1', 'A1:C1'],
  ['A9:B12', 'A9:B12'],
  ['D1:E3', 'D1:E3'],
])('a filter over %s becomes one over %s', async (ref, expected) => {
  const sheet = await sheetOf({ after: `<autoFilter ref="${ref}"/>` });
  expect(sheet).toContain(`<autoFilter ref="${expected}"/>`);
});

it.each<[number, number, readonly string[]]>([
  [3, 3, ['3-3 shown']],
  [2, 16_384, ['2-2 hidden', '3-3 shown', '4-16384 hidden']],
  [5, 9, ['5-9 hidden']],
])('columns %d to %d, which are hidden, are shown where ours are', async (min, max, expected) => {
  const before = columns(min, max, 3).replace('width', 'hidden="1" width');
  const tags = [...(await sheetOf({ before })).matchAll(/<col ([^>]*)\/>/g)];
  const attribute = (tag: string, name: string) => new RegExp(`\\b${name}="(\\d+)"`).exec(tag)?.[1];
  const written = tags.map(([tag]) => {
    expect([attribute(tag, 'width'), attribute(tag, 'style')]).toEqual(['9', '3']);
    const range = `${attribute(tag, 'min')}-${attribute(tag, 'max')}`;
    return `${range} ${attribute(tag, 'hidden') === '1' ? 'hidden' : 'shown'}`;
  });
  expect(written).toEqual(expected);
});

it('the hidden name of a filter goes as far as the filter, on its own sheet only', async () => {
  const name = (local: number, ref: string, more = ''): string =>
    `<definedName name="_xlnm._FilterDatabase" localSheetId="${local}" hidden="1"${more}>${ref}</definedName>`;
  const names = (ref: string): string =>
    `<definedNames>${name(0, "'My &amp; list'!$A$1:$B$3")}${name(1, ref)}<definedName name="cities" localSheetId="1">'S'!$B$2:$B$3</definedName></definedNames>`;
  const other = { name: 'My &amp; list', rows: row(1, 'no list'), state: 'hidden' } as const;
  const list = { name: 'S', rows: ROWS, after: '<autoFilter ref="A1:B3"/>' };
  const { parts } = await written({ sheets: [other, list], behind: names('S!$A$1:$B$3') });
  expect(parts['xl/worksheets/sheet2.xml']).toContain('<autoFilter ref="A1:C3"/>');
  expect(parts['xl/workbook.xml']).toContain(names('S!$A$1:$C$3'));
});

it('blank cells are filled, but not formulas, and not what a merged cell covers', async () => {
  const rows =
    row(1, 'domain', 'city') +
    '<row r="2"><c r="A2" t="str"><v>a.com</v></c><c r="B2" s="1"/></row>' +
    row(3, 'b.com') +
    '<row r="4"><c r="A4" t="str"><v>c.com</v></c><c r="B4"><f>A1</f></c></row>' +
    row(5, 'd.com', 'Oslo') +
    row(6, 'e.com', ' ');
  const bytes = await workbookOf({ sheets: [{ name: 'S', rows, after: merge('B2:B3') }] });
  const opened = await open(bytes);
  const fill = { column: 1, value: '=Rome' };
  const { parts } = await rewrite(opened, ['ours'], () => ['x'], fill);
  const sheet = parts[SHEET] ?? '';
  const cell = '<is><t xml:space="preserve">=Rome</t></is></c>';
  expect(sheet.match(/=Rome/g)).toHaveLength(2);
  expect(sheet).toContain(`<c r="B2" s="1" t="inlineStr">${cell}`);
  expect(sheet).toContain(`<c r="B6" t="inlineStr">${cell}<c r="C6"`);
  const first = { raw: opened.scanned[0]?.raw ?? '', fields: 2 };
  const { raw = '' } = opened.format.fillCell(first, { index: 1, name: 'city' }, '=Rome') ?? {};
  expect(opened.format.toObject(raw)).toEqual({ domain: 'a.com', city: '=Rome' });
  const csv = (keepsFormulas: boolean): string =>
    opened.format.createWriter(['x'], { maxFields: 2, keepsFormulas }).row(raw, 2, ['y']);
  expect([csv(false), csv(true)]).toEqual(["a.com,'=Rome,y\n", 'a.com,=Rome,y\n']);
});

it('values are read again as they were given, whole numbers of many digits as text', async () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('007', '=1+1', ' a ', 'a\r\nb', '_x0041_', '\0\x01', '1e5', '<&>"]]>'),
  );
  const value = fc.oneof(
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    fc.boolean(),
  );
  const bytes = await workbookOf({ sheets: [{ name: 'S', rows: ROWS }] });
  const opened = await open(bytes);
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 4, maxLength: 4 }), async (values) => {
      const names = ['a', 'b', 'c', 'd'];
      const again = await open((await rewrite(opened, names, () => values)).bytes);
      const expected = values.map((given) => {
        if (typeof given === 'string') return given === '' ? null : Buffer.from(given).toString();
        const isLong = Number.isInteger(given) && Math.abs(Number(given)) >= 1e11;
        return isLong ? String(given) : given === 0 ? 0 : given;
      });
      const got = again.rows.map((row) => names.map((name) => row[name]));
      expect(got).toEqual([expected, expected]);
    }),
    { seed, numRuns: 12 },
  );
});

it('a text that is too long for a cell is cut', async () => {
  const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows: ROWS }] }));
  const { bytes } = await rewrite(opened, ['ours'], () => ['ä'.repeat(40_000)]);
  expect((await open(bytes)).rows[0]?.['ours']).toBe(`${'ä'.repeat(32_766)}…`);
});

it('columns that a sheet cannot hold are refused', async () => {
  const opened = await open(await workbookOf({ sheets: [{ name: 'S', rows: ROWS }] }));
  const names = Array.from({ length: 16_383 }, (_, at) => `c${at}`);
  await expect(rewrite(opened, names, () => [])).rejects.toThrow(/a sheet holds 16384 columns/);
});

describe('parts', () => {
  const usual = partsOf({
    sheets: [{ name: 'S', rows: ROWS }],
  });

  it.each<[string, (path: string) => string]>([
    ['in capitals', (path) => path.toUpperCase()],
    ['in small letters', (path) => path.toLowerCase()],
  ])('are found by their names %s', async (_, spell) => {
    const renamed = Object.entries(usual).map(([path, content]) => [spell(path), content]);
    const { parts } = await rewrite(
      await open(await zipOf(Object.fromEntries(renamed) as Parts)),
      ['ours'],
      () => [1],
    );
    expect(parts[spell(SHEET)]).toContain('ours');
  });

  it('that cannot be copied are told of before anything is paid for', async () => {
    const bytes = await zipOf({ ...usual, 'docProps/app.xml': 'app' });
    bytes.write('XX', bytes.indexOf('docProps/app.xml') - 30);
    await expect(rewrite(await open(bytes), ['ours'], () => [1])).rejects.toThrow(
      /^Cannot write .*list\.xlsx again: .*; give an option 'out' that ends in \.csv, or open it/,
    );
  });
});

it('what goes wrong with the file that is written is thrown', async () => {
  const { format, scanned } = await open(await workbookOf({ sheets: [{ name: 'S', rows: ROWS }] }));
  const output = format.binary?.begin(['ours'], () => Promise.reject(new Error('full')));
  const raw = scanned[0]?.raw ?? '';
  const work = async (): Promise<void> => {
    await output?.append([{ raw, fields: 2, cells: ['x'] }]);
    await output?.finish();
  };
  await expect(work()).rejects.toThrow('full');
});
