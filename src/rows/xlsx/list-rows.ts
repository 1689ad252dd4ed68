import { findHeaderRow, type HeadCell } from '../columns/header-row.ts';
import { normalizeDomain } from '../domain/domain.ts';
import { addressOfSheetCell, type SheetCell, textOfSheetCell } from './cell.ts';
import type { RowLine, UnlistedRows } from './row-line.ts';
import { isOccupied, nameOf, type ReadCell, type RowCells, type SheetRow } from './sheet-reader.ts';
import type { SheetTable } from './xml-edit.ts';

/** The place of the list in a sheet. */
export interface ListPlace {
  readonly header: SheetRow;
  /** The first column that is not empty, from 0. */
  readonly firstColumn: number;
  readonly headerCells: readonly ReadCell[];
  /** Names of the columns, from the first one on. */
  readonly columns: readonly string[];
  /** What is above the header in the sheet: rows, or marks of rows that were not part of the list. */
  readonly above: string;
  /** What is between the header and the first row, likewise. */
  readonly below: string;
}

/** Rows below the list that are none of it, such as totals or notes. */
export interface LeftOut {
  readonly rows: number;
  /** The first of them, as the sheet counts. */
  readonly number: number;
  /** Its first text. */
  readonly text: string;
}

/** Finds the rows of the list among those of its sheet. Rows have to be passed in their order. */
export interface ListRows {
  /** @returns the rows of the list that are complete */
  add(rows: readonly SheetRow[]): readonly RowLine[];
  /** Must be called behind the last row. */
  end(): readonly RowLine[];
  /** Undefined as long as it is unknown, and for an empty sheet. */
  readonly place: ListPlace | undefined;
  /** Known at the end; undefined when there are none. */
  readonly leftOut: LeftOut | undefined;
}

/** This many rows that are not empty are searched for the header, or fewer long ones. */
const ROWS_AT_START = 60;
const MOST_AT_START = 4_000_000;
/** Notes below a list are few and short; more rows than this are rows of the list. */
const MOST_HELD = 100;
const MOST_OF_HELD = 1_000_000;

/** A row with text, or the mark of rows that were not part of the list. */
type Item = SheetRow | string;

/**
 * Makes a finder of rows. Every row below the header that has text is a row of the list, except for
 * the totals of a table, and for what is set off by an empty row at the end and has no address in
 * it. These rows and those without text are not part of the list, and stay where they are.
 *
 * @param tables the tables on the sheet
 */
