import { BrandfillError } from '../../common/errors.ts';
import { textOfCell } from '../csv/csv-writer.ts';
import type { CellValue, RowColumn, RowWriter } from '../row-format.ts';
import type { SheetCell } from './cell.ts';
import { textOfSheetCell } from './cell.ts';
import { columnOfRef, MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS } from './cell-ref.ts';
import { ownXml, textXml, valueXml } from './cell-xml.ts';
import type { Workbook } from './open-workbook.ts';
import { readRowText } from './row-line.ts';
import { nameOf } from './sheet-reader.ts';

/** Writes the rows of a sheet, and collects what the rest of the sheet has to say about them. */
export interface SheetWriter extends RowWriter {
  /** Complete when all rows are written. */
  readonly layout: SheetLayout;
}

/** The place of a list in its sheet, with our columns. Columns count from 0, rows from 1. */
export interface SheetLayout {
  readonly headerRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
  /** Names of our columns, which are the last ones. */
  readonly added: readonly string[];
  /** Number of texts that were too long for a cell. */
  readonly cutTexts: number;
  /** The widths of columns, in characters; the others stay as they are. */
  readonly widths: ReadonlyMap<number, number>;
  /** The column that rows are looked up by. */
  readonly domainColumn: number;
  /** The last of the list's own columns. */
  readonly lastOwnColumn: number;
  /** Columns of a new sheet that are hidden. */
  readonly hidden: ReadonlySet<number>;
}

export interface InPlaceOptions {
  readonly added: readonly string[];
  /** The number of columns of the list. */
  readonly width: number;
  /** The column that rows are looked up by, among those of the list. */
  readonly column: Pick<RowColumn, 'index'>;
}

const NONE: ReadonlySet<number> = new Set();
const NARROWEST = 8;
const WIDEST = 60;

/**
 * Adds our cells to the rows of a sheet, which stay where and as they are, formulas and formats
 * included.
 */
export function createInPlaceWriter(
  workbook: Workbook,
  { added, width, column }: InPlaceOptions,
): SheetWriter {
  const { prefix } = workbook.frame;
  const longStyle = workbook.longNumbers.take;
  const { header, headerCells, firstColumn, above, below } = workbook.place;
  const headerStyle = headerCells.findLast(({ cell }) => cell !== null)?.style ?? 0;
  const ours = firstFreeColumn(workbook, width);
  const lastColumn = ours + added.length - 1;
  refuseWide(lastColumn + 1);
  const widths = createWidths();
  const headerXml = workbook.rowCells.upTo(header.xml, ours).toString();
  const end = `</${nameOf(headerXml)}>`;
  let lastRow = header.number;

  function addTo(xml: string, row: number, values: readonly CellValue[], style: number): string {
    let text = xml;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      if (value === undefined || value === null || value === '') continue;
      text += valueXml(value, { prefix, column: ours + at, row, style, longStyle });
      widths.add(ours + at, textOfCell(value));
    }
    return text + end;
  }

  return {
    header: above + addTo(headerXml, header.number, added, headerStyle) + below,
    row: (raw, _fields, values) => {
      const { number, xml, after } = readRowText(raw);
      lastRow = number;
      return addTo(xml, number, values, 0) + after;
    },
    get layout() {
      const { all, cutTexts } = widths;
      const columns = { firstColumn, lastColumn, added, widths: all, cutTexts, hidden: NONE };
      return {
        headerRow: header.number,
        lastRow,
        domainColumn: firstColumn + column.index,
        lastOwnColumn: firstColumn + workbook.columns.length - 1,
        ...columns,
      };
    },
  };
}

/**
 * The column where ours begin, from 0: right of the list, of cells that are merged with some of its
 * own, and of pictures and charts beside it.
 *
 * @param width the number of columns of the list
 */
function firstFreeColumn(workbook: Workbook, width: number): number {
  const { place, drawings, found } = workbook;
  let column = place.firstColumn + widthWithMerged(workbook, width);
  for (const drawing of drawings) {
    const isBeside = drawing.firstRow <= found.lastRow && drawing.lastRow >= place.header.number;
    if (isBeside) column = Math.max(column, drawing.lastColumn + 1);
  }
  return Math.min(column, MOST_COLUMNS);
}

/**
 * Counts the columns of a list, including cells that are merged with some of its own: only the first
 * of such cells is shown. A row that is one cell from end to end is a heading or a note, where
 * nothing is lost.
 */
function widthWithMerged({ frame, place, tables }: Workbook, width: number): number {
  const { header, firstColumn } = place;
  // A table has no merged cells; those below it are no reason to leave a gap that it cannot be
  // extended over.
  if (tables.some(({ firstRow }) => firstRow === header.number)) return width;
  let widest = width;
  for (const [, from = '', firstRow, to = '', lastRow] of frame.tail.matchAll(MERGED)) {
    const [first, last] = [columnOfRef(from) - firstColumn, columnOfRef(to) - firstColumn];
    const isNote = first <= 0 && last >= width - 1 && Number(firstRow) > header.number;
    const isOfList = Number(lastRow) >= header.number && first < width;
    if (isOfList && !isNote) widest = Math.max(widest, last + 1);
  }
  return widest;
}

