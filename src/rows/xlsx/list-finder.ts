import { describeAbove, findHeader, type HeadRow } from '../columns/table.ts';
import {
  addressOfCell,
  contains,
  isFree,
  type Range,
  textOfSheetCell,
  valueOfCell,
} from './cell.ts';
import type { SheetFrame, SheetRow } from './sheet-reader.ts';
import type { SheetTable } from './tables.ts';

/** What was found out about the rows of a sheet. Rows count from 1, columns from 0. */
export interface FoundList {
  /** The last row of its header, and the first one, which is mostly the same. */
  readonly headerRow: number;
  readonly firstHeaderRow: number;
  /** Names of the columns of the sheet, up to the last one of the list. */
  readonly columns: readonly string[];
  /** Its last row; that of its header if there is none. */
  readonly lastRow: number;
  /** Rows of the header and above it that have text. */
  readonly head: readonly SheetRow[];
  /** What is to be said of the rows above the header. */
  readonly above: readonly string[];
  /** The first rows below, and some from all over the list, as they are looked up. */
  readonly sample: readonly (readonly string[])[];
}

/** The target of a cell's link. */
export type LinkAt = (row: number, column: number) => string | undefined;

/** This many rows with text are searched for the header. */
const ROWS_AT_START = 60;
/** Rows that are held from all over the list. */
const MOST_FAR = 400;
const MOST_HEADER_ROWS = 4;

/**
 * Gets the rows of a sheet that have text in their order, and finds the list among them: every row
 * below the header.
 */
export function createListFinder() {
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
    /** Undefined for an empty sheet. */
    finish: (
      frame: SheetFrame,
      tables: readonly SheetTable[],
      linkAt: LinkAt,
    ): FoundList | undefined => {
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
        headerRow: last,
        firstHeaderRow: first,
        columns: namesIn(names, frame.merges),
        lastRow: Math.max(last, lastRow),
        head,
        above: describeAbove(heads, place),
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
