import type { FileHandle } from 'node:fs/promises';
import { refusal } from '../../common/errors.ts';
import { guessDomainColumn } from '../columns/domain-column.ts';
import { listNames, shorten } from '../columns/names.ts';
import { describeAbove, findHeader, type HeadRow } from '../columns/table.ts';
import { findOtherArchive } from '../other-formats.ts';
import type { Workbook } from '../row-format.ts';
import { unreadable } from '../source.ts';
import { type SpoolOptions, spool } from '../spool.ts';
import {
  addressOfCell,
  contains,
  isFree,
  MOST_ROWS,
  type Range,
  textOfSheetCell,
  valueOfCell,
} from './cell.ts';
import {
  asBroken,
  normalizePath,
  openPackage,
  type Package,
  readRelations,
  readWorkbookParts,
  type SheetPart,
  tooLarge,
} from './package.ts';
import {
  lineOf,
  readSharedStrings,
  readSheet,
  SheetFrame,
  type SheetOptions,
  type SheetRow,
} from './sheet-reader.ts';
import { readStyles } from './styles.ts';
import { readTables, type SheetTable } from './tables.ts';

/** A list that was found in a workbook. */
export type OpenedWorkbook = Awaited<ReturnType<typeof openWorkbook>>;

export interface OpenWorkbookOptions extends SpoolOptions {
  readonly name: string;
  /** The sheet of the list. @default the first that is visible and not empty */
  readonly sheet: string | undefined;
}

/**
 * Finds the list in a workbook and writes its rows, a line each, into a file without a name.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, empty or would blow up,
 * `INVALID_SETTING` when there is no such sheet
 */
export async function openWorkbook(handle: FileHandle, options: OpenWorkbookOptions) {
  const { name, signal } = options;
  try {
    const pack = await openPackage(handle, name);
    const other = findOtherArchive(pack.paths.map(normalizePath));
    if (other !== undefined) throw unreadable(name, `it is ${other}`);
    const parts = await readWorkbookParts(pack);
    const { workbookPath, sheets, stringsPath, stylesPath, is1904 } = parts;
    const candidates = chooseSheets(sheets, options);
    const findText = stringsPath
      ? await readSharedStrings(pack.read(stringsPath))
      : () => undefined;
    const styles = stylesPath === undefined ? [] : readStyles(await pack.readText(stylesPath));
    const reading = { findText, styles, is1904 };
    for (const sheet of candidates) {
      const opened = await openSheet(pack, sheet, reading);
      const rows = await spool(opened.lines(), options);
      const list = opened.find();
      if (!list) {
        await rows.close();
        continue;
      }
      /** The names of all sheets, and which of the others have a list too, unless one was named. */
      const names = sheets.map((sheet) => sheet.name);
      const others = sheets.filter((other) => other !== sheet && options.sheet === undefined);
      const otherLists = await findLists(pack, others.slice(0, MOST_LOOKED_AT), reading);
      return { ...list, pack, sheet, styles, rows, workbookPath, sheets: names, otherLists };
    }
    const [{ name: first } = { name: '' }, ...more] = candidates;
    const what = more.length > 0 ? 'all of its sheets are' : `its sheet '${shorten(first)}' is`;
    throw unreadable(name, `${what} empty; expected a header and rows`);
  } catch (error) {
    if (signal.aborted) throw error;
    throw error instanceof RangeError ? tooLarge(name, error.message) : asBroken(name, error);
  }
}

/**
 * The sheet that was named; else the visible ones, of which the first that is not empty is taken.
 */
function chooseSheets(
  sheets: readonly SheetPart[],
  { name, sheet: wanted }: OpenWorkbookOptions,
): readonly SheetPart[] {
  if (sheets.length === 0) throw new Error('there is no sheet in it');
  if (wanted === undefined) {
    const visible = sheets.filter(({ isHidden }) => !isHidden);
    return visible.length > 0 ? visible : sheets;
  }
  const folded = wanted.trim().toLowerCase();
  const found =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.trim().toLowerCase() === folded);
  if (found) return [found];
  const names = sheets.map(({ name, isHidden }) => (isHidden ? `${name} (hidden)` : name));
  throw refusal(`Cannot find the sheet '${wanted}' in ${name}: there are: ${listNames(names)}.`);
}

