import { columnOfDomains, hasAddress, looksLikeHeader } from '../columns/domain-column.ts';
import {
  addressOfCell,
  contains,
  isFree,
  type Range,
  textOfSheetCell,
  valueOfCell,
} from './cell.ts';
import type { SheetFrame, SheetRow } from './sheet-reader.ts';

/** What was found out about the rows of a sheet. Rows count from 1, columns from 0. */
export interface FoundList {
  /** The last row of its header, and the first one, which is mostly the same. */
  readonly headerRow: number;
  readonly firstHeaderRow: number;
  /** Names of the columns of the sheet, up to the last one of the list. */
  readonly columns: readonly string[];
  /** Its last row; that of its header if there is none. */
  readonly lastRow: number;
  /** The last column with content, and the last one with something to be seen. */
  readonly lastContent: number;
  readonly lastVisible: number;
  /** Rows of the header and above it that have text. */
  readonly head: readonly SheetRow[];
  /** The first rows below, and some from all over the list. */
  readonly sample: readonly SheetRow[];
}

/** The target of a cell's link. */
export type LinkAt = (row: number, column: number) => string | undefined;

/** This many rows with text are searched for the header. */
const ROWS_AT_START = 60;
/** Rows that are held from all over the list. */
const MOST_FAR = 400;
const MOST_HEADER_ROWS = 4;

/**
 * Gets the rows of a sheet in their order, and finds the list among them: every row below the header
 * that has text.
 */
export function createListFinder() {
  const start: SheetRow[] = [];
  let far: SheetRow[] = [];
  let rowsPerFar = 1;
  let rows = 0;
  let lastRow = 0;
  let lastContent = -1;
  let lastVisible = -1;

  return {
    add: (row: SheetRow): void => {
      lastContent = Math.max(lastContent, row.lastContent);
      lastVisible = Math.max(lastVisible, row.lastVisible);
      if (!row.hasText) return;
      lastRow = row.number;
      rows += 1;
      if (rows <= ROWS_AT_START) start.push(row);
      else if (rows % rowsPerFar === 0) far.push(row);
      if (far.length <= MOST_FAR) return;
      far = far.filter((_, at) => at % 2 === 0);
      rowsPerFar *= 2;
    },
    /** Undefined for an empty sheet. */
    finish: (frame: SheetFrame, linkAt: LinkAt): FoundList | undefined => {
      const header = findHeader(start, far, linkAt);
      if (!header) return undefined;
      const { first, last } = findHeaderRows(header, start, frame);
      const head = start.filter(({ number }) => number <= last);
      const names = head.filter(({ number }) => number >= first);
      return {
        headerRow: last,
        firstHeaderRow: first,
        columns: namesIn(names, frame.merges),
        lastRow: Math.max(last, lastRow),
        lastContent,
        lastVisible,
        head,
        sample: [...start.slice(head.length), ...far],
      };
    },
  };
}

/** The texts of rows that are looked up. */
export function addressesIn(
  rows: readonly SheetRow[],
  linkAt: LinkAt,
): readonly (readonly string[])[] {
  return rows.map(({ cells, number }) =>
    cells.map((cell, column) => addressOfCell(cell, linkAt(number, column))),
  );
}

const ROWS_COMPARED = 10;

/**
 * Finds the header among the first rows of a table: the last row that names a column of domains above
 * the first address in it; else the first row of texts that has at least half as many filled cells as
 * the rows below it. Titles, export dates and groups of columns have fewer cells. In a list of one
 * column it is the row right above the first domain. No row of the list is above it: where an address is
 * in a row above, the first row is taken, which is then refused if it is none.
 *
 * @param far rows from further below
 * @returns the first row when none looks like a header; undefined where there is no row
 */
function findHeader(
  rows: readonly SheetRow[],
  far: readonly SheetRow[],
  linkAt: LinkAt,
): SheetRow | undefined {
  // What a link shows is no name.
  const texts = rows.map(({ cells, number }) =>
    cells.map((cell, column) =>
      linkAt(number, column) === undefined ? textOfSheetCell(cell) : '',
    ),
  );
  const addresses = addressesIn([...rows, ...far], linkAt);
  const filled = rows.map(
    ({ cells }) => cells.filter((cell) => textOfSheetCell(cell).trim() !== '').length,
  );
  const named = findNaming(texts, addresses);
  if (named >= 0 && isOfTexts(rows[named])) return rows[named];
  const isHeader = (at: number): boolean => {
    const usual = median(filled.slice(at + 1, at + 1 + ROWS_COMPARED));
    return (
      usual > 1 &&
      (filled[at] ?? 0) >= Math.max(2, usual / 2) &&
      isOfTexts(rows[at]) &&
      looksLikeHeader(texts[at] ?? [], addresses.slice(at + 1))
    );
  };
  const first = rows.findIndex((_, at) => isHeader(at));
  const firstDomain = addresses.findIndex((cells) =>
    cells.some((_, at) => hasAddress([cells], at)),
  );
  if (first >= 0 || Math.max(0, ...filled) > 1) {
    const isBelowDomains = firstDomain >= 0 && firstDomain < first;
    return rows[isBelowDomains ? 0 : Math.max(0, first)];
  }
  return rows[Math.max(0, firstDomain - 1)];
}

/** The last row that names a column of domains above the first address in it; or -1. */
function findNaming(
  texts: readonly (readonly string[])[],
  addresses: readonly (readonly string[])[],
): number {
  let found = -1;
  for (const [at, names] of texts.entries()) {
    const column = columnOfDomains(names, addresses.slice(at + 1));
    if (column === -1) continue;
    if (hasAddress(addresses.slice(found + 1, at), column)) break;
    found = at;
  }
  return found;
}

/**
 * Whether most cells are texts. Years and numbers of weeks are also names of columns, but not of
 * most of them.
 */
function isOfTexts(row: SheetRow | undefined): boolean {
  const filled = row?.cells.filter((cell) => textOfSheetCell(cell).trim() !== '') ?? [];
  const texts = filled.filter((cell) => typeof valueOfCell(cell) === 'string');
  return texts.length * 2 > filled.length;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
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
function namesIn(rows: readonly SheetRow[], merges: readonly Range[]): readonly string[] {
  const width = Math.max(...rows.map(({ lastContent }) => lastContent + 1));
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
