import type { SheetCell } from './cell.ts';
import { textOfSheetCell } from './cell.ts';
import { findHeaderRow } from './header-row.ts';
import type { RowLine } from './row-line.ts';
import type { ReadCell, SheetRow } from './sheet-reader.ts';
import type { SheetTable } from './tables.ts';

/** The place of the list in a sheet. */
export interface ListPlace {
  readonly header: SheetRow;
  /** The first column that is not empty, from 0. */
  readonly firstColumn: number;
  /** Cells of the header, from that column on. */
  readonly headerCells: readonly SheetCell[];
  /** Rows above the header, as they are in the sheet. */
  readonly above: string;
}

/** Finds the rows of the list among those of its sheet. Rows have to be passed in their order. */
export interface ListRows {
  /** @returns the rows of the list that are complete */
  add(rows: readonly SheetRow[]): readonly RowLine[];
  /** Must be called behind the last row. */
  end(): readonly RowLine[];
  /** Undefined as long as it is unknown, and for an empty sheet. */
  readonly place: ListPlace | undefined;
}

/** This many rows that are not empty are searched for the header, or fewer long ones. */
const ROWS_AT_START = 60;
const MOST_AT_START = 4_000_000;
/** Empty rows are kept in their place, up to this many characters in one place. */
const MOST_OF_EMPTY = 4_000_000;

/**
 * Makes a finder of rows. Rows without any text are not part of the list, and neither are those
 * with the totals of a table; they stay where they are.
 *
 * @param tables the tables on the sheet
 */
export function createListRows(tables: readonly SheetTable[]): ListRows {
  let start: SheetRow[] = [];
  let filledAtStart = 0;
  let startLength = 0;
  let place: ListPlace | undefined;
  const isOfList = (row: SheetRow): boolean => hasText(row) && !isTotals(row, tables);
  /** Waits for the empty rows behind it. */
  let last: Omit<RowLine, 'after'> | undefined;
  let empty: SheetRow[] = [];
  let emptyLength = 0;

  function addRow(row: SheetRow, lines: RowLine[]): void {
    if (!place) return;
    if (!isOfList(row)) {
      emptyLength += lengthOf(row);
      if (emptyLength <= MOST_OF_EMPTY || hasText(row)) empty.push(row);
      return;
    }
    takeLast(lines, empty);
    const cells = cellsFrom(row, place.firstColumn);
    const width = Math.max(place.headerCells.length, cells.length);
    last = { cells, number: row.number, xml: xmlUpTo(row, place.firstColumn + width) };
  }

  function takeLast(lines: RowLine[], behind: readonly SheetRow[]): void {
    if (last) lines.push({ ...last, after: behind.map(wholeXml).join('') });
    last = undefined;
    empty = [];
    emptyLength = 0;
  }

  function findPlace(lines: RowLine[]): void {
    const filled = start.filter(isOfList);
    const at = findHeaderRow(filled.map((row) => cellsFrom(row, 0)));
    const header = filled[at];
    if (!header) return;
    const list = filled.slice(at);
    const firstColumn = Math.min(...list.map(firstColumnOf));
    const split = start.indexOf(header);
    place = {
      header,
      firstColumn,
      headerCells: cellsFrom(header, firstColumn),
      above: start.slice(0, split).map(wholeXml).join(''),
    };
    for (const row of start.slice(split + 1)) addRow(row, lines);
    start = [];
  }

  return {
    add: (rows) => {
      const lines: RowLine[] = [];
      for (const row of rows) {
        if (place) {
          addRow(row, lines);
          continue;
        }
        const isFilled = isOfList(row);
        emptyLength += isFilled ? 0 : lengthOf(row);
        if (hasText(row) || emptyLength <= MOST_OF_EMPTY) start.push(row);
        filledAtStart += isFilled ? 1 : 0;
        startLength += isFilled ? lengthOf(row) : 0;
        if (filledAtStart === ROWS_AT_START || startLength > MOST_AT_START) findPlace(lines);
      }
      return lines;
    },
    end: () => {
      const lines: RowLine[] = [];
      if (!place) findPlace(lines);
      // Keeps formulas that were filled down further than the list is long. Losing formats does no harm.
      takeLast(
        lines,
        empty.filter((row) => hasText(row) || row.cells.some(({ hasFormula }) => hasFormula)),
      );
      return lines;
    },
    get place() {
      return place;
    },
  };
}

function hasText({ cells }: SheetRow): boolean {
  return cells.some(({ cell }) => cell !== null && textOfSheetCell(cell).trim() !== '');
}

/** Whether a row contains only the totals of a table. */
function isTotals({ number, cells }: SheetRow, tables: readonly SheetTable[]): boolean {
  const ofRow = tables.find(({ totalsRow }) => totalsRow === number);
  if (!ofRow) return false;
  const { firstColumn, lastColumn } = ofRow;
  return cells.every((cell) => {
    return !isOccupied(cell) || (cell.column >= firstColumn && cell.column <= lastColumn);
  });
}

function isOccupied({ cell, hasFormula }: ReadCell): boolean {
  return cell !== null || hasFormula;
}

function firstColumnOf({ cells }: SheetRow): number {
  return Math.min(...cells.filter(isOccupied).map(({ column }) => column));
}

/** The contents of its cells, without the empty ones at its end. */
function cellsFrom({ cells }: SheetRow, firstColumn: number): readonly SheetCell[] {
  const found: SheetCell[] = [];
  for (const read of cells) {
    if (!isOccupied(read) || read.column < firstColumn) continue;
    while (found.length < read.column - firstColumn) found.push(null);
    found[read.column - firstColumn] = read.cell;
  }
  return found;
}

/**
 * A row as it is in the sheet, left open, without the cells beyond the list: our columns go there.
 */
export function xmlUpTo({ tag, cells }: SheetRow, column: number): string {
  return tag + cells.map((cell) => (cell.column < column ? cell.xml : '')).join('');
}

function wholeXml({ tag, cells }: SheetRow): string {
  return `${tag}${cells.map(({ xml }) => xml).join('')}</${nameOf(tag)}>`;
}

/** `x:row` of `<x:row r="5">`. */
export function nameOf(tag: string): string {
  return /^<([^\s/>]+)/.exec(tag)?.[1] ?? 'row';
}

function lengthOf({ tag, cells }: SheetRow): number {
  return cells.reduce((sum, { xml }) => sum + xml.length, tag.length);
}
