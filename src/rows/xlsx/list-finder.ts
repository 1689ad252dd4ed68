import { findHeaderRow } from '../columns/header-row.ts';
import { addressOfCell, isFree, type Range, textOfSheetCell, valueOfCell } from './cell.ts';
import type { SheetFrame, SheetRow } from './sheet-reader.ts';

/** The place of a list in its sheet. Rows count from 1, columns from 0. */
export interface ListPlace {
  /** The last row of its header, and the first one, which is mostly the same. */
  readonly headerRow: number;
  readonly firstHeaderRow: number;
  readonly firstColumn: number;
  /** Names of its columns. */
  readonly columns: readonly string[];
  /** Its last row; that of its header if there is none. */
  readonly lastRow: number;
  /** The last column with content, and the last one with something to be seen. */
  readonly lastContent: number;
  readonly lastVisible: number;
}

/** What was found out about the rows of a sheet. */
export interface FoundList {
  readonly place: ListPlace;
  /** Rows of the header and above it that have text. */
  readonly head: readonly SheetRow[];
  readonly sample: readonly SheetRow[];
}

/** Gets the rows of a sheet in their order, and finds the list among them. */
export interface ListFinder {
  add(row: SheetRow): void;
  /**
   * @param linkAt the target of a cell's link
   * @returns undefined for an empty sheet
   */
  finish(frame: SheetFrame, linkAt: LinkAt): FoundList | undefined;
}

export type LinkAt = (row: number, column: number) => string | undefined;

/** This many rows with text are searched for the header. */
const ROWS_AT_START = 60;
/** Rows that are held at the start, and their size in the sheet. */
const MOST_AT_START = 260;
const MOST_BYTES = 4_000_000;
const MOST_HEADER_ROWS = 4;

/** Every row below the header that has text is a row of the list. */
export function createListFinder(): ListFinder {
  const start: SheetRow[] = [];
  let startBytes = 0;
  let lastRow = 0;
  let lastContent = -1;
  let lastVisible = -1;

  return {
    add: (row) => {
      lastContent = Math.max(lastContent, row.lastContent);
      lastVisible = Math.max(lastVisible, row.lastVisible);
      if (!row.hasText) return;
      if (start.length === 0 || (start.length < MOST_AT_START && startBytes < MOST_BYTES)) {
        start.push(row);
        startBytes += row.end - row.start;
      }
      lastRow = row.number;
    },
    finish: (frame, linkAt) => {
      const searched = start.slice(0, ROWS_AT_START);
      const found = findHeaderRow(
        searched.map(({ cells, number }) =>
          cells.map((cell, at) => ({
            text: textOfSheetCell(cell),
            address: addressOfCell(cell, linkAt(number, at)),
            isText: typeof valueOfCell(cell) === 'string',
          })),
        ),
      );
      const header = searched[found];
      if (!header) return undefined;
      const { first, last } = findHeaderRows(header, searched, frame);
      const list = start.filter(({ number }) => number >= first);
      const firstColumn = Math.min(
        ...list.map(({ cells }) => cells.findIndex((cell) => cell !== null)),
      );
      return {
        place: {
          headerRow: last,
          firstHeaderRow: first,
          firstColumn,
          columns: namesIn(
            list.filter(({ number }) => number <= last),
            firstColumn,
            frame.merges,
          ),
          lastRow: Math.max(last, lastRow),
          lastContent,
          lastVisible,
        },
        head: start.filter(({ number }) => number <= last),
        sample: start.filter(({ number }) => number > last),
      };
    },
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

/** The names of columns. With several rows, the name of a group stands before each of its columns. */
function namesIn(
  rows: readonly SheetRow[],
  firstColumn: number,
  merges: readonly Range[],
): readonly string[] {
  const textAt = ({ cells }: SheetRow, column: number): string =>
    textOfSheetCell(cells[column]).trim();
  const groups = rows.length > 1 ? merges : [];
  const width = Math.max(...rows.map(({ lastContent }) => lastContent + 1));
  return Array.from({ length: width - firstColumn }, (_, at) => {
    const column = firstColumn + at;
    const parts = rows.map((row, place) => {
      const group = groups.find((range) => contains(range, row.number, column));
      // A group of columns is named in its first one.
      return textAt(row, place < rows.length - 1 ? (group?.firstColumn ?? column) : column);
    });
    return parts.filter((part) => part !== '').join(' ');
  });
}

function contains(range: Range, row: number, column: number): boolean {
  return (
    range.firstRow <= row &&
    row <= range.lastRow &&
    range.firstColumn <= column &&
    column <= range.lastColumn
  );
}

/** Finds the range that a cell is in, among thousands. Of several, the one that begins last. */
export function createRangeIndex<T extends Range>(
  ranges: readonly T[],
): (row: number, column: number) => T | undefined {
  const columns = new Map<number, readonly T[]>();
  return (row, column) => {
    if (ranges.length === 0) return undefined;
    let inColumn = columns.get(column);
    if (!inColumn) {
      inColumn = ranges
        .filter(({ firstColumn, lastColumn }) => firstColumn <= column && column <= lastColumn)
        .sort((one, other) => one.firstRow - other.firstRow);
      columns.set(column, inColumn);
    }
    let from = 0;
    for (let to = inColumn.length; from < to; ) {
      const middle = (from + to) >> 1;
      if ((inColumn[middle]?.firstRow ?? 0) <= row) from = middle + 1;
      else to = middle;
    }
    const found = inColumn[from - 1];
    return found && found.lastRow >= row ? found : undefined;
  };
}