/** So many other sheets are looked at, and so many rows of each. */
const MOST_LOOKED_AT = 20;
const ROWS_LOOKED_AT = 60;

/** The sheets that have a column of domains too, by their first rows. */
async function findLists(pack: Package, sheets: readonly SheetPart[], options: SheetOptions) {
  const lists: Workbook['otherLists'][number][] = [];
  for (const part of sheets) {
    try {
      const opened = await openSheet(pack, part, options);
      for await (const _ of opened.lines(ROWS_LOOKED_AT));
      const { columns = [], sample = [] } = opened.find() ?? {};
      const column = guessDomainColumn(columns, sample);
      const sheet = part.isHidden ? `${part.name} (hidden)` : part.name;
      if (column?.example !== undefined) lists.push({ sheet, column: column.name });
    } catch {} // what is damaged there does not matter here
  }
  return lists;
}

/** Opens a sheet: first its rows are read, then its list is found. */
async function openSheet(pack: Package, { path }: SheetPart, options: SheetOptions) {
  const targets = new Map<string, string>();
  for (const { kind, isExternal, id, target } of await readRelations(pack, path)) {
    if (kind === 'hyperlink' && isExternal) targets.set(id, target);
  }
  const tables = await readTables(pack, path);
  const totals = new Map(tables.map((table) => [table.totalsRow, table]));
  const finder = createListFinder();
  const frame = new SheetFrame();

  /** Whether a row contains only the totals of a table. */
  function isTotals({ number, cells }: SheetRow): boolean {
    const table = totals.get(number);
    const first = cells.findIndex((cell) => cell !== null);
    return (
      table !== undefined && first >= table.firstColumn && cells.length - 1 <= table.lastColumn
    );
  }

  return {
    /** Reads the rows, and gives those with text as lines. */
    lines: async function* (mostRows = MOST_ROWS): AsyncGenerator<string> {
      let count = 0;
      for await (const rows of readSheet(pack.read(path), frame, options)) {
        const listed = rows.filter((row) => hasText(row) && !isTotals(row));
        for (const row of listed) finder.add(row);
        if (listed.length > 0) yield listed.map(lineOf).join('');
        count += rows.length;
        if (count >= mostRows) return;
      }
    },
    /** Undefined for an empty sheet. */
    find: () => {
      const linkAt = createLinks(frame, targets);
      const list = finder.finish(frame, tables, linkAt);
      return list && { ...list, frame, tables, linkAt };
    },
  };
}

function hasText({ cells }: SheetRow): boolean {
  return cells.some((cell) => textOfSheetCell(cell).trim() !== '');
}

/**
 * Finds the target of a cell's link. Of a range that is linked, the cells of its first column are.
 */
function createLinks({ links }: SheetFrame, targets: ReadonlyMap<string, string>): LinkAt {
  const found = new Map<string, string>();
  let left = MOST_ROWS;
  for (const { range, id } of links) {
    const target = id && targets.get(id);
    for (let row = range.firstRow; target && row <= range.lastRow && left > 0; row += 1) {
      found.set(`${row} ${range.firstColumn}`, target);
      left -= 1;
    }
  }
  return (row, column) => (found.size === 0 ? undefined : found.get(`${row} ${column}`));
}

/** The target of a cell's link. */
type LinkAt = (row: number, column: number) => string | undefined;

/** This many rows with text are searched for the header. */
const ROWS_AT_START = 60;
/** Rows that are held from all over the list. */
const MOST_FAR = 400;
const MOST_HEADER_ROWS = 4;

/**
 * Gets the rows of a sheet that have text in their order, and finds the list among them: every row
 * below the header.
 */
