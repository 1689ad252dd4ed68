import { describe, expect, it } from 'vitest';
import { withUnlistedRows } from '../../../src/rows/xlsx/row-line.ts';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { findLeftBehind, rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import {
  open,
  packRows,
  RELATIONS,
  readParts,
  row,
  type WorkbookSpec,
  workbookOf,
} from './workbooks.ts';

const ROWS = row(1, 'domain', 'city') + row(2, 'acme.com', 'Oslo') + row(3, 'globex.com', 'Rome');
const TABLE =
  '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:B3"><autoFilter ref="A1:B3"/><tableColumns count="2"><tableColumn id="1" name="domain"/><tableColumn id="4" name="city"/></tableColumns></table>';

const TABLE_PART = '<tableParts count="1"><tablePart r:id="rIdTable"/></tableParts>';

interface Rewritten {
  readonly parts: Record<string, string>;
  /** What sorts rows without our column. */
  readonly left: string | undefined;
}

/** Adds a column `ours` to the list of a workbook. */
async function rewrite(spec: WorkbookSpec, added?: string): Promise<Record<string, string>> {
  return (await rewriteAll(spec, added)).parts;
}

/** @param index that of the column with the domains */
async function rewriteAll(spec: WorkbookSpec, added = 'ours', index = 0): Promise<Rewritten> {
  const column = { index };
  const { source, format, scanned } = await open(await workbookOf(spec));
  const { workbook } = format;
  if (!workbook) throw new Error('it was opened as a workbook');
  const width = Math.max(workbook.columns.length, ...scanned.map(({ fields }) => fields));
  const writer = createInPlaceWriter(workbook, { added: [added], width, column });
  let lines = '';
  for await (const chunk of source.read()) lines += chunk.toString();
  let at = 0;
  const rows = scanned.map(({ sizeBytes, fields }, number) => {
    at += sizeBytes;
    return writer.row(lines.slice(at - sizeBytes, at), fields, [number]);
  });
  const packed = await packRows(
    withUnlistedRows(Buffer.from(writer.header + rows.join('')), workbook.unlisted),
  );
  const chunks: Buffer[] = [];
  const list = { name: workbook.sheet.name, layout: writer.layout, rows: packed };
  for await (const chunk of rewriteWorkbook(workbook, list, undefined)) chunks.push(chunk);
  return {
    parts: await readParts(Buffer.concat(chunks)),
    left: findLeftBehind(workbook, writer.layout),
  };
}

async function sheetOf(spec: WorkbookSpec['sheets'][number]): Promise<string> {
  return (await rewrite({ sheets: [spec] }))['xl/worksheets/sheet1.xml'] ?? '';
}

describe('a table that the list is formatted as', () => {
  it('is extended over our columns, so that sorting it keeps rows together', async () => {
    const after = TABLE_PART;
    const spec = { sheets: [{ name: 'S', rows: ROWS, after, table: TABLE }] };
    const { parts, left } = await rewriteAll(spec);
    expect(parts['xl/tables/table1.xml']).toBe(
      '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:C3"><autoFilter ref="A1:C3"/><tableColumns count="3"><tableColumn id="1" name="domain"/><tableColumn id="4" name="city"/><tableColumn id="5" name="ours"/></tableColumns></table>',
    );
    expect(parts['xl/worksheets/sheet1.xml']).not.toContain('autoFilter');
    expect(left).toBeUndefined();
  });

  it('keeps its totals where they are: they are no row of the list', async () => {
    const totals =
      '<row r="4"><c r="A4" t="inlineStr"><is><t>Total</t></is></c><c r="B4"><f>SUBTOTAL(103,T[city])</f><v>2</v></c></row>';
    const table = TABLE.replace('A1:B3"><', 'A1:B4" totalsRowCount="1"><');
    const sheet = { name: 'S', after: TABLE_PART, table };
    const spec = { sheets: [{ ...sheet, rows: ROWS + totals + row(6, 'initech.com', 'Bonn') }] };
    const { rows, scanned } = await open(await workbookOf(spec));
    expect(rows.map(({ domain }) => domain)).toEqual(['acme.com', 'globex.com', 'initech.com']);
    expect(scanned.map(({ sheetRow }) => sheetRow)).toEqual([2, 3, 6]);
    const parts = await rewrite(spec);
    expect(parts['xl/worksheets/sheet1.xml']).toContain(`${totals}<row r="6">`);
    expect(parts['xl/tables/table1.xml']).toContain('ref="A1:C4"><autoFilter ref="A1:C3"/>');
    const last = await rewrite({ sheets: [{ ...sheet, rows: ROWS + totals }] });
    expect(last['xl/worksheets/sheet1.xml']).toContain(`${totals}</sheetData>`);
  });

  it('does not take rows for totals that have more than those', async () => {
    const table = TABLE.replace('A1:B3"', 'D1:E3" totalsRowCount="1"');
    const side = (number: number, ...cells: readonly string[]): string =>
      row(number, ...cells, null, 'total', 5);
    const rows = side(1, 'domain', 'city') + side(2, 'acme.com', 'Oslo') + side(3, 'a.com', 'Rome');
    const spec = { sheets: [{ name: 'S', rows, after: TABLE_PART, table }] };
    expect((await open(await workbookOf(spec))).rows).toHaveLength(2);
  });

  it('is extended although a name of its own has a line break', async () => {
    const table = TABLE.replace('name="city"', 'name="city&#10;of office"');
    const { parts, left } = await rewriteAll({
      sheets: [{ name: 'S', rows: ROWS, after: TABLE_PART, table }],
    });
    expect(parts['xl/tables/table1.xml']).toContain('ref="A1:C3"');
    expect(left).toBeUndefined();
  });

  const LEFT = "table 'T'";

  it.each([
    ['it is elsewhere', TABLE.replaceAll('A1:B3', 'A9:B12'), ROWS, undefined],
    ['it is narrower', TABLE.replaceAll('A1:B3', 'A1:A3'), ROWS, LEFT],
    ['a query fills it', TABLE.replace(' id="1"', ' id="1" tableType="queryTable"'), ROWS, LEFT],
    [
      'it has a column of nearly our name',
      TABLE.replace('city', 'OURS'),
      ROWS.replace('city', 'OURS'),
      LEFT,
    ],
    ['there is a note right of it', TABLE, ROWS + row(5, 'b.com', null, null, 'call Jo'), LEFT],
  ])('stays as it is when %s', async (_, table, rows, said) => {
    const spec = { sheets: [{ name: 'S', rows, after: TABLE_PART, table }] };
    const { parts, left } = await rewriteAll(spec);
    expect(parts['xl/tables/table1.xml']).toBe(table);
    expect(left).toBe(said);
  });
});

describe('a table beside the list', () => {
  const beside = (number: number, ...cells: readonly string[]): string =>
    row(number, ...cells, null, 'k', 'v');
  const rows =
    beside(1, 'domain', 'city') + beside(2, 'acme.com', 'Oslo') + beside(3, 'a.com', 'Rome');
  const table = TABLE.replaceAll('A1:B3', 'D1:E3');
  const spec = { sheets: [{ name: 'S', rows, after: TABLE_PART, table }] };

  it('has nothing to do with our columns: it stays as it is, and nobody need be told', async () => {
    const { parts, left } = await rewriteAll(spec);
    expect(parts['xl/tables/table1.xml']).toBe(table);
    expect(left).toBeUndefined();
  });

  it('is extended when the domains are in it', async () => {
    const { parts } = await rewriteAll(spec, 'ours', 3);
    expect(parts['xl/tables/table1.xml']).toContain('ref="D1:F3"');
  });
});

describe('a sheet', () => {
  it('keeps its own frozen panes', async () => {
    const before =
      '<sheetViews><sheetView workbookViewId="0"><pane xSplit="1" topLeftCell="B1" state="frozen"/></sheetView></sheetViews>';
    expect(await sheetOf({ name: 'S', rows: ROWS, before })).toContain(before);
  });

  it('is frozen below its header, and keeps what else there is to its view', async () => {
    const before =
      '<sheetPr><tabColor rgb="FF0000"/></sheetPr><sheetViews><sheetView showGridLines="0" topLeftCell="A40" workbookViewId="0"><selection activeCell="B50"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>';
    expect(await sheetOf({ name: 'S', rows: ROWS, before })).toContain(
      '<sheetPr><tabColor rgb="FF0000"/></sheetPr><sheetViews><sheetView showGridLines="0" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><cols>',
    );
  });

  it('has its own filter, with what it filters by, over our columns too', async () => {
    const filter = '<filterColumn colId="1"><filters><filter val="Oslo"/></filters></filterColumn>';
    const after = `<sheetProtection sheet="1"/><autoFilter ref="A1:B3">${filter}</autoFilter><pageMargins left="1"/>`;
    const behind =
      '<definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">S!$A$1:$B$3</definedName></definedNames>';
    const spec = { sheets: [{ name: 'S', rows: ROWS, after }], behind };
    const { parts, left } = await rewriteAll(spec);
    expect(left).toBeUndefined();
    expect(parts['xl/worksheets/sheet1.xml']).toContain(
      `</sheetData><sheetProtection sheet="1"/><autoFilter ref="A1:C3">${filter}</autoFilter><pageMargins left="1"/></worksheet>`,
    );
    expect(parts['xl/workbook.xml']).toContain('hidden="1">S!$A$1:$C$3<');
  });

  it.each([
    ['A1:B3', 'filter'],
    ['$A$1:$B$3', 'filter'],
    ['A9:B12', undefined],
    ['D1:E3', undefined], // as some programs write it besides that of the table
  ])('has its filter over %s beside a table, which is in its way', async (ref, expected) => {
    const side = (number: number, ...cells: readonly string[]): string =>
      row(number, ...cells, null, 'k', 'v');
    const rows = side(1, 'domain', 'city') + side(2, 'acme.com', 'Oslo') + side(3, 'a.com', 'Rome');
    const after = `<autoFilter ref="${ref}"/>${TABLE_PART}`;
    const table = TABLE.replaceAll('A1:B3', 'D1:E3');
    const name = `<definedName name="_xlnm._FilterDatabase" localSheetId="0">S!$A$1:$B$3</definedName>`;
    const behind = `<definedNames>${name}</definedNames>`;
    const spec = { sheets: [{ name: 'S', rows, after, table }], behind };
    const { parts, left } = await rewriteAll(spec);
    expect(parts['xl/worksheets/sheet1.xml']).toContain(after);
    if (expected) expect(parts['xl/workbook.xml']).toContain(name);
    expect(left).toBe(expected);
  });

  it.each([
    ['the header', 'B1:D1', 'E'],
    ['a row', 'B3:D3', 'E'],
    ['a whole row, which is a note', 'A3:E3', 'C'],
    ['cells above the list', 'A1:F1', 'C', 1],
    ['cells beside the list', 'D2:E2', 'C'],
  ])('has our column behind what is merged with %s', async (_, ref, column, above = 0) => {
    const after = `<mergeCells count="2"><mergeCell ref="A2:A3"/><mergeCell ref="${ref}"/></mergeCells>`;
    const title = above === 0 ? '' : row(1, 'Accounts');
    const rows = [['domain', 'city'], ['acme.com', 'Oslo'], ['globex.com']]
      .map((cells, at) => row(at + 1 + above, ...cells))
      .join('');
    const sheet = await sheetOf({ name: 'S', rows: title + rows, after });
    expect(sheet).toContain(`<c r="${column}${1 + above}"`);
    expect(sheet).toContain(`<c r="${column}${3 + above}"`);
    expect(sheet).toContain(after);
  });

  const anchors = {
    'from one cell to another': (column: number) =>
      `<d:twoCellAnchor><d:from><d:col>${column}</d:col><d:colOff>9</d:colOff><d:row>1</d:row></d:from><d:to><d:col>${column + 3}</d:col><d:colOff>9</d:colOff><d:row>9</d:row><d:rowOff>9</d:rowOff></d:to></d:twoCellAnchor>`,
    'from a cell on': (column: number) =>
      `<d:oneCellAnchor><d:from><d:col>${column}</d:col><d:colOff>0</d:colOff><d:row>1</d:row></d:from><d:ext cx="2000000" cy="900000"/><d:graphicFrame><a:ext cx="9000000"/></d:graphicFrame></d:oneCellAnchor>`,
    'in a place of its own': (column: number) =>
      `<d:absoluteAnchor><d:pos x="${column * 609_600}" y="190500"/><d:ext cx="2000000" cy="900000"/></d:absoluteAnchor>`,
  };

  it.each(Object.entries(anchors))('has our column behind a picture %s', async (_, anchor) => {
    const drawing = (at: number): WorkbookSpec => ({
      sheets: [{ name: 'S', rows: ROWS }],
      parts: {
        'xl/worksheets/_rels/sheet1.xml.rels': `<Relationships><Relationship Id="d" Type="${RELATIONS}/drawing" Target="../drawings/drawing1.xml"/></Relationships>`,
        'xl/drawings/drawing1.xml': `<d:wsDr xmlns:d="d" xmlns:a="a">${anchor(at)}</d:wsDr>`,
      },
    });
    const beside = (await rewrite(drawing(2)))['xl/worksheets/sheet1.xml'];
    expect(beside).toContain('<c r="G2">'.replace('>', ''));
    expect(beside).not.toMatch(/<c r="[C-F]\d/);
    const before = (await rewrite(drawing(-4)))['xl/worksheets/sheet1.xml'];
    expect(before).toContain('<c r="C2"');
  });

  it('has our column behind a comment on a cell that is empty, but not of those elsewhere', async () => {
    const sheetOn = async (ref: string): Promise<string | undefined> => {
      const parts = {
        'xl/worksheets/_rels/sheet1.xml.rels': `<Relationships><Relationship Id="c" Type="${RELATIONS}/comments" Target="../comments1.xml"/></Relationships>`,
        'xl/comments1.xml': `<comments><commentList><comment ref="${ref}" authorId="0"><text><t>E9</t></text></comment></commentList></comments>`,
      };
      return (await rewrite({ sheets: [{ name: 'S', rows: ROWS }], parts }))[
        'xl/worksheets/sheet1.xml'
      ];
    };
    expect(await sheetOn('E2')).toContain('<c r="F2"');
    for (const ref of ['A2', 'E9']) expect(await sheetOn(ref)).toContain('<c r="C2"');
  });

  it('has our column behind sparklines', async () => {
    const after =
      '<extLst><ext uri="u"><y:sparklineGroups xmlns:y="y"><y:sparklineGroup><y:sparklines><y:sparkline><z:f>S!A2:B2</z:f><z:sqref>D2</z:sqref></y:sparkline><y:sparkline><z:f>S!A3:B3</z:f><z:sqref>D3</z:sqref></y:sparkline></y:sparklines></y:sparklineGroup></y:sparklineGroups><z:sqref xmlns:z="z">F2</z:sqref></ext></extLst>'.replace(
        '<y:sparklineGroups ',
        '<y:sparklineGroups xmlns:z="z" ',
      );
    expect(await sheetOf({ name: 'S', rows: ROWS, after })).toContain('<c r="E2"');
  });

  it.each([
    ['S!$A$1:$B$3', 'S!$A$1:$C$3'],
    ["'S'!$A:$B", "'S'!$A:$C"],
    ['S!$A$1:$A$3', 'S!$A$1:$A$3'], // what is printed is not the whole list
    ['S!$A$9:$B$12', 'S!$A$9:$B$12'],
    ['S!$A$9:$B$12,S!$A$1:$B$3', 'S!$A$9:$B$12,S!$A$1:$C$3'],
  ])('is printed with our column where %s was printed', async (was, becomes) => {
    const names = (range: string): string =>
      `<definedNames><definedName name="_xlnm.Print_Area" localSheetId="0">${range}</definedName><definedName name="other" localSheetId="0">${was}</definedName></definedNames>`;
    const parts = await rewrite({ sheets: [{ name: 'S', rows: ROWS }], behind: names(was) });
    expect(parts['xl/workbook.xml']).toContain(names(becomes));
  });

  it('keeps its filter of other cells beside the list', async () => {
    const after = '<autoFilter ref="D1:E9"/>';
    expect(await sheetOf({ name: 'S', rows: ROWS, after })).toContain(after);
  });

  it('keeps what its elements are called', async () => {
    const cell = (ref: string, text: string): string =>
      `<x:c r="${ref}" t="str"><x:v>${text}</x:v></x:c>`;
    const xml = `<x:worksheet xmlns:x="m"><x:sheetData xmlns:y="n"><x:row r="1">${cell('A1', 'domain')}</x:row><x:row r="2">${cell('A2', 'acme.com')}</x:row></x:sheetData></x:worksheet>`;
    const sheet = await sheetOf({ name: 'S', rows: '', xml });
    expect(sheet).toContain(
      `${cell('A2', 'acme.com')}<x:c r="B2"><x:v>0</x:v></x:c></x:row></x:sheetData><x:autoFilter ref="A1:B2"/></x:worksheet>`,
    );
    expect(sheet).toContain('<x:sheetData xmlns:y="n"><x:row r="1">');
    expect(sheet).not.toMatch(/<(?!\/?x:|\?)/);
  });
});
