import { countOf } from '../../common/format.ts';
import { objectOf, shorten } from '../columns/names.ts';
import { createBelow } from '../columns/table.ts';
import { createCellsWriter, guardFormula, textOfCell } from '../csv/csv-writer.ts';
import { LIST_FORMATS } from '../list-formats.ts';
import type {
  BinaryOutput,
  CellValue,
  Extent,
  RawRow,
  RowColumn,
  RowFormat,
  RowWriter,
  ScannedRow,
  Workbook,
} from '../row-format.ts';
import { type ByteSource, linesOf } from '../source.ts';
import {
  addressOfCell,
  contains,
  isFree,
  type Range,
  type SheetCell,
  textOfSheetCell,
  valueOfCell,
} from './cell.ts';
import type { OpenedWorkbook } from './open-workbook.ts';
import { lineOf, rowIn } from './sheet-reader.ts';
import { assertRewritable, WorkbookOutput } from './workbook-writer.ts';

/**
 * The list in a workbook. Its rows are lines of the spool.
 *
 *   opened ── scan ──▶ scanned: links count in the column of the domain ── begin ──▶ written
 */
export class XlsxList implements RowFormat {
  readonly notation = LIST_FORMATS.xlsx;
  readonly extension = '.xlsx';
  readonly isTable = true;
  readonly textOf = textOfCell;
  readonly description: string;
  readonly columns: readonly string[];
  readonly sampleRows: readonly (readonly string[])[];
  readonly headBytes: number;
  readonly takenNames: ReadonlySet<string>;
  readonly notices: readonly string[];
  readonly workbook: Workbook;
  readonly binary: BinaryOutput;
  readonly #list: OpenedWorkbook;
  readonly #isCovered: (row: number, column: number) => boolean;
  /** The column of the domain, once it is scanned. */
  #domainIndex = -1;