function createListFinder() {
  const start: SheetRow[] = [];
  let far: SheetRow[] = [];
  let rowsPerFar = 1;
  let rows = 0;
  let lastRow = 0;

  return {
    add: (row: SheetRow): void => {
      lastRow = row.number;
      rows += 1;
      if (rows <= ROWS_AT_START) start.push(row);
      else if (rows % rowsPerFar === 0) far.push(row);
      if (far.length <= MOST_FAR) return;
      far = far.filter((_, at) => at % 2 === 0);
      rowsPerFar *= 2;
    },
    /**
     * What was found out about the rows; undefined for an empty sheet. Rows count from 1, columns
     * from 0.
     */
    finish: (frame: SheetFrame, tables: readonly SheetTable[], linkAt: LinkAt) => {
      const heads = start.map((row, at) => ({
        ...headRowOf(row, start[at - 1], linkAt),
        headerAt: (column: number): number | undefined => {
          const table = tables.find((table) => contains(table, row.number, column));
          const place = start.findIndex(({ number }) => number === table?.firstRow);
          return table?.hasHeader && place !== -1 ? place : undefined;
        },
      }));
      const place = findHeader(heads, addressesIn(far, linkAt));
      const header = start[place];
      if (!header) return undefined;
      const { first, last } = findHeaderRows(header, start, frame);
      const head = start.filter(({ number }) => number <= last);
      const names = head.filter(({ number }) => number >= first);
      return {
        /** The last row of its header, and the first one, which is mostly the same. */
        headerRow: last,
        firstHeaderRow: first,
        /** Names of the columns of the sheet, up to the last one of the list. */
        columns: namesIn(names, frame.merges),
        /** Its last row; that of its header if there is none. */
        lastRow: Math.max(last, lastRow),
        /** Rows of the header and above it that have text. */
        head,
        /** What is to be said of the rows above the header. */
        above: describeAbove(heads, place),
        /** The first rows below, and some from all over the list, as they are looked up. */
        sample: addressesIn([...start.slice(head.length), ...far], linkAt),
      };
    },
  };
}

/** The texts of rows that are looked up. */
function addressesIn(rows: readonly SheetRow[], linkAt: LinkAt): readonly (readonly string[])[] {
  return rows.map(({ cells, number }) =>
    cells.map((cell, column) => addressOfCell(cell, linkAt(number, column))),
  );
}

/** A row as one that may be the header. */
function headRowOf(row: SheetRow, before: SheetRow | undefined, linkAt: LinkAt): HeadRow {
  const { cells, number } = row;
  const shown = cells.map((cell) => textOfSheetCell(cell));
  const filled = cells.filter((_, at) => shown[at]?.trim() !== '');
  const texts = filled.filter((cell) => typeof valueOfCell(cell) === 'string');
  return {
    names: shown.map((text, column) => (linkAt(number, column) === undefined ? text : '')),
    addresses: addressesIn([row], linkAt)[0] ?? [],
    filled: filled.length,
    isOfTexts: texts.length * 2 > filled.length,
    isApart: before !== undefined && number - before.number > 1,
  };
}

/** A header of several rows has names that are merged over all of them. */
function findHeaderRows(
  { number }: SheetRow,
  rows: readonly SheetRow[],
  { merges }: SheetFrame,
): { readonly first: number; readonly last: number } {
  const names = merges.filter(({ firstRow, lastRow, firstColumn, lastColumn }) => {
    const isTall = lastRow > firstRow && lastRow - firstRow < MOST_HEADER_ROWS;
    const isHere = firstRow === number || lastRow === number;
    if (!isTall || !isHere || firstColumn !== lastColumn) return false;
    return !isFree(rows.find((row) => row.number === firstRow)?.cells[firstColumn]);
  });
  return {
    first: Math.min(number, ...names.map(({ firstRow }) => firstRow)),
    last: Math.max(number, ...names.map(({ lastRow }) => lastRow)),
  };
}

/**
 * The names of columns. With several rows, the name of a group stands before each of its columns.
 */
function namesIn(rows: readonly SheetRow[], merges: readonly Range[]): readonly string[] {
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  return Array.from({ length: width }, (_, column) => {
    const parts = rows.map(({ number, cells }, at) => {
      const group =
        at < rows.length - 1 ? merges.find((range) => contains(range, number, column)) : undefined;
      // A group of columns is named in its first one.
      return textOfSheetCell(cells[group?.firstColumn ?? column]).trim();
    });
    return parts.filter((part) => part !== '').join(' ');
  });
}
