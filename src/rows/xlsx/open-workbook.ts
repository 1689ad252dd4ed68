import type { FileHandle } from 'node:fs/promises';
import { BrandfillError } from '../../common/errors.ts';
import { guessDomainColumn } from '../columns/domain-column.ts';
import { shorten } from '../columns/names.ts';
import { findOtherArchive } from '../other-formats.ts';
import { openSpool, type SpoolOptions, writeAll } from '../spool.ts';
import { addressOfSheetCell, textOfSheetCell } from './cell.ts';
import { type Drawing, readDrawings } from './drawings.ts';
import { NO_LINKS, readLinks } from './links.ts';
import { createListRows, type LeftOut, type ListPlace } from './list-rows.ts';
import { brokenWorkbook, normalizePath, openPackage, type Package } from './package.ts';
import { readWorkbookParts, type SheetPart, type WorkbookParts } from './parts.ts';
import { createRowsAside, isHiddenRow, type RowLine, writeRowLine } from './row-line.ts';
import { NO_STRINGS, readSharedStrings, type SharedStrings } from './shared-strings.ts';
import { readSheet, type SheetFrame } from './sheet-reader.ts';
import {
  createLongNumbers,
  type LongNumbers,
  type NumberStyle,
  readNumberStyles,
} from './styles.ts';
import { decodeWhole, decodeXml } from './xml.ts';
import { readTables, type SheetTable } from './xml-edit.ts';

/** A workbook whose list was found and read. */
export interface Workbook {
  readonly pack: Package;
  readonly parts: WorkbookParts;
  /** The sheet of the list. */
  readonly sheet: SheetPart;
  readonly frame: SheetFrame;
  readonly place: ListPlace;
  /** The tables on the sheet of the list. */
  readonly tables: readonly SheetTable[];
  /** Pictures and charts on it. */
  readonly drawings: readonly Drawing[];
  /** Rows of the sheet that are not part of the list; see `withRowsAside`. */
  readonly aside: FileHandle;
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** The first rows, with the texts that are looked up. */
  readonly sampleRows: readonly (readonly string[])[];
  readonly found: FoundRows;
  readonly longNumbers: LongNumbers;
  /**
   * Sheets that have a column of domains by name, if this one has none: it may be a cover, or
   * explain the others.
   */
  readonly otherLists: readonly OtherList[];
}

export interface OtherList {
  readonly sheet: string;
  readonly column: string;
}

/** What was found out about the rows of a list while they were read. */
export interface FoundRows {
  readonly rows: number;
  readonly hidden: number;
  /** The last row of the list, as the sheet counts; its header when it has no row. */
  readonly lastRow: number;
  /** Rows of the list that are below a table of its header. */
  readonly belowTables: readonly RowsBelowTable[];
  readonly leftOut: LeftOut | undefined;
  /** Number of formulas without a value, because no program has calculated them. */
  readonly uncalculated: number;
}

export interface OpenWorkbookOptions extends SpoolOptions {
  readonly name: string;
  /** The sheet of the list. @default the first that is visible and not empty */
  readonly sheet: string | undefined;
}

export interface RowsBelowTable {
  readonly table: SheetTable;
  rows: number;
  /** The first of them, as the sheet counts. */
  readonly first: number;
}

const SAMPLE_ROWS = 200;
const SAMPLE_CHARACTERS = 1_000_000;
const MOST_LISTED = 30;
const PEEKED_ROWS = 20;
const WRITE_CHARACTERS = 256 * 1024;

/**
 * Finds the list in a workbook and writes its rows, a line each, into a file without a name.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, empty or would blow up,
 * `INVALID_SETTING` when there is no such sheet
 */