  constructor(list: OpenedWorkbook) {
    const { columns, headerRow, sheet, sheets, sample, head, tables, otherLists } = list;
    this.#list = list;
    this.#isCovered = createCovered(list);
    this.description = `XLSX, sheet '${sheet.name}', header in row ${headerRow}`;
    this.columns = columns;
    this.sampleRows = sample;
    this.headBytes = head.reduce((sum, row) => sum + Buffer.byteLength(lineOf(row)), 0);
    // In a table, `Brand_Status` is the same as `brand_status`.
    const folded = tables.length === 0 ? [] : columns.map((name) => name.toLowerCase());
    this.takenNames = new Set([...columns, ...folded]);
    this.notices = describeCells(list);
    this.workbook = { sheet: sheet.name, sheets, otherLists, headerRow };
    this.binary = {
      assertRewritable: () => assertRewritable(list),
      begin: (added, write) => new WorkbookOutput(list, added, this.#domainIndex, write),
    };
  }

  async *scan(
    source: ByteSource,
    column: RowColumn,
    others: readonly RowColumn[] = [],
  ): AsyncGenerator<readonly ScannedRow[]> {
    this.#domainIndex = column.index;
    const tellPlace = createPlaces(this.#list, column);
    const scanLine = (line: Buffer): ScannedRow => {
      const { number, cells } = rowIn(line.toString());
      const texts = cells.map((cell, at) => this.#textAt(number, cell, at));
      return {
        line: number,
        cell: texts[column.index] ?? '',
        below: tellPlace(number, texts),
        sizeBytes: line.length,
        fields: Math.max(this.columns.length, cells.length),
        others: others.map(({ index }) => textOfSheetCell(cells[index])),
      };
    };
    for await (const lines of linesOf(source.read(this.headBytes), source.name))
      yield lines.map(scanLine);
  }

  createWriter(added: readonly string[], { maxFields, keepsFormulas = false }: Extent): RowWriter {
    const write = createCellsWriter(',');
    const width = Math.max(this.columns.length, maxFields);
    const line = (own: readonly string[], values: readonly unknown[]): string => {
      const cells = Array.from({ length: width }, (_, at) => own[at]);
      // The list's own cells are never changed, whatever they begin with.
      return `${write(cells, true)},${write(values, keepsFormulas)}\n`;
    };
    return {
      // Excel takes text without a mark for something else.
      header: `\uFEFF${line(this.columns, added)}`,
      row: (raw, _fields, values) => line(this.#textsOf(raw, keepsFormulas), values),
    };
  }

  fillCell(row: RawRow, { index }: RowColumn, value: CellValue): RawRow | undefined {
    const kept = rowIn(row.raw);
    const { number, cells, filled = [] } = kept;
    if (!isFree(cells[index]) || this.#isCovered(number, index)) return undefined;
    const text = textOfCell(value);
    if (text === '') return row;
    while (cells.length < index) cells.push(null);
    cells[index] = typeof value === 'number' || typeof value === 'boolean' ? value : text;
    const columns = [...filled, index].sort((one, other) => one - other);
    return { ...row, raw: lineOf({ ...kept, filled: columns }) };
  }

  cellOf(raw: string, { index }: RowColumn): string {
    return this.#textsOf(raw, true)[index] ?? '';
  }

  toObject(raw: string): Record<string, unknown> {
    const { number, cells } = rowIn(raw);
    const values = cells.map((cell, at) => {
      const text = this.#textAt(number, cell, at);
      return text === textOfSheetCell(cell) ? valueOfCell(cell) : text; // it is linked
    });
    return objectOf(this.columns, values, null);
  }

  /**
   * The text that is looked up: in the domain column, a cell counts as the address that it links
   * to.
   */
  #textAt(number: number, cell: SheetCell | undefined, index: number): string {
    return index === this.#domainIndex
      ? addressOfCell(cell, this.#list.linkAt(number, index))
      : textOfSheetCell(cell);
  }

  /** @param keepsFormulas whether a text that was filled in stays as it is: it came from the API */
  #textsOf(raw: string, keepsFormulas: boolean): readonly string[] {
    const { number, cells, filled = [] } = rowIn(raw);
    return cells.map((cell, at) => {
      const text = this.#textAt(number, cell, at);
      return filled.includes(at) && !keepsFormulas ? guardFormula(text) : text;
    });
  }
}

/** What is not seen of cells, and of other sheets. */
function describeCells({ frame, above, otherLists, sheet }: OpenedWorkbook): readonly string[] {
  const { uncalculated, rich } = frame;
  const save = 'open the workbook in a spreadsheet program and save it';
  const [other] = otherLists;
  return [
    ...above,
    uncalculated > 0 &&
      `${countOf(uncalculated, 'formula has', 'formulas have')} no value yet, and count as blank: ${save} to have them calculated.`,
    rich > 0 &&
      `${countOf(rich, 'cell has', 'cells have')} linked data or a picture that only Excel shows, and the error #VALUE! for all other programs: where that is the domain, ${save.replace('save it', 'paste it as a text')}.`,
    other &&
      `The sheet '${shorten(other.sheet)}' has domains in its column '${shorten(other.column)}' too: if that is the list, and not '${shorten(sheet.name)}', take it with option 'sheet'.`,
  ].filter((text) => typeof text === 'string');
}

/**
 * Tells of rows, in their order, whether they are below the list: behind its table, or in another
 * one.
 */
function createPlaces({ tables, headerRow }: OpenedWorkbook, column: RowColumn) {
  const { index } = column;
  const isBelow = createBelow(column);
  const here = tables.filter(
    ({ firstColumn, lastColumn }) => firstColumn <= index && index <= lastColumn,
  );
  const ofList = here.find((table) => contains(table, headerRow, index));
  const others = here.filter(({ firstRow }) => firstRow > headerRow);
  let before = headerRow;
  return (number: number, texts: readonly string[]): ScannedRow['below'] => {
    const lastRow = ofList?.lastRow ?? Number.POSITIVE_INFINITY;
    const isApart = number - before > 1 || (before <= lastRow && number > lastRow);
    before = number;
    if (others.some((table) => contains(table, number, index))) return true;
    return ofList && number <= lastRow ? undefined : isBelow(texts, isApart);
  };
}

/** Makes a function that tells whether a cell is the hidden part of a merged one. */
function createCovered({ frame }: OpenedWorkbook): (row: number, column: number) => boolean {
  const byColumn = new Map<number, readonly Range[]>();
  return (row, column) => {
    const merges =
      byColumn.get(column) ??
      frame.merges.filter((range) => contains(range, range.lastRow, column));
    byColumn.set(column, merges);
    return merges.some(
      (range) =>
        contains(range, row, column) && (row > range.firstRow || column > range.firstColumn),
    );
  };
}
