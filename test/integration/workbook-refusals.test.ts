import { describe, it } from 'vitest';
import { partsOf, row, workbookOf, zipOf } from '../rows/xlsx/workbooks.ts';
import { openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';
import { expectRefusal, expectUntouched } from './support/refusals.ts';

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
    const folder = openFolder();
    folder.write('list.csv', 'domain\nacme.com\n');
    const ended = await runHere(['enrich', 'list.csv', '--sheet', 'A', ...API], {
      cwd: folder.path,
    });
    expectRefusal(ended, /Cannot find the sheet 'A' in list\.csv: it is no workbook/);
  });
});
