import { describe, expect, it } from 'vitest';
import { findLeftBehind } from '../../../src/rows/xlsx/left-behind.ts';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { open, readParts, row, type WorkbookSpec, workbookOf } from './workbooks.ts';

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

async function rewriteAll(spec: WorkbookSpec, added = 'ours'): Promise<Rewritten> {
  const { source, scanned } = await open(await workbookOf(spec));
  const { workbook } = source;
  if (!workbook) throw new Error('it was opened as a workbook');
  const width = Math.max(workbook.columns.length, ...scanned.map(({ fields }) => fields));
  const writer = createInPlaceWriter(workbook, { added: [added], width });
  let lines = '';
  for await (const chunk of source.read()) lines += chunk.toString();
  let at = 0;
  const rows = scanned.map(({ sizeBytes, fields }, number) => {
    at += sizeBytes;
    return writer.row(lines.slice(at - sizeBytes, at), fields, [number]);
  });
  const read = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from(writer.header + rows.join(''));
  };
  const chunks: Buffer[] = [];
  const list = { name: workbook.sheet.name, layout: writer.layout, read };
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
