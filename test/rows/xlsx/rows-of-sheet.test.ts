import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSheetOfList } from '../../../src/collector/output/workbook-file.ts';
import { withUnlistedRows } from '../../../src/rows/xlsx/row-line.ts';
import { createInPlaceWriter } from '../../../src/rows/xlsx/sheet-writer.ts';
import { rewriteWorkbook } from '../../../src/rows/xlsx/workbook-writer.ts';
import { seededRandom } from '../../support/random.ts';
import {
  type OpenedWorkbook,
  open,
  packRows,
  readParts,
  row,
  type SheetSpec,
  workbookOf,
} from './workbooks.ts';

const seed = Math.floor(seededRandom('rows-of-sheet.test.ts').next() * 2 ** 31);

const HEADER = row(1, 'domain', 'city');
const FILTER =
  '<autoFilter ref="A1:B4"><filterColumn colId="1"><filters><filter val="Oslo"/></filters></filterColumn></autoFilter>';

async function openSheet(rows: string, more: Partial<SheetSpec> = {}): Promise<OpenedWorkbook> {
  return await open(await workbookOf({ sheets: [{ name: 'S', rows, ...more }] }));
}

/** The lines of the spool. */
async function rawsOf({ source, scanned }: OpenedWorkbook): Promise<readonly string[]> {
  let text = '';
  for await (const chunk of source.read()) text += chunk.toString();
  let at = 0;
  return scanned.map(({ sizeBytes }) => {
    at += sizeBytes;
    return text.slice(at - sizeBytes, at);
  });
}

/** The rows of the sheet when it is written again, with a column of ours. */
async function rewritten(opened: OpenedWorkbook): Promise<string> {
  const { workbook } = opened.format;
  if (!workbook) throw new Error('it was opened as a workbook');
  const width = Math.max(2, ...opened.scanned.map(({ fields }) => fields));
  const writer = createInPlaceWriter(workbook, { added: ['ours'], width, column: { index: 0 } });
  const raws = await rawsOf(opened);
  const rows = raws.map((raw, at) => writer.row(raw, opened.scanned[at]?.fields ?? 0, ['x']));
  const text = writer.header + rows.join('');
  const packed = await packRows(withUnlistedRows(Buffer.from(text), workbook.unlisted));
  const list = { name: 'S', layout: writer.layout, rows: packed };
  const chunks: Buffer[] = [];
  for await (const chunk of rewriteWorkbook(workbook, list, undefined)) chunks.push(chunk);
  return (await readParts(Buffer.concat(chunks)))['xl/worksheets/sheet1.xml'] ?? '';
}

const kinds = {
  list: (number: number) => row(number, `a${number}.com`, 'Oslo'),
  nameless: (number: number) => row(number, null, 'Rome'),
  note: (number: number) => row(number, 'a note on all of this'),
  bordered: (number: number) => `<row r="${number}" ht="30"><c r="A${number}" s="0"/></row>`,
  hidden: (number: number) => `<row r="${number}" hidden="1"></row>`,
  formula: (number: number) =>
    `<row r="${number}"><c r="A${number}"><f>IF(B${number}="","",1)</f><v></v></c></row>`,
};

it('nothing of any row of a sheet is lost, whatever is a row of the list and what is not', async () => {
  const names = fc.constantFrom(
    ...(Object.keys(kinds) as (keyof typeof kinds)[]),
    'missing' as const,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(names, { maxLength: 30 }), async (kindsOfRows) => {
      const rows = kindsOfRows.map((kind, at) => (kind === 'missing' ? '' : kinds[kind](at + 2)));
      const sheet = await rewritten(await openSheet(HEADER + rows.join('')));
      const found = sheet.match(/<row .*?<\/row>/g) ?? [];
      const expected = rows.filter((xml) => xml !== '');
      expect(found).toHaveLength(expected.length + 1);
      for (const [at, xml] of expected.entries()) {
        expect(found[at + 1]).toContain(xml.replace('</row>', ''));
      }
    }),
    { seed, numRuns: 5 },
  );
});

