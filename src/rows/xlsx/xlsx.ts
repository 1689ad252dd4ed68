import { shorten, uniqueNames } from '../columns/names.ts';
import { textOfCell, withoutFormula } from '../csv/csv-writer.ts';
import type {
  ByteSource,
  CellValue,
  FilledRow,
  RowColumn,
  RowFiller,
  RowFormat,
  ScannedRow,
} from '../row-format.ts';
import { addressOfSheetCell, type SheetCell, textOfSheetCell, valueOfSheetCell } from './cell.ts';
import { columnOfRef } from './cell-ref.ts';
import { type CellPlace, valueXml } from './cell-xml.ts';
import { cellsFrom } from './list-rows.ts';
import type { Workbook } from './open-workbook.ts';
import { CUT_BYTE, END_BYTE, isHiddenRow, readRowText, writeRowText } from './row-line.ts';
import { createInPlaceWriter } from './sheet-writer.ts';

/** The format of the list in a workbook. Its rows are lines of the spool. */
export function openXlsx(workbook: Workbook): RowFormat {
  const { columns, place, sheet, sampleRows, rowCells } = workbook;
  const readCells = (raw: string): readonly SheetCell[] => cellsOfLine(raw, workbook);
  /** In the domain column, a cell counts as the address that it links to. */
  let domainIndex = -1;
  const textsOf = (raw: string): readonly string[] =>
    readCells(raw).map((cell, at) =>
      at === domainIndex ? addressOfSheetCell(cell) : textInCsv(cell),
    );
  return {
    kind: 'xlsx',
    extension: '.xlsx',
    description: `XLSX, sheet '${sheet.name}', header in row ${place.header.number}`,
    columns,
    sampleRows,
    headBytes: 0,
    isTable: true,
    takenNames: new Set(columns),
    workbook,
    notices: describeRows(workbook),
    noticesOf: ({ index }) => describeBelowTable(workbook, place.firstColumn + index),
    isHidden: (raw) => isHiddenRow(readRowText(raw).xml),
    scan: (source, domainColumn, others = []) => {
      domainIndex = domainColumn.index;
      return scan(source, { domainColumn, others, width: columns.length, place, rowCells });
    },
    createWriter: (added, { maxFields }) =>
      createInPlaceWriter(workbook, {
        added,
        width: Math.max(columns.length, maxFields),
        column: { index: domainIndex },
      }),
    createFiller: (filled, replaces) => createSheetFiller(filled, workbook, replaces),
    ownPart: () => {
      throw new TypeError('workbooks are not merged');
    },
    textOf: textOfCell,
    textsOf,
    cellsOf: readCells,
    toObject: (raw) => {
      const cells = readCells(raw);
      const width = Math.max(columns.length, cells.length);
      const names = Array.from({ length: width }, (_, at) => columns[at] || `column_${at + 1}`);
      return Object.fromEntries(
        uniqueNames(names).map((name, at) => [name, valueOf(cells[at], at === domainIndex)]),
      );
    },
  };
}

/** What the user should know about its rows before anything is paid for. */
function describeRows({ found, frame, tables, otherLists, sheet }: Workbook): readonly string[] {
  const { rows, hidden, leftOut, uncalculated } = found;
  const notices: string[] = [];
  const [other] = otherLists;
  if (other) {
    notices.push(
      `The sheet '${shorten(other.sheet)}' has domains in its column '${shorten(other.column)}': if that is the list, and not '${shorten(sheet.name)}', take it with --sheet.`,
    );
  }
  if (uncalculated > 0) {
    notices.push(
      `${count(uncalculated, 'formula has', 'formulas have')} no value yet, as if empty: open the workbook in a spreadsheet program and save it to have them calculated.`,
    );
  }
  if (hidden > 0) {
    const isFiltered = [frame.tail, ...tables.map(({ xml }) => xml)].some((xml) =>
      /<(?:[\w.-]+:)?filterColumn[\s>]/.test(xml),
    );
    const are = hidden === 1 ? 'is' : 'are';
    notices.push(
      `${hidden.toLocaleString('en-US')} of ${count(rows, 'row', 'rows')} ${are} hidden${isFiltered ? ' by a filter' : ''}: looked up like the others, and hidden in the output too.`,
    );
  }
  if (leftOut) {
    notices.push(
      `${count(leftOut.rows, 'row', 'rows')} below the list (sheet row ${leftOut.number}, '${shorten(leftOut.text)}') set off by an empty one and without an address: not looked up, and left as they are in a workbook.`,
    );
  }
  return notices;
}

function describeBelowTable(workbook: Workbook, domainColumn: number): readonly string[] {
  const below = workbook.found.belowTables.find(
    ({ table }) => table.firstColumn <= domainColumn && domainColumn <= table.lastColumn,
  );
  if (!below) return [];
  return [
    `${count(below.rows, 'row', 'rows')} below the table '${shorten(below.table.name)}' (from sheet row ${below.first}): looked up like the others, but sorting the table leaves them where they are.`,
  ];
}