export function createListRows(
  tables: readonly SheetTable[],
  unlisted: UnlistedRows,
  rowCells: RowCells,
): ListRows {
  const cellsOf = ({ xml, number }: SheetRow): readonly ReadCell[] => rowCells.read(xml, number);
  let start: Item[] = [];
  let filledAtStart = 0;
  let startLength = 0;
  let place: ListPlace | undefined;
  let leftOut: LeftOut | undefined;
  /** Waits for what is behind it. */
  let last: Omit<RowLine, 'after'> | undefined;
  let behind = '';
  /** Behind an empty row, and without an address so far. */
  let held: Item[] = [];
  let heldLength = 0;

  function addItem(item: Item, lines: RowLine[]): void {
    if (typeof item === 'string') {
      if (held.length > 0) held.push(item);
      else behind += item;
      return;
    }
    if (held.length === 0 && !isSetOff(item)) {
      addRow(item, lines);
      return;
    }
    held.push(item);
    heldLength += item.xml.length;
    const isList =
      held.length > MOST_HELD || heldLength > MOST_OF_HELD || hasAddress(cellsOf(item));
    if (isList) release(lines);
  }

  /** Whether a row may be a note: it is not right below another one. */
  function isSetOff(row: SheetRow): boolean {
    if (!place || !last) return false;
    const { header } = place;
    const isGap = behind !== '' || row.number > last.number + 1;
    const isOfTable = tables.some(
      ({ firstRow, lastRow }) => firstRow === header.number && row.number <= lastRow,
    );
    return isGap && !isOfTable;
  }

  function release(lines: RowLine[]): void {
    for (const item of held) {
      if (typeof item === 'string') behind += item;
      else addRow(item, lines);
    }
    held = [];
    heldLength = 0;
  }

  function addRow(row: SheetRow, lines: RowLine[]): void {
    if (!place) return;
    takeLast(lines);
    const fields = Math.max(0, row.lastColumn + 1 - place.firstColumn);
    const end = place.firstColumn + Math.max(place.columns.length, fields);
    const xml = row.lastCell < end ? row.xml : rowCells.upTo(row.xml, end);
    last = { fields, number: row.number, xml };
  }

  function describeNotes(row: SheetRow, rows: number): LeftOut {
    const texts = cellsOf(row).map(({ cell }) => textOfSheetCell(cell).trim());
    return { rows, number: row.number, text: texts.find((text) => text !== '') ?? '' };
  }

  /** Whether a row contains only the totals of a table. */
  function isTotals(row: SheetRow): boolean {
    const ofRow = tables.find(({ totalsRow }) => totalsRow === row.number);
    if (!ofRow) return false;
    return row.firstColumn >= ofRow.firstColumn && row.lastColumn <= ofRow.lastColumn;
  }

  function takeLast(lines: RowLine[]): void {
    if (last) lines.push({ ...last, after: behind });
    else if (place) place = { ...place, below: behind };
    last = undefined;
    behind = '';
  }

  function findPlace(lines: RowLine[]): void {
    const filled = start.filter((item) => typeof item !== 'string');
    const at = findHeaderRow(filled.map((row) => cellsFrom(cellsOf(row), 0).map(toHeadCell)));
    const header = filled[at];
    if (!header) return;
    const list = filled.slice(at);
    const firstColumn = Math.min(...list.map((row) => row.firstColumn));
    const headerCells = cellsOf(header);
    const split = start.indexOf(header);
    place = {
      header,
      firstColumn,
      headerCells,
      columns: cellsFrom(headerCells, firstColumn).map((cell) => textOfSheetCell(cell).trim()),
      above: start
        .slice(0, split)
        .map((item) => (typeof item === 'string' ? item : wholeXml(item)))
        .join(''),
      below: '',
    };
    for (const item of start.slice(split + 1)) addItem(item, lines);
    start = [];
  }

  function take(item: Item, lines: RowLine[]): void {
    if (place) {
      addItem(item, lines);
      return;
    }
    start.push(item);
    if (typeof item === 'string') return;
    filledAtStart += 1;
    startLength += item.xml.length;
    if (filledAtStart === ROWS_AT_START || startLength > MOST_AT_START) findPlace(lines);
  }

  return {
    add: (rows) => {
      const lines: RowLine[] = [];
      for (const row of rows) {
        if (!row.hasText || isTotals(row)) {
          unlisted.add(wholeXml(row));
          continue;
        }
        const mark = unlisted.mark();
        if (mark !== '') take(mark, lines);
        take(row, lines);
      }
      return lines;
    },
    end: () => {
      const lines: RowLine[] = [];
      const mark = unlisted.mark();
      if (mark !== '') take(mark, lines);
      if (!place) findPlace(lines);
      const notes = held.filter((item) => typeof item !== 'string');
      leftOut = notes[0] && describeNotes(notes[0], notes.length);
      for (const item of held) {
        if (typeof item === 'string') behind += item;
        else {
          unlisted.add(wholeXml(item));
          behind += unlisted.mark();
        }
      }
      takeLast(lines);
      return lines;
    },
    get place() {
      return place;
    },
    get leftOut() {
      return leftOut;
    },
  };
}

function hasAddress(cells: readonly ReadCell[]): boolean {
  return cells.some(({ cell }) => 'domain' in normalizeDomain(addressOfSheetCell(cell)));
}

function toHeadCell(cell: SheetCell): HeadCell {
  return {
    text: textOfSheetCell(cell),
    address: addressOfSheetCell(cell),
    isText: typeof cell === 'string' || (Array.isArray(cell) && cell[0] === 'text'),
  };
}

/** The contents of cells, without the empty ones at their end. */
export function cellsFrom(cells: readonly ReadCell[], firstColumn: number): readonly SheetCell[] {
  const found: SheetCell[] = [];
  for (const read of cells) {
    if (!isOccupied(read) || read.column < firstColumn) continue;
    while (found.length < read.column - firstColumn) found.push(null);
    found[read.column - firstColumn] = read.cell;
  }
  return found;
}

function wholeXml({ xml }: SheetRow): string {
  const text = xml.toString();
  return `${text}</${nameOf(text)}>`;
}