export async function openWorkbook(
  handle: FileHandle,
  options: OpenWorkbookOptions,
): Promise<{ readonly workbook: Workbook; readonly rows: FileHandle }> {
  const { name, signal } = options;
  let strings = NO_STRINGS;
  try {
    const pack = await openPackage(handle, name);
    await refuseOtherArchives(pack);
    const parts = await readWorkbookParts(pack);
    const { stringsPath, stylesPath } = parts;
    const candidates = chooseSheets(parts, options);
    if (stringsPath !== undefined) {
      strings = await readSharedStrings(pack.read(stringsPath), options);
    }
    const styles =
      stylesPath === undefined
        ? []
        : readNumberStyles(decodeWhole(await pack.readWhole(stylesPath)));
    const context = { strings, styles, ...options };
    for (const [at, sheet] of candidates.entries()) {
      const read = await readList({ pack, parts, sheet }, context);
      if (!read) continue;
      const { workbook, rows } = read;
      if (guessDomainColumn(workbook.columns, workbook.sampleRows)?.by === 'name') return read;
      const others = candidates.slice(at + 1, at + 1 + MOST_LISTED);
      const otherLists = await findLists({ pack, parts, sheets: others }, context);
      return { workbook: { ...workbook, otherLists }, rows };
    }
    const [{ name: first } = { name: '' }, ...others] = candidates;
    const what = others.length > 0 ? 'all of its sheets are' : `its sheet '${shorten(first)}' is`;
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${name}: ${what} empty; expected a header and rows.`,
    );
  } catch (error) {
    if (error instanceof BrandfillError || signal.aborted) throw error;
    throw brokenWorkbook(name, error instanceof Error ? error.message : String(error), error);
  } finally {
    await strings.close();
  }
}

async function refuseOtherArchives(pack: Package): Promise<void> {
  const readMimetype = async (): Promise<string> => String(await pack.readWhole('mimetype'));
  const other = await findOtherArchive(pack.paths.map(normalizePath), readMimetype);
  if (other === undefined) return;
  throw new BrandfillError('UNREADABLE_INPUT', `Cannot read ${pack.name}: it is ${other}.`);
}

/**
 * The sheet that was named; else the visible ones, of which the first that is not empty is taken.
 */
function chooseSheets(
  { sheets }: WorkbookParts,
  { name, sheet: wanted }: OpenWorkbookOptions,
): readonly SheetPart[] {
  if (sheets.length === 0) throw brokenWorkbook(name, 'there is no sheet in it');
  if (wanted === undefined) {
    const visible = sheets.filter(({ isHidden }) => !isHidden);
    return visible.length > 0 ? visible : sheets;
  }
  const folded = wanted.trim().toLowerCase();
  const found =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.trim().toLowerCase() === folded);
  if (found) return [found];
  const names = sheets.map((sheet) => `${shorten(sheet.name)}${sheet.isHidden ? ' (hidden)' : ''}`);
  const more = names.length - MOST_LISTED;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot find the sheet '${wanted}' in ${name}: there are: ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
  );
}

/** Looks into the beginning of other sheets. One that cannot be read has no list. */
async function findLists(
  { pack, parts, sheets }: Omit<SheetToRead, 'sheet'> & { readonly sheets: readonly SheetPart[] },
  { strings, styles }: Pick<ReadOptions, 'strings' | 'styles'>,
): Promise<readonly OtherList[]> {
  const found: OtherList[] = [];
  const context = { strings, styles, links: NO_LINKS, is1904: parts.is1904 };
  for (const { path, name } of sheets) {
    const list = createListRows([], { add: () => {}, mark: () => '', flush: async () => {} });
    const lines: RowLine[] = [];
    try {
      for await (const rows of readSheet(decodeXml(pack.read(path)), context)) {
        lines.push(...list.add(rows));
        if (lines.length >= PEEKED_ROWS) break;
      }
      lines.push(...list.end());
    } catch {
      continue;
    }
    const columns = list.place?.headerCells.map((cell) => textOfSheetCell(cell).trim()) ?? [];
    const cells = lines.map((line) => line.cells.map(addressOfSheetCell));
    const column = guessDomainColumn(columns, cells);
    if (column?.by === 'name') found.push({ sheet: name, column: column.name });
  }
  return found;
}

interface SheetToRead {
  readonly pack: Package;
  readonly parts: WorkbookParts;
  readonly sheet: SheetPart;
}

interface ReadOptions extends OpenWorkbookOptions {
  readonly strings: SharedStrings;
  readonly styles: readonly NumberStyle[];
}

/** @returns undefined for an empty sheet */
async function readList(
  { pack, parts, sheet }: SheetToRead,
  { strings, styles, signal, spoolFolder }: ReadOptions,
): Promise<{ readonly workbook: Workbook; readonly rows: FileHandle } | undefined> {
  const links = await readLinks(pack, sheet.path);
  const tables = await readTables(pack, sheet.path);
  const spool = await openSpool(spoolFolder);
  const asideSpool = await openSpool(spoolFolder);
  const aside = createRowsAside(asideSpool, spoolFolder);
  const list = createListRows(tables, aside);
  const count = { rows: 0, hidden: 0, lastRow: 0, uncalculated: 0 };
  const belowTables: RowsBelowTable[] = [];
  const sampleRows: (readonly string[])[] = [];
  let text = '';
  let sampled = 0;

  async function close(): Promise<void> {
    await spool.close();
    await asideSpool.close();
  }

  async function write(lines: readonly RowLine[], isLast: boolean): Promise<void> {
    for (const line of lines) {
      if (sampleRows.length < SAMPLE_ROWS && sampled < SAMPLE_CHARACTERS) {
        sampleRows.push(line.cells.map(addressOfSheetCell));
        sampled += line.xml.length;
      }
      countRow(line);
      text += writeRowLine(line);
    }
    await aside.flush();
    if (text.length < WRITE_CHARACTERS && !isLast) return;
    await writeAll(spool, Buffer.from(text), spoolFolder);
    text = '';
  }

  function countRow({ number, xml }: RowLine): void {
    count.rows += 1;
    count.lastRow = number;
    if (isHiddenRow(xml)) count.hidden += 1;
    for (const table of tables) {
      if (table.firstRow !== list.place?.header.number || number <= table.lastRow) continue;
      const known = belowTables.find((below) => below.table === table);
      if (known) known.rows += 1;
      else belowTables.push({ table, rows: 1, first: number });
    }
  }

  try {
    const context = { strings, styles, links, is1904: parts.is1904 };
    const rows = readSheet(decodeXml(pack.read(sheet.path)), context);
    let step = await rows.next();
    for (; !step.done; step = await rows.next()) {
      signal.throwIfAborted();
      for (const { cells } of step.value) {
        count.uncalculated += cells.filter((cell) => cell.isUncalculated).length;
      }
      await write(list.add(step.value), false);
    }
    await write(list.end(), true);
    const { place, leftOut } = list;
    if (!place) {
      await close();
      return undefined;
    }
    const columns = place.headerCells.map((cell) => textOfSheetCell(cell).trim());
    const lastRow = Math.max(place.header.number, count.lastRow);
    const found = { ...count, lastRow, belowTables, leftOut };
    const frame = step.value;
    const drawings = await readDrawings(pack, sheet.path, frame.head);
    const longNumbers = createLongNumbers(styles.length);
    const read = {
      longNumbers,
      otherLists: [],
      frame,
      place,
      tables,
      drawings,
      columns,
      sampleRows,
      found,
      aside: asideSpool,
    };
    return { workbook: { pack, parts, sheet, ...read }, rows: spool };
  } catch (error) {
    await close();
    throw error;
  }
}
