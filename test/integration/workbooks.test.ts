import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { open, partsOf, readParts, row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { openScripted } from './support/api.ts';
import { run, runHere, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { cellsOf, type Folder, openFolder } from './support/folder.ts';
import { expectRefusal, expectUntouched } from './support/refusals.ts';

const ANSWERS = {
  'acme.com': { body: { name: '=Acme', employees: 12, big: false, city: 'Oslo' } },
  'globex.com': { status: 404 },
};
const FIELDS = 'name=name,employees=employees,big=big';
/** A list below a title, with a date, a formula, a number as text, and another sheet. */
const SPEC = {
  styles: '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="0" fontId="1"/></cellXfs>',
  parts: { 'xl/calcChain.xml': '<calcChain><c r="D4" i="1"/></calcChain>' },
  sheets: [
    {
      name: 'Accounts',
      after: '<mergeCells count="1"><mergeCell ref="A1:D1"/></mergeCells>',
      rows:
        row(1, 'Our accounts') +
        row(3, 'Name', 'Website', 'Since', 'City').replace('<c r="D3"', '<c r="D3" s="2"') +
        '<row r="4" ht="30"><c r="A4" t="str"><f>UPPER("acme")</f><v>ACME</v></c><c r="B4" t="inlineStr"><is><t>acme.com</t></is></c><c r="C4" s="1"><v>45352</v></c><c r="D4" s="2"/></row>' +
        '<row r="5"><c r="A5" t="inlineStr"><is><t>007</t></is></c><c r="B5" t="inlineStr"><is><t>globex.com</t></is></c><c r="C5" s="1"><v>45353.5</v></c><c r="D5" t="inlineStr"><is><t>Rome</t></is></c></row>' +
        row(6, 'Hooli', 'nothing here'),
    },
    { name: 'Notes', rows: row(1, 'do not lose this', 42) },
  ],
};

async function openList(): Promise<Folder> {
  const folder = openFolder();
  folder.write('list.xlsx', await workbookOf(SPEC));
  return folder;
}

describe('a workbook', () => {
  it('comes back as it was, with our columns in its list and the failures in a CSV beside it', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const ended = await runHere(
      ['enrich', 'list.xlsx', '--base-url', url, '--fields', FIELDS, '--fill', 'City=city'],
      { cwd: folder.path },
    );
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toMatch(
      /format {3}XLSX, sheet 'Accounts', header in row 3\n {2}domains {2}in column 'Website'/,
    );
    expect(ended.stderr).toMatch(/failures {2}list\.failures\.csv \(2 rows\)/);
    expect(ended.stderr).toContain('sheet row 6 ');
    expect(folder.names()).toEqual(['list.enriched.xlsx', 'list.failures.csv', 'list.xlsx']);

    const bytes = readFileSync(folder.at('list.enriched.xlsx'));
    const sheetPath = 'xl/worksheets/sheet1.xml';
    const parts = await readParts(bytes);
    expect({ ...parts, [sheetPath]: '' }).toEqual({ ...partsOf(SPEC), [sheetPath]: '' });
    const sheet = parts[sheetPath] ?? '';
    const cell = (text: string): string => `<is><t xml:space="preserve">${text}</t></is></c>`;
    expect(sheet).toContain(`<c r="D4" s="2" t="inlineStr">${cell('Oslo')}`);
    expect(sheet).toContain(
      `<c r="H4" t="inlineStr">${cell('=Acme')}<c r="I4"><v>12</v></c><c r="J4" t="b"><v>0</v></c></row>`,
    );
    expect(sheet).toContain('<c r="J3" s="2" t="inlineStr">');
    const list = await open(bytes, { column: 'Website' });
    expect(list.rows).toMatchObject([
      { Name: 'ACME', Since: '2024-03-01', City: 'Oslo', brand_status: 'found', brand_big: false },
      { Name: '007', City: 'Rome', brand_status: 'not_found', brand_name: null },
      { Name: 'Hooli', brand_status: 'invalid' },
    ]);
    const failures = folder.read('list.failures.csv');
    expect(failures.startsWith('\uFEFFName,Website,')).toBe(true);
    expect(cellsOf(failures)[1]?.slice(0, 4)).toEqual([
      '007',
      'globex.com',
      '2024-03-02T12:00:00',
      'Rome',
    ]);
  });

  it('has the same bytes when the same is written again, from standard input too', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, fields: FIELDS });
    const flags = ['--base-url', url, '--fields', FIELDS, '--json'];
    const piped = await run(['enrich', '-', '--out', 'piped.xlsx', ...flags], {
      cwd: folder.path,
      stdin: readFileSync(folder.at('list.xlsx')),
    });
    expect(summaryOf(piped)).toMatchObject({
      rows: 3,
      out: 'piped.xlsx',
      failures: 'piped.failures.csv',
    });
    const first = readFileSync(folder.at('list.enriched.xlsx'));
    expect(readFileSync(folder.at('piped.xlsx')).equals(first)).toBe(true);
  });

  it('becomes CSV when the output is called so', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const options = { baseUrl: url, fields: 'name=name', input: 'list.xlsx' };
    await enrichIn(folder, { ...options, out: 'list.csv' });
    expect(cellsOf(folder.read('list.csv').replace('\uFEFF', '')).slice(1, 3)).toEqual([
      ['ACME', 'acme.com', '2024-03-01', '', 'acme.com', 'found', '<time>', "'=Acme"],
      ['007', 'globex.com', '2024-03-02T12:00:00', 'Rome', 'globex.com', 'not_found', '<time>', ''],
    ]);
  });
});

describe('a workbook is refused before any call:', () => {
  const API = ['--base-url', 'http://127.0.0.1:9'];

  it.each<[string, string[], RegExp]>([
    ['to write an old workbook', ['--out', 'o.xls'], /a name that ends in \.xlsx, or in \.csv/],
    ['failures as a workbook', ['--failures', 'f.xlsx'], /a name that ends in \.csv/],
    [
      'to take it without a header',
      ['--no-header'],
      /--no-header for list\.xlsx, which is XLSX: leave it out/,
    ],
  ])('%s', async (_, flags, expected) => {
    const folder = await openList();
    const ended = await runHere(['enrich', 'list.xlsx', ...API, ...flags], { cwd: folder.path });
    expectRefusal(ended, expected);
    expectUntouched(folder, ['list.xlsx']);
  });

  it.each<[string, string[], RegExp]>([
    ['cannot be told', [], /Cannot tell which column of list\.xlsx/],
    ['was named', ['--domain-column', 'Website'], /Cannot find the column 'Website'/],
  ])('a sheet without the column that %s, with the names of others', async (_, flags, expected) => {
    const folder = openFolder();
    const cover = { name: 'Read me', rows: row(1, 'How to') + row(2, 'read') };
    folder.write('list.xlsx', await workbookOf({ ...SPEC, sheets: [cover, ...SPEC.sheets] }));
    const ended = await runHere(['enrich', 'list.xlsx', ...flags, ...API], { cwd: folder.path });
    expectRefusal(ended, expected);
    expectRefusal(
      ended,
      /the sheet 'Read me' seems to be no list: --sheet takes 'Accounts' \(column '.*'\)/,
    );
  });
});
