import { readFileSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SaxesParser } from 'saxes';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPackage } from '../../src/rows/xlsx/package.ts';
import { type RunEvent } from '../../src/watch/events.ts';
import { partsOf, readParts, row, workbookOf, zipOf } from '../rows/xlsx/workbooks.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openApi, openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { openFolder } from './support/folder.ts';
import { openList } from './support/lists.ts';
import { runHere } from './support/program.ts';
import { expectRefusal, expectUntouched } from './support/refusals.ts';

it('a workbook of a hundred thousand equal rows, as programs write them, is no ZIP bomb', async () => {
  const columns = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L'];
  const rows = Array.from({ length: 100_000 }, (_, at) => {
    const cells = columns.map((column) => `<c r="${column}${at + 1}" t="s"><v>0</v></c>`);
    return `<row r="${at + 1}" spans="1:12">${cells.join('')}</row>`;
  });
  const sheet = `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`;
  expect(sheet.length).toBeGreaterThan(32_000_000);
  const parts = partsOf({ sheets: [{ name: 'S', rows: row(1, 'domain') }] });
  const path = join(useTempFolder(), 'list.xlsx');
  writeFileSync(path, await zipOf({ ...parts, 'xl/worksheets/sheet1.xml': sheet }));
  const handle = await openFile(path);
  onTestFinished(() => handle.close());
  await openPackage(handle, 'list.xlsx');
});

it('a table is told of when sorting it would tear our columns off their rows', async () => {
  const folder = openFolder();
  const table =
    '<table xmlns="m" id="1" name="T" displayName="T" ref="A1:A2"><tableColumns count="1"><tableColumn id="1" name="domain"/></tableColumns></table>';
  const after = '<tableParts count="1"><tablePart r:id="rIdTable"/></tableParts>';
  const rows = row(1, 'domain') + row(2, 'acme.com', null, 'call Jo');
  folder.write('list.xlsx', await workbookOf({ sheets: [{ name: 'S', rows, after, table }] }));
  const { url } = await openScripted({});
  const notices: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'notice') notices.push(event.message);
  };
  await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, onEvent, out: 'o.csv' });
  expect(notices).toEqual([]);
  await enrichIn(folder, { input: 'list.xlsx', baseUrl: url, onEvent });
  expect(notices).toEqual([
    expect.stringMatching(/^The table 'T' in .*list\.enriched\.xlsx could not be extended over/),
  ]);
});

const SAMPLE = new URL('../../samples/crm-export.xlsx', import.meta.url);

/** @throws an error that says where a text is no XML, or uses a prefix that is not declared */
function assertWellFormed(xml: string, path: string): void {
  const parser = new SaxesParser({ xmlns: true, fileName: path });
  parser.on('error', (error) => {
    throw error;
  });
  parser.write(xml).close();
}

it('the sample workbook, of a program that declares prefixes where it uses them, comes back well-formed', async () => {
  const folder = openFolder();
  folder.write('crm-export.xlsx', readFileSync(SAMPLE));
  const { url } = await openApi();
  const ended = await runHere(['enrich', 'crm-export.xlsx', '--base-url', url], {
    cwd: folder.path,
  });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  // Three rows of title stand above the header.
  expect(ended.stderr).toContain('Invalid, for example: sheet row 11 (empty); sheet row 12 ');
  const parts = await readParts(readFileSync(folder.at('crm-export.enriched.xlsx')));
  expect(Object.keys(parts)).toContain('xl/workbook.xml');
  for (const [path, xml] of Object.entries(parts)) assertWellFormed(xml, path);
});

const SPEC = {
  sheets: [
    { name: 'Accounts', rows: row(1, 'Website') + row(2, 'acme.com') },
    { name: 'Notes', rows: row(1, 'do not lose this') },
  ],
};