const MERGED =
  /<(?:[\w.-]+:)?mergeCell\s[^>]*?ref\s*=\s*["']\$?([A-Z]+)\$?(\d+):\$?([A-Z]+)\$?(\d+)["']/g;

export interface NewSheetOptions {
  /** Names of the list's own columns. */
  readonly columns: readonly string[];
  /**
   * The number of columns of the list; more than `columns` if rows are longer than their header.
   */
  readonly width: number;
  readonly added: readonly string[];
  /** Styles of the names, by their column; the last one is also used for ours. */
  readonly headerStyles: readonly number[];
  /** Gives the contents of a row's own cells. */
  readonly cellsOf: (raw: string) => readonly SheetCell[];
  /** Whether a row is hidden. */
  readonly isHidden?: ((raw: string) => boolean) | undefined;
  /** The columns that are hidden. */
  readonly hidden?: ReadonlySet<number>;
  /** The style of long whole numbers. */
  readonly longStyle: () => number;
}

/** Writes a sheet from its first row on. */
export function createNewSheetWriter(options: NewSheetOptions): SheetWriter {
  const { columns, width, added, headerStyles, cellsOf, isHidden, hidden = NONE } = options;
  const { longStyle } = options;
  const prefix = '';
  const lastColumn = width + added.length - 1;
  refuseWide(lastColumn + 1);
  const widths = createWidths();
  let row = 1;
  let lastRow = 1;

  function nameXml(name: string, column: number): string {
    widths.add(column, name);
    const style = headerStyles[column] ?? headerStyles.at(-1) ?? 0;
    return textXml(name, { prefix, column, row: 1, style });
  }

  function rowXml(content: string, raw?: string): string {
    if (row > MOST_ROWS) refuseLong();
    const attribute = raw !== undefined && isHidden?.(raw) ? ' hidden="1"' : '';
    return `<row r="${row}"${attribute}>${content}</row>`;
  }

  const names = columns.map(nameXml).join('');
  const header = rowXml(names + added.map((name, at) => nameXml(name, width + at)).join(''));
  return {
    header,
    row: (raw, _fields, values) => {
      row += 1;
      lastRow = row;
      let content = '';
      for (const [column, cell] of cellsOf(raw).entries()) {
        content += ownXml(cell, { prefix, column, row, style: 0 });
        widths.add(column, textOfSheetCell(cell));
      }
      for (const [at, value] of values.entries()) {
        const column = width + at;
        content += valueXml(value, { prefix, column, row, style: 0, longStyle });
        widths.add(column, textOfCell(value));
      }
      return rowXml(content, raw);
    },
    blank: () => {
      row += 1;
      return '';
    },
    get layout() {
      const { all, cutTexts } = widths;
      const own = { domainColumn: 0, lastOwnColumn: width - 1 };
      const columns = { firstColumn: 0, lastColumn, added, widths: all, cutTexts, hidden };
      return { headerRow: 1, lastRow, ...own, ...columns };
    },
  };
}

interface Widths {
  add(column: number, text: string): void;
  readonly all: ReadonlyMap<number, number>;
  readonly cutTexts: number;
}

/** As wide as the widest text in a column, within bounds. */
function createWidths(): Widths {
  /** By column; 0 where nothing was added. */
  const widest: number[] = [];
  let cutTexts = 0;
  return {
    get all() {
      return new Map([...widest.entries()].filter(([, width]) => (width ?? 0) > 0));
    },
    get cutTexts() {
      return cutTexts;
    },
    add: (column, text) => {
      if (text.length > MOST_CHARACTERS) cutTexts += 1;
      while (widest.length <= column) widest.push(0);
      const before = Math.max(NARROWEST, widest[column] ?? 0);
      widest[column] = before;
      if (before === WIDEST || text.length + 2 <= before) return;
      const longest = Math.max(
        ...text
          .slice(0, 1_000)
          .split('\n')
          .map(({ length }) => length),
      );
      widest[column] = Math.min(WIDEST, Math.max(before, longest + 2));
    },
  };
}

function refuseWide(columns: number): void {
  if (columns <= MOST_COLUMNS) return;
  throw new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write a workbook: a sheet holds ${MOST_COLUMNS} columns, and this one would have ${columns}; choose fewer with --fields, or an --out that ends in .csv.`,
  );
}

function refuseLong(): never {
  throw new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write a workbook: a sheet holds ${MOST_ROWS} rows; choose an --out that ends in .csv.`,
  );
}