function count(number: number, one: string, more: string): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : more}`;
}

/** The list's own cells are never changed; a text that was filled in came from the API. */
function textInCsv(cell: SheetCell): string {
  const isFilled = Array.isArray(cell) && cell[0] === 'filled';
  return isFilled ? withoutFormula(cell[1]) : textOfSheetCell(cell);
}

function valueOf(cell: SheetCell | undefined, isDomain: boolean): unknown {
  const hasLink = Array.isArray(cell) && typeof cell[3] === 'string';
  return isDomain && hasLink ? addressOfSheetCell(cell) : valueOfSheetCell(cell);
}

function cellsOfLine(
  raw: string,
  { rowCells, place }: Pick<Workbook, 'rowCells' | 'place'>,
): readonly SheetCell[] {
  const { xml, number, filled } = readRowText(raw);
  const cells = [...cellsFrom(rowCells.read(Buffer.from(xml), number), place.firstColumn)];
  for (const [index, cell] of filled) {
    while (cells.length < index) cells.push(null);
    cells[index] = cell;
  }
  return cells;
}

interface ScanOptions extends Pick<Workbook, 'place' | 'rowCells'> {
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  /** The least number of columns of every row. */
  readonly width: number;
}

async function* scan(
  source: ByteSource,
  { domainColumn, others, width, place, rowCells }: ScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const scanLine = (line: Buffer): ScannedRow => {
    const cut = line.indexOf(CUT_BYTE);
    const xmlStart = line.indexOf(CUT_BYTE, cut + 1) + 1;
    const number = Number(line.toString('latin1', 0, cut));
    const fields = Number(line.toString('latin1', cut + 1, xmlStart - 1));
    const xml = line.subarray(xmlStart, line.indexOf(CUT_BYTE, xmlStart));
    const cellOf = ({ index }: RowColumn): SheetCell =>
      rowCells.cellAt(xml, number, place.firstColumn + index);
    return {
      sheetRow: number,
      cell: addressOfSheetCell(cellOf(domainColumn)),
      sizeBytes: line.length,
      bytes: line,
      start: 0,
      fields: Math.max(width, fields),
      others:
        others.length > 0 ? others.map((column) => textOfSheetCell(cellOf(column))) : undefined,
    };
  };
  let rest: Buffer[] = [];
  for await (const chunk of source.read()) {
    const batch: ScannedRow[] = [];
    let start = 0;
    for (let end = chunk.indexOf(END_BYTE); end !== -1; end = chunk.indexOf(END_BYTE, start)) {
      const tail = chunk.subarray(start, end + 1);
      batch.push(scanLine(rest.length > 0 ? Buffer.concat([...rest, tail]) : tail));
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    if (batch.length > 0) yield batch;
  }
}

/** A cell as it is in a row. */
interface CellXml {
  /** From 0. */
  readonly column: number;
  readonly xml: string;
}

/** Splits a row that has been read before into its opening tag and its cells. */
function cutRow(xml: string, prefix: string): { tag: string; cells: CellXml[] } {
  const tagEnd = xml.indexOf('>') + 1;
  const cells: CellXml[] = [];
  const close = new RegExp(`</${prefix}c\\s*>|$`, 'g');
  for (let at = tagEnd; at < xml.length; ) {
    const end = xml.indexOf('>', at) + 1;
    const cellEnd = xml[end - 2] === '/' ? end : endOfElement(xml, end, close);
    const cell = xml.slice(at, cellEnd);
    cells.push({ column: columnOfRef(/\sr\s*=\s*["']([A-Z]+)/.exec(cell)?.[1] ?? ''), xml: cell });
    at = cellEnd;
  }
  return { tag: xml.slice(0, tagEnd), cells };
}

/**
 * Called only for cells with a closing tag: after an empty one the search would pass all of the
 * empty cells that follow, for each of them.
 */
function endOfElement(xml: string, from: number, close: RegExp): number {
  close.lastIndex = from;
  close.test(xml);
  return close.lastIndex;
}

/** Fills cells of a row: those that are blank and have no formula, unless any may be replaced. */
export function createSheetFiller(
  columns: readonly RowColumn[],
  workbook: Pick<Workbook, 'place' | 'frame' | 'longNumbers' | 'rowCells'>,
  replaces = false,
): RowFiller {
  const { longNumbers } = workbook;
  const { firstColumn } = workbook.place;
  const { prefix } = workbook.frame;
  const longStyle = longNumbers.take;
  return {
    fill: (raw, fields, values): FilledRow => {
      const line = readRowText(raw);
      const own = [...cellsOfLine(raw, workbook)];
      const contents = new Map(line.filled);
      const { tag, cells } = cutRow(line.xml, prefix);
      const filled: number[] = [];
      for (const [at, { index }] of columns.entries()) {
        const value = values[at];
        if (isNothing(value)) continue;
        if (!replaces && textOfSheetCell(own[index]).trim() !== '') continue;
        const column = firstColumn + index;
        const place = { column, row: line.number, prefix, longStyle };
        if (!fillCell(cells, value, { ...place, replaces })) continue;
        while (own.length < index) own.push(null);
        own[index] = cellOf(value);
        contents.set(index, cellOf(value));
        filled.push(at);
      }
      const xml = tag + cells.map((cell) => cell.xml).join('');
      return { raw: writeRowText({ ...line, xml, filled: contents }), fields, filled };
    },
  };
}

/** @returns false when there is a formula that has to stay */
function fillCell(
  cells: CellXml[],
  value: CellValue,
  { replaces, ...place }: Omit<CellPlace, 'style'> & { readonly replaces: boolean },
): boolean {
  const { column, prefix } = place;
  const found = cells.findIndex((cell) => cell.column >= column);
  const there = cells[found]?.column === column ? cells[found] : undefined;
  if (!replaces && there?.xml.includes(`<${prefix}f`)) return false;
  const style = Number(/^[^>]*\ss\s*=\s*["'](\d+)/.exec(there?.xml ?? '')?.[1] ?? 0);
  const xml = valueXml(value, { ...place, style });
  cells.splice(found === -1 ? cells.length : found, there ? 1 : 0, { column, xml });
  return true;
}

function cellOf(value: CellValue): SheetCell {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return ['filled', textOfCell(value), 0];
}

function isNothing(value: CellValue): boolean {
  return value === undefined || textOfCell(value) === '';
}
