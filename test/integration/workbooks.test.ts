import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { enrichRows } from '../../src/index.ts';
import { open, partsOf, readParts, row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { openScripted } from './support/api.ts';
import { run, summaryOf } from './support/command.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';
import { findMaterial } from './support/material.ts';
import { runHere } from './support/program.ts';
import { cellsOf } from './support/tables.ts';

const ANSWERS = {
  'acme.com': { body: { name: '=Acme', employees: 12, big: false, city: 'Oslo' } },
  'globex.com': { status: 404 },
};
const FIELDS = 'name=name,employees=employees,big=big';
const STYLES =
  '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="0" fontId="1"/></cellXfs>';
/** A list below a title, with a date, a formula, a number as text, formats beyond it, other sheets. */
const SPEC = {
  styles: STYLES,
  before: '<bookViews><workbookView activeTab="1"/></bookViews>',
  behind:
    '<definedNames><definedName name="a" localSheetId="0">Accounts!$A$1</definedName><definedName name="b" localSheetId="1">Notes!$A$1</definedName></definedNames>',
  parts: { 'xl/calcChain.xml': '<calcChain><c r="D4" i="1"/></calcChain>' },
  sheets: [
    {
      name: 'Accounts',
      before: '<dimension ref="A1:D5"/><cols><col min="1" max="16384" width="9"/></cols>',
      after: '<mergeCells count="1"><mergeCell ref="A1:D1"/></mergeCells>',
      rows:
        row(1, 'Our accounts') +
        '<row r="3" spans="1:4"><c r="A3" s="2" t="inlineStr"><is><t>Name</t></is></c><c r="B3" s="2" t="inlineStr"><is><t>Website</t></is></c><c r="C3" s="2" t="inlineStr"><is><t>Since</t></is></c><c r="D3" s="2" t="inlineStr"><is><t>City</t></is></c></row>' +
        '<row r="4" spans="1:4" ht="30"><c r="A4" t="str"><f>UPPER("acme")</f><v>ACME</v></c><c r="B4" t="inlineStr"><is><t>acme.com</t></is></c><c r="C4" s="1"><v>45352</v></c><c r="D4" s="2"/><c r="Z4" s="2"/></row>' +
        '<row r="5"><c r="A5" t="inlineStr"><is><t>007</t></is></c><c r="B5" t="inlineStr"><is><t>globex.com</t></is></c><c r="C5" s="1"><v>45353.5</v></c><c r="D5" t="inlineStr"><is><t>Rome</t></is></c></row>' +
        '<row r="6"><c r="A6" t="str"><f>IF(B6="","",1)</f><v></v></c></row>',
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
  it('comes back as it was, with our columns in its list and the failures on a second sheet', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const ended = await runHere(
      ['enrich', 'list.xlsx', '--base-url', url, '--fields', FIELDS, '--fill', 'City=city'],
      { cwd: folder.path },
    );
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toMatch(
      /list\.xlsx is XLSX, sheet 'Accounts', header in row 3; domains are in column 'Website'/,
    );
    expect(ended.stderr).toMatch(/failures {2}sheet 'failures' of it \(1 row\)/);
    expect(folder.names()).toEqual(['list.enriched.xlsx', 'list.xlsx']);

    const bytes = readFileSync(folder.at('list.enriched.xlsx'));
    const before = partsOf(SPEC);
    const parts = await readParts(bytes);
    expect(parts['xl/worksheets/sheet2.xml']).toBe(before['xl/worksheets/sheet2.xml']);
    expect(parts['xl/styles.xml']).toBe(before['xl/styles.xml']);
    expect(Object.keys(parts)).not.toContain('xl/calcChain.xml');
    const sheet = parts['xl/worksheets/sheet1.xml'] ?? '';
    expect(sheet).toContain(
      '<pane ySplit="3" topLeftCell="A4" activePane="bottomLeft" state="frozen"/>',
    );
    expect(sheet).toContain('<autoFilter ref="A3:J5"/><mergeCells count="1">');
    expect(sheet).toContain(
      '<col width="9" min="1" max="4"/><col min="5" max="5" width="14" customWidth="1"/>',
    );
    expect(sheet).toContain(
      '<row r="4" ht="30"><c r="A4" t="str"><f>UPPER("acme")</f><v>ACME</v></c>',
    );
    expect(sheet).toContain(
      '<c r="D4" s="2" t="inlineStr"><is><t xml:space="preserve">Oslo</t></is></c>',
    );
    expect(sheet).toContain(
      '<c r="H4" t="inlineStr"><is><t xml:space="preserve">=Acme</t></is></c><c r="I4"><v>12</v></c><c r="J4" t="b"><v>0</v></c></row>',
    );
    expect(sheet).toContain('<c r="J3" s="2" t="inlineStr">');
    expect(sheet).toContain('<f>IF(B6="","",1)</f>');
    expect(sheet).not.toMatch(/spans|dimension|Z4/);
    const workbook = parts['xl/workbook.xml'] ?? '';
    // Behind all others, where no reference to a range of sheets such as `Jan:Mar!C2` reaches it.
    expect(workbook).toMatch(/name="Accounts".*name="Notes".*name="failures" sheetId="3" /);
    expect(workbook).toContain('<workbookView activeTab="1"/>');
    expect(workbook).toMatch(/name="a" localSheetId="0".*name="b" localSheetId="1"/);

    const list = await open(bytes, { column: 'Website' });
    expect(list.rows).toEqual([
      {
        Name: 'ACME',
        Website: 'acme.com',
        Since: '2024-03-01',
        City: 'Oslo',
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: expect.any(String),
        brand_name: '=Acme',
        brand_employees: 12,
        brand_big: false,
      },
      {
        Name: '007',
        Website: 'globex.com',
        Since: '2024-03-02T12:00:00',
        City: 'Rome',
        brand_domain: 'globex.com',
        brand_status: 'not_found',
        brand_fetched_at: expect.any(String),
        brand_name: null,
        brand_employees: null,
        brand_big: null,
      },
    ]);
    const failures = await open(bytes, { sheet: 'failures' });
    expect(failures.rows).toEqual([
      {
        Name: '007',
        Website: 'globex.com',
        Since: '2024-03-02T12:00:00',
        City: 'Rome',
        brand_row: 2,
        brand_domain: 'globex.com',
        brand_status: 'not_found',
        brand_reason: 'http_404',
        brand_http_status: 404,
        brand_attempts: 1,
      },
    ]);
    expect((await open(bytes, { sheet: 'Notes' })).format.columns).toEqual([
      'do not lose this',
      '42',
    ]);
  });

  it('whose formulas were never calculated is told of', async () => {
    const folder = openFolder();
    const rows = `${row(1, 'domain', 'n')}<row r="2"><c r="A2" t="str"><v>acme.com</v></c><c r="B2"><f>1+1</f><v/></c></row>`;
    folder.write('list.xlsx', await workbookOf({ sheets: [{ name: 'S', rows }] }));
    const ended = await runHere(
      ['enrich', 'list.xlsx', '--base-url', 'http://127.0.0.1:9', '--dry-run'],
      {
        cwd: folder.path,
      },
    );
    expect(ended.stderr).toContain('Note: 1 formula has no value yet, as if empty');
  });

  it('has the same bytes when the same is written again', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const options = { input: 'list.xlsx', baseUrl: url, fields: FIELDS };
    await enrichIn(folder, options);
    const first = readFileSync(folder.at('list.enriched.xlsx'));
    await enrichIn(folder, options);
    expect(readFileSync(folder.at('list.enriched.xlsx')).equals(first)).toBe(true);
  });

  it('may come from standard input and go to standard output', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const { summary } = await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, out: 'o.xlsx' });
    expect(summary).toMatchObject({ failures: summary.out, failuresSheet: 'failures' });
    const piped = await run(['enrich', '-', '--out', 'piped.xlsx', '--base-url', url, '--json'], {
      cwd: folder.path,
      stdin: readFileSync(folder.at('list.xlsx')),
    });
    expect(summaryOf(piped)).toMatchObject({ rows: 2, out: 'piped.xlsx' });
    expect(readFileSync(folder.at('piped.xlsx')).equals(readFileSync(folder.at('o.xlsx')))).toBe(
      true,
    );
  });

  it('becomes CSV or objects, and CSV becomes a workbook, when the output is called so', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const options = { baseUrl: url, fields: 'name=name' };
    await enrichIn(folder, { ...options, input: 'list.xlsx', out: 'list.csv' });
    expect(cellsOf(folder.read('list.csv'))).toEqual([
      [
        'Name',
        'Website',
        'Since',
        'City',
        'brand_domain',
        'brand_status',
        'brand_fetched_at',
        'brand_name',
      ],
      ['ACME', 'acme.com', '2024-03-01', '', 'acme.com', 'found', '<time>', "'=Acme"],
      ['007', 'globex.com', '2024-03-02T12:00:00', 'Rome', 'globex.com', 'not_found', '<time>', ''],
    ]);
    expect(cellsOf(folder.read('list.failures.csv'))).toHaveLength(2);
    await enrichIn(folder, { ...options, input: 'list.xlsx', out: 'list.jsonl' });
    expect(JSON.parse(folder.read('list.jsonl').split('\n')[0] ?? '')).toMatchObject({
      Name: 'ACME',
      City: null,
      brand_name: '=Acme',
    });

    folder.write('small.csv', 'id;domain;price\n007;acme.com;12.50\n\n8;globex.com;1,5;more\n');
    await enrichIn(folder, { ...options, input: 'small.csv', out: 'small.xlsx' });
    const { format, rows } = await open(readFileSync(folder.at('small.xlsx')), {
      column: 'domain',
    });
    expect(format.description).toBe("XLSX, sheet 'small', header in row 1");
    const parts = await readParts(readFileSync(folder.at('small.xlsx')));
    const widths = parts['xl/worksheets/sheet1.xml']?.matchAll(/<col min="(\d)"/g) ?? [];
    expect([...widths].map(([, place]) => place).join('')).toBe('12345678');
    expect(rows).toEqual([
      {
        id: '007',
        domain: 'acme.com',
        price: 12.5,
        column_4: null,
        brand_domain: 'acme.com',
        brand_status: 'found',
        brand_fetched_at: expect.any(String),
        brand_name: '=Acme',
      },
      {
        // A row with more cells than the header is not looked up.
        id: 8,
        domain: 'globex.com',
        price: '1,5',
        column_4: 'more',
        brand_domain: null,
        brand_status: 'invalid',
        brand_fetched_at: null,
        brand_name: null,
      },
    ]);
    expect(folder.names()).not.toContain('small.failures.csv');
  });

  it('may have its failures and changes in files of their own, as workbooks too', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const flags = [
      '--failures',
      'f.xlsx',
      '--changes',
      'c.xlsx',
      '--key',
      'Name',
      '--fields',
      FIELDS,
    ];
    await runHere(['enrich', 'list.xlsx', '--base-url', url, ...flags], { cwd: folder.path });
    const failures = await open(readFileSync(folder.at('f.xlsx')));
    expect(failures.format.description).toMatch(/sheet 'failures'/);
    expect(failures.rows).toMatchObject([{ Since: '2024-03-02T12:00:00', brand_row: 2 }]);
    const changes = await open(readFileSync(folder.at('c.xlsx')));
    expect(changes.rows).toMatchObject([{ Name: 'ACME', brand_change: 'new' }, { Name: '007' }]);
    expect(
      Object.keys(await readParts(readFileSync(folder.at('list.enriched.xlsx')))),
    ).not.toContain('xl/worksheets/brandfill1.xml');
    await runHere(['enrich', 'list.xlsx', '--base-url', url, ...flags], { cwd: folder.path });
    expect((await open(readFileSync(folder.at('c.xlsx')))).rows).toEqual([]);
  });

  it('gives programs objects whose values have types', async () => {
    const folder = await openList();
    const { url } = await openScripted(ANSWERS);
    const rows = [];
    const input = folder.at('list.xlsx');
    for await (const row of enrichRows({
      input,
      baseUrl: url,
      store: folder.at('s'),
      fields: FIELDS,
    }))
      rows.push(row);
    expect(rows[0]).toEqual({
      Name: 'ACME',
      Website: 'acme.com',
      Since: '2024-03-01',
      City: null,
      brand_domain: 'acme.com',
      brand_status: 'found',
      brand_fetched_at: expect.any(String),
      brand_name: '=Acme',
      brand_employees: 12,
      brand_big: false,
    });
  });
});

const EXAMPLE = findMaterial('csvkit-examples', 'sheets.xlsx');

it.skipIf(!EXAMPLE)('a workbook of other people keeps its other sheets', async () => {
  const folder = openFolder();
  const before = readFileSync(EXAMPLE ?? '');
  folder.write('list.xlsx', before);
  const { url } = await openScripted({});
  const options = { input: 'list.xlsx', baseUrl: url, sheet: 'data', domainColumn: 'text' };
  await enrichIn(folder, options);
  const after = readFileSync(folder.at('list.enriched.xlsx'));
  const was = await open(before, { sheet: 'data' });
  const is = await open(after, { sheet: 'data' });
  expect(is.rows.map((row, at) => ({ ...row, ...was.rows[at] }))).toEqual(is.rows);
  const other = { sheet: 'ʤ' };
  expect((await open(after, other)).rows).toEqual((await open(before, other)).rows);
  await expect(open(after, { sheet: 'not this one' })).rejects.toThrow(/is empty/);
});
