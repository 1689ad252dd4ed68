import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { row, type SheetSpec, type WorkbookSpec, workbookOf } from '../rows/xlsx/workbooks.ts';
import { openScripted } from './support/api.ts';
import { enrichIn } from './support/enrich.ts';
import { type Folder, openFolder } from './support/folder.ts';

// LibreOffice opens the workbooks that were written, calculates them anew, and says what is in
// them.

const soffice = find('soffice', 'BRANDFILL_TEST_SOFFICE');
if (soffice === undefined) {
  console.log(
    'LibreOffice does not judge the workbooks that are written: there is no soffice on this machine (Debian: apt-get install -y --no-install-recommends libreoffice-calc; or name it in BRANDFILL_TEST_SOFFICE).',
  );
}
const STYLES =
  '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="4" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const TABLE_PART = '<tableParts count="1"><tablePart r:id="rIdTable"/></tableParts>';

function formula(ref: string, text: string): string {
  return `<c r="${ref}"><f>${text}</f><v>0</v></c>`;
}

function month(name: string, revenue: number): SheetSpec {
  const rows =
    row(1, 'Website', 'Revenue') + row(2, 'acme.com', revenue) + row(3, 'n/a', revenue + 1);
  return { name, rows };
}

const TOTAL = {
  name: 'Total',
  rows: `<row r="1">${formula('A1', 'SUM(Jan:Mar!B2:B3)')}${formula('B1', 'COUNTA(Jan:Mar!A2:A9)')}</row>`,
};

const TABLE = `<table xmlns="${MAIN}" id="1" name="T" displayName="T" ref="A1:B4" totalsRowCount="1"><autoFilter ref="A1:B3"/><tableColumns count="2"><tableColumn id="1" name="Website"/><tableColumn id="2" name="Revenue&#10;in EUR" totalsRowFunction="sum"/></tableColumns></table>`;

const SPECS: Readonly<Record<string, WorkbookSpec>> = {
  'months.xlsx': { sheets: [month('Jan', 10), month('Feb', 20), month('Mar', 30), TOTAL] },
  'table.xlsx': {
    sheets: [
      {
        name: 'Leads',
        rows: `${row(1, 'Website', 'Revenue&#10;in EUR')}${row(2, 'acme.com', 5)}${row(3, 'n/a', 7)}<row r="4">${formula('B4', 'SUBTOTAL(109,T[Revenue&#10;in EUR])')}</row>`,
        after: TABLE_PART,
        table: TABLE,
      },
      { name: 'Sums', rows: `<row r="1">${formula('A1', 'SUM(Leads!B2:B3)*2')}</row>` },
    ],
  },
  'filtered.xlsx': {
    behind:
      '<definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">Leads!$A$1:$B$3</definedName><definedName name="_xlnm.Print_Area" localSheetId="0">Leads!$A$1:$B$3</definedName></definedNames>',
    sheets: [
      {
        name: 'Leads',
        before: '<cols><col min="2" max="2" width="9" hidden="1" customWidth="1"/></cols>',
        rows: `${row(1, 'Website', 'Revenue')}${row(2, 'acme.com', 5)}${row(3, 'n/a', 7).replace('<row ', '<row hidden="1" ')}<row r="4" ht="30" customHeight="1"><c r="A4" s="1"/></row><row r="5"><c r="A5" t="inlineStr"><is><t>Total</t></is></c>${formula('B5', 'SUM(B2:B3)')}</row>`,
        after:
          '<autoFilter ref="A1:B3"><filterColumn colId="0"><filters><filter val="acme.com"/></filters></filterColumn></autoFilter>',
      },
    ],
  },
};

const FIELDS = 'name=name,big=big';
const ANSWERS = { 'acme.com': { body: { name: 'Acme', big: 491_701_234_567 } } };

/** Enriches all of these workbooks. */
async function writeAll(): Promise<Folder> {
  const folder = openFolder();
  const { url } = await openScripted(ANSWERS);
  for (const [name, spec] of Object.entries(SPECS)) {
    folder.write(name, await workbookOf({ styles: STYLES, ...spec }));
    await enrichIn(folder, { input: name, baseUrl: url, fields: FIELDS });
  }
  return folder;
}

it.skipIf(soffice === undefined)(
  'a workbook that was written has all values that it had, calculated anew',
  async () => {
    const folder = await writeAll();
    const names = [...Object.keys(SPECS), ...Object.keys(SPECS).map(enriched)];
    const sheets = calculate(folder, names);
    for (const name of Object.keys(SPECS)) {
      for (const [sheet, before] of Object.entries(sheets[name] ?? {})) {
        const after = sheets[enriched(name)]?.[sheet] ?? [];
        for (const [at, cells] of before.entries()) {
          expect({ name, sheet, at, cells: after[at]?.slice(0, cells.length) }).toEqual({
            name,
            sheet,
            at,
            cells,
          });
        }
      }
    }
    expect(sheets['months.xlsx']?.['Total']?.[0]).toEqual(['123', '6']);
    expect(sheets['table.enriched.xlsx']?.['Leads']?.[1]).toContain('491701234567');
  },
);

function enriched(name: string): string {
  return name.replace('.xlsx', '.enriched.xlsx');
}

type Sheets = Readonly<Record<string, readonly (readonly string[])[]>>;

/**
 * Opens workbooks in LibreOffice, calculates all formulas, and gives what is shown in each sheet.
 */
function calculate({ path }: Folder, names: readonly string[]): Readonly<Record<string, Sheets>> {
  const profile = openFolder();
  mkdirSync(profile.at('user'));
  profile.write(
    'user/registrymodifications.xcu',
    '<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item></oor:items>',
  );
  const out = openFolder();
  const allSheetsAsShown =
    'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1';
  execFileSync(
    soffice ?? '',
    [
      `-env:UserInstallation=${pathToFileURL(profile.path).href}`,
      '--headless',
      '--convert-to',
      allSheetsAsShown,
      '--outdir',
      out.path,
      ...names,
    ],
    { cwd: path, stdio: 'ignore' },
  );
  const found: Record<string, Sheets> = {};
  for (const name of names) {
    const stem = name.replace(/xlsx$/, '').slice(0, -1);
    const files = readdirSync(out.path).filter((file) => file.startsWith(`${stem}-`));
    found[name] = Object.fromEntries(
      files.map((file) => [
        file.slice(stem.length + 1, -'.csv'.length),
        parse(readFileSync(join(out.path, file)), { relax_column_count: true }),
      ]),
    );
    expect(Object.keys(found[name]), name).not.toEqual([]);
  }
  return found;
}

function find(program: string, variable: string): string | undefined {
  const given = process.env[variable];
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const paths = given === undefined ? folders.map((folder) => join(folder, program)) : [given];
  return paths.find((path) => existsSync(path));
}
