import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import yauzl from 'yauzl';
import { ZipFile } from 'yazl';
import { openList } from '../../../src/rows/open-list.ts';
import type { RowFormat } from '../../../src/rows/row-format.ts';
import type { Source } from '../../../src/rows/source.ts';
import { useTempFolder } from '../../support/temp-folder.ts';
import { type RowInTest, scanAll } from '../sources.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006';
const RELATIONS = `${OFFICE}/relationships`;
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export interface SheetSpec {
  readonly name: string;
  /** What is between `<sheetData>` and its end. */
  readonly rows: string;
  readonly before?: string;
  readonly after?: string;
  readonly state?: 'hidden' | 'veryHidden';
  /** External hyperlinks, by their ids. */
  readonly links?: Readonly<Record<string, string>>;
  /** A table on it, as `<table>`. */
  readonly table?: string;
  /** The whole part instead. */
  readonly xml?: string;
}

export interface WorkbookSpec {
  readonly sheets: readonly SheetSpec[];
  readonly strings?: string;
  /** What is in `<styleSheet>`. */
  readonly styles?: string;
  /** What is in front of the sheets, and behind them. */
  readonly before?: string;
  readonly behind?: string;
  readonly parts?: Parts;
  /** Namespaces. */
  readonly main?: string;
  readonly relations?: string;
}

export type Parts = Readonly<Record<string, string | Buffer>>;

/** A package of parts. */
export async function zipOf(parts: Parts): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(parts)) zip.addBuffer(Buffer.from(content), path);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The parts of a workbook as programs write it. */
export function partsOf(spec: WorkbookSpec): Parts {
  const { sheets, strings, styles, before = '', behind = '', parts = {} } = spec;
  const { main = MAIN, relations = RELATIONS } = spec;
  const rels = (lines: readonly string[]): string =>
    `<Relationships xmlns="${PACKAGE}/relationships">${lines.join('')}</Relationships>`;
  const rel = (id: string, kind: string, target: string, more = ''): string =>
    `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"${more}/>`;
  return {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/></Types>`,
    '_rels/.rels': rels([rel('rId1', 'officeDocument', 'xl/workbook.xml')]),
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}">${before}<sheets>${sheets
      .map(
        ({ name, state }, at) =>
          `<sheet name="${name}" sheetId="${at + 1}"${state ? ` state="${state}"` : ''} r:id="rId${at + 1}"/>`,
      )
      .join('')}</sheets>${behind}</workbook>`,
    'xl/_rels/workbook.xml.rels': rels([
      ...sheets.map((_, at) => rel(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`)),
      rel('rIdStyles', 'styles', 'styles.xml'),
      ...(strings === undefined ? [] : [rel('rIdStrings', 'sharedStrings', 'sharedStrings.xml')]),
      ...('xl/calcChain.xml' in parts ? [rel('rIdChain', 'calcChain', 'calcChain.xml')] : []),
    ]),
    'xl/styles.xml': `<styleSheet xmlns="${main}">${styles ?? '<cellXfs><xf numFmtId="0"/></cellXfs>'}</styleSheet>`,
    ...(strings === undefined
      ? {}
      : { 'xl/sharedStrings.xml': `<sst xmlns="${main}">${strings}</sst>` }),
    ...Object.fromEntries(
      sheets.map(({ rows, before = '', after = '', xml }, at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        xml ??
          `<worksheet xmlns="${main}" xmlns:r="${relations}">${before}<sheetData>${rows}</sheetData>${after}</worksheet>`,
      ]),
    ),
    ...Object.fromEntries(
      sheets.map(({ links = {}, table }, at) => {
        const lines = Object.entries(links).map(([id, target]) =>
          rel(id, 'hyperlink', target, ' TargetMode="External"'),
        );
        if (table) lines.push(rel('rIdTable', 'table', `../tables/table${at + 1}.xml`));
        return [`xl/worksheets/_rels/sheet${at + 1}.xml.rels`, rels(lines)];
      }),
    ),
    ...Object.fromEntries(
      sheets.map(({ table = '' }, at) => [`xl/tables/table${at + 1}.xml`, table]),
    ),
    ...parts,
  };
}

export async function workbookOf(spec: WorkbookSpec): Promise<Buffer> {
  return await zipOf(partsOf(spec));
}

/** A row of texts and numbers. */
export function row(number: number, ...cells: readonly (string | number | null)[]): string {
  const xml = cells.map((cell, at) => {
    if (cell === null) return '';
    const ref = `${String.fromCharCode(65 + at)}${number}`;
    return typeof cell === 'number'
      ? `<c r="${ref}"><v>${cell}</v></c>`
      : `<c r="${ref}" t="inlineStr"><is><t>${cell}</t></is></c>`;
  });
  return `<row r="${number}">${xml.join('')}</row>`;
}

/** A list in a workbook, opened as a run does. */
export interface OpenedWorkbook {
  readonly source: Source;
  readonly format: RowFormat;
  /** Its rows as objects. */
  readonly rows: readonly Record<string, unknown>[];
  /** The cells of its first column with a name, as they are looked up. */
  readonly scanned: readonly RowInTest[];
}

/** @param column the column that is looked up */
export async function open(
  bytes: Buffer,
  { sheet, column, name = 'list.xlsx' }: { sheet?: string; column?: string; name?: string } = {},
): Promise<OpenedWorkbook> {
  const folder = useTempFolder();
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const signal = new AbortController().signal;
  const options = { spoolFolder: join(folder, 'spool'), signal, sheet, prefix: 'brand_' };
  const { source, format, close } = await openList(path, options);
  onTestFinished(close);
  const scanned = await scanAll(format, source, column ?? format.columns[0] ?? '');
  return { source, format, rows: scanned.map(({ raw }) => format.toObject(raw)), scanned };
}

/** A workbook that was written, with what was said of it. */
export interface WrittenWorkbook {
  readonly bytes: Buffer;
  readonly parts: Readonly<Record<string, string>>;
  readonly notices: readonly string[];
}

/** Writes a workbook with more columns, as a run does. @param valuesOf the values of each row */
export async function rewrite(
  { source, format, scanned }: OpenedWorkbook,
  added: readonly string[],
  valuesOf: (at: number) => readonly unknown[],
  fill?: { readonly column: number; readonly value: unknown },
): Promise<WrittenWorkbook> {
  const { binary } = format;
  if (!binary) throw new Error('it was opened as a workbook');
  await binary.assertRewritable();
  const chunks: Buffer[] = [];
  const output = binary.begin(added, async (chunk) => {
    chunks.push(chunk);
  });
  for (const [at, { raw, fields }] of scanned.entries()) {
    const column = { index: fill?.column ?? 0, name: '' };
    const own = (fill && format.fillCell({ raw, fields }, column, fill.value)?.raw) ?? raw;
    await output.append([{ raw: own, fields, cells: valuesOf(at) }]);
  }
  const notices = await output.finish();
  output.close();
  await source.assertUnchanged();
  const bytes = Buffer.concat(chunks);
  return { bytes, parts: await readParts(bytes), notices };
}

/** All parts of a package, as texts. */
export async function readParts(bytes: Buffer): Promise<Record<string, string>> {
  const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true });
  const parts: Record<string, string> = {};
  for await (const entry of zip.eachEntry()) {
    const stream = await zip.openReadStreamPromise(entry);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(stream, 'end');
    parts[entry.fileName] = Buffer.concat(chunks).toString('utf8');
  }
  return parts;
}