describe('a workbook is refused before any call:', () => {
  const API = ['--base-url', 'http://127.0.0.1:9'];

  it.each<[string, string[], RegExp]>([
    ['a sheet that is not there', ['--sheet', 'Acounts'], /there are: Accounts, Notes\./],
    ['to write an old workbook', ['--out', 'o.xls'], /written as XLSX/],
    ['to promise macros', ['--out', 'o.xlsm'], /a name that ends in \.xlsx/],
    ['to compress a workbook again', ['--out', 'o.xlsx.gz'], /compressed already/],
    ['to merge it', ['--merge', 'list.xlsx'], /it is a workbook; enrich the whole list again/],
    ['to take it without a header', ['--no-header'], /it is for CSV, and this is a workbook/],
    ['to skip lines of it', ['--skip-lines', '2'], /titles are left out by themselves/],
  ])('%s', async (_, flags, expected) => {
    const folder = openFolder();
    folder.write('list.xlsx', await workbookOf(SPEC));
    expectRefusal(
      await runHere(['enrich', 'list.xlsx', ...API, ...flags], { cwd: folder.path }),
      expected,
    );
    expectUntouched(folder, ['list.xlsx']);
  });

  it('a list without a header, which no flag mends', async () => {
    const folder = openFolder();
    const rows = row(1, 'Acme', 'acme.com') + row(2, 'Globex', 'globex.com');
    folder.write('list.xlsx', await workbookOf({ sheets: [{ name: 'S', rows }] }));
    const ended = await runHere(['enrich', 'list.xlsx', ...API], { cwd: folder.path });
    expectRefusal(
      ended,
      /put a line with column names on top, such as: domain; if it is the header, name the column with --domain-column\.$/,
    );
  });

  it.each<[string, string[], RegExp]>([
    ['cannot be told', [], /Cannot tell which column of list\.xlsx/],
    ['was named', ['--domain-column', 'Website'], /Cannot find the column 'Website'/],
  ])('a sheet without the column that %s, with the names of others', async (_, flags, expected) => {
    const folder = openFolder();
    const sheets = [{ name: 'Read me', rows: row(1, 'How to') + row(2, 'read') }, ...SPEC.sheets];
    folder.write('list.xlsx', await workbookOf({ sheets }));
    const ended = await runHere(['enrich', 'list.xlsx', ...flags, ...API], { cwd: folder.path });
    expectRefusal(ended, expected);
    expectRefusal(
      ended,
      /there are: How to; the sheet 'Read me' seems to be no list: --sheet takes 'Accounts' \(column 'Website'\)\.$/,
    );
  });

  it('a sheet without domains, with the names of others, when none of them seems to be a list', async () => {
    const folder = openFolder();
    const notes = { name: 'Notes', rows: row(1, 'do not lose this') + row(2, 'nor this') };
    const sheets = [{ name: 'Read me', rows: row(1, 'How to') + row(2, 'read') }, notes];
    folder.write('list.xlsx', await workbookOf({ sheets }));
    const ended = await runHere(['enrich', 'list.xlsx', ...API], { cwd: folder.path });
    expectRefusal(ended, /these are of the sheet 'Read me', --sheet takes another: Notes\.$/);
  });

  it('one that cannot be written again, though its rows can be read', async () => {
    const folder = openFolder();
    const types = '<Types><Default';
    folder.write('list.xlsx', await zipOf({ ...partsOf(SPEC), '[Content_Types].xml': types }));
    for (const flags of [[], ['--dry-run']]) {
      const ended = await runHere(['enrich', 'list.xlsx', ...flags, ...API], { cwd: folder.path });
      expectRefusal(ended, /Cannot write list\.xlsx again: .*; give an --out that ends in \.csv/);
      expectUntouched(folder, ['list.xlsx']);
    }
  });

  it('a ZIP bomb', async () => {
    const folder = openFolder();
    const bomb = Buffer.alloc(64_000_000, ' ');
    folder.write('list.xlsx', await zipOf({ ...partsOf(SPEC), 'xl/worksheets/sheet1.xml': bomb }));
    expectRefusal(await runHere(['enrich', 'list.xlsx', ...API], { cwd: folder.path }), /ZIP bomb/);
  });

  it('a sheet for a list that has none', async () => {
    const folder = openList('domain\nacme.com\n');
    const ended = await runHere(['enrich', 'list.csv', '--sheet', 'A', ...API], {
      cwd: folder.path,
    });
    expectRefusal(ended, /Cannot find the sheet 'A' in list\.csv: it is no workbook/);
  });
});