describe('rows below a list', () => {
  it('are none of it when an empty row sets them off and no address is in them', async () => {
    const total =
      '<row r="5"><c r="A5" t="str"><v>Total</v></c><c r="B5"><f>SUM(B2:B3)</f><v>7</v></c></row>';
    const opened = await openSheet(
      HEADER + kinds.list(2) + kinds.nameless(3) + total + kinds.note(6),
    );
    expect(opened.scanned.map(({ sheetRow }) => sheetRow)).toEqual([2, 3]);
    expect(opened.format.notices).toEqual([
      "2 rows below the list (sheet row 5, 'Total') set off by an empty one and without an address: not looked up, and left as they are in a workbook.",
    ]);
    const sheet = await rewritten(opened);
    expect(sheet).toContain(`${total}${kinds.note(6)}</sheetData>`);
    expect(sheet).toContain('<autoFilter ref="A1:C3"/>');
  });

  it('are rows of the list when one of them has an address, or when there are many', async () => {
    const one = await openSheet(HEADER + kinds.list(2) + kinds.nameless(4) + kinds.list(5));
    expect(one.scanned.map(({ sheetRow }) => sheetRow)).toEqual([2, 4, 5]);
    const rows = Array.from({ length: 150 }, (_, at) => kinds.nameless(at + 4));
    const many = await openSheet(HEADER + kinds.list(2) + rows.join(''));
    expect(many.scanned).toHaveLength(151);
    expect(many.format.notices).toEqual([]);
  });

  it('are looked up when they are outside of its table, and it is said', async () => {
    const table =
      '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:B2"><tableColumns count="2"><tableColumn id="1" name="domain"/><tableColumn id="2" name="city"/></tableColumns></table>';
    const opened = await openSheet(HEADER + kinds.list(2) + kinds.list(3) + kinds.list(4), {
      table,
    });
    expect(opened.scanned).toHaveLength(3);
    expect(opened.format.noticesOf?.({ index: 0, name: 'domain' })).toEqual([
      "2 rows below the table 'T' (from sheet row 3): looked up like the others, but sorting the table leaves them where they are.",
    ]);
    expect(opened.format.noticesOf?.({ index: 2, name: 'other' })).toEqual([]);
  });

  it('are kept by the ten thousand, when they are empty but for their formats', async () => {
    const blank = Array.from({ length: 20_000 }, (_, at) => kinds.bordered(at + 3)).join('');
    const opened = await openSheet(HEADER + kinds.list(2) + blank);
    expect(opened.scanned).toHaveLength(1);
    expect(await rewritten(opened)).toContain(`${blank}</sheetData>`);
  });
});

describe('rows that are hidden', () => {
  const rows =
    HEADER +
    kinds.list(2) +
    [3, 4].map((number) => kinds.list(number).replace('<row ', '<row hidden="1" ')).join('');

  it.each([
    ['2 of 3 rows are hidden by a filter', FILTER],
    ['2 of 3 rows are hidden', ''],
  ])('are counted: %s', async (said, after) => {
    const { format } = await openSheet(rows, { after });
    expect(format.notices).toEqual([
      `${said}: looked up like the others, and hidden in the output too.`,
    ]);
  });

  it('are hidden on a sheet of their own too, and so are columns', async () => {
    const before = '<cols><col min="2" max="9" width="9" hidden="1"/></cols>';
    const opened = await openSheet(rows, { before });
    const { format } = opened;
    const writer = createSheetOfList({ format, extent: { maxFields: 2 }, added: ['reason'] });
    const written = (await rawsOf(opened)).map((raw) => writer.row(raw, 2, ['x']));
    expect(written.map((xml) => /^<row r="\d" hidden="1">/.test(xml))).toEqual([false, true, true]);
    expect([...writer.layout.hidden]).toEqual([1]);
  });
});

describe('a sheet in front of the one with the list', () => {
  const list = { name: 'Leads', rows: row(1, 'Name', 'Website') + row(2, 'Acme', 'acme.com') };
  const cover = { name: 'Cover', rows: row(1, 'Accounts') + row(2, 'by', 'agency.com') };

  it('is told of where its cells could be taken for a list', async () => {
    const { format } = await open(await workbookOf({ sheets: [cover, list] }));
    expect(format.notices).toEqual([
      "The sheet 'Leads' has domains in its column 'Website': if that is the list, and not 'Cover', take it with --sheet.",
    ]);
  });

  it('is not looked for when the first one is a list, or was named', async () => {
    const both = await workbookOf({ sheets: [list, cover] });
    expect((await open(both)).format.notices).toEqual([]);
    expect((await open(both, { sheet: 'Cover' })).format.notices).toEqual([]);
  });
});

it('a header may have the name of a site among its columns', async () => {
  for (const name of ['Booking.com', 'account.group']) {
    const rows =
      row(1, 'Hotel', 'Website', name) +
      row(2, 'Acme', 'acme.com', 8.5) +
      row(3, 'Globex', 'globex.com', 'yes');
    const { format, scanned } = await openSheet(rows);
    expect(format.columns).toEqual(['Hotel', 'Website', name]);
    expect(scanned).toHaveLength(2);
  }
});
