import type { DomainColumn } from './columns/domain-column.ts';
import type { SheetCell } from './xlsx/cell.ts';
import type { Workbook } from './xlsx/open-workbook.ts';

/** The bytes of a list. */
export interface ByteSource {
  /** The name of the list in messages: the path as given, or `standard input`. */
  readonly name: string;
  /** Reads everything, decompressed, in UTF-8 and without byte order mark, checked to be text. */
  read(): AsyncIterable<Buffer>;
}

/** One row as the first reading sees it. */
export interface ScannedRow {
  /** Text of the domain column; empty when the row has no such cell. */
  readonly cell: string;
  /** Length of the row in the input in bytes, line end included. */
  readonly sizeBytes: number;
  /** Where these bytes are until the next batch is asked for, from `start` on. */
  readonly bytes: Buffer;
  readonly start: number;
  /** Number of its cells; 0 for a blank line, which is no row. */
  readonly fields: number;
  /** Whether it has nothing but delimiters, so that it is no row either, and stays where it is. */
  readonly isBlank?: boolean | undefined;
  /**
   * Text of the other columns that were asked for, in their order; empty where the row has none.
   */
  readonly others?: readonly string[] | undefined;
  /** The number of its row in the sheet of a workbook, from 1. */
  readonly sheetRow?: number;
  /** Set if its cells are probably not under their names. */
  readonly shifted?: Shift | undefined;
}

/** Why cells are in other columns than their names say. */
export interface Shift {
  /** The line in which the row begins, from 1. */
  readonly line: number;
  /**
   * `too_many_cells`: a delimiter within a text was not quoted. `torn_row`: a line end within a text
   * was not, and this is the rest of the row above.
   */
  readonly reason: 'too_many_cells' | 'torn_row';
}

/** A column of a list: its place in a table, its name in objects. */
export type RowColumn = Pick<DomainColumn, 'index' | 'name'>;

/** The value of one added cell. Structures occur only if the format can hold them. */
export type CellValue = unknown;

/** Writes rows in the format of the input, adding columns at their end. */
export interface RowWriter {
  /** The text before the first row. */
  readonly header: string;
  /**
   * Writes one row of the output.
   *
   * @param raw the row as it is in the input, line end included
   * @param fields the number of its cells, as scanned
   * @param added values of the added columns, in their order
   */
  row(raw: string, fields: number, added: readonly CellValue[]): string;
  /** Likewise for a row of nothing but delimiters; missing where it leaves nothing behind. */
  blank?(raw: string, fields: number): string;
  /** Writes the same rows from bytes into bytes; missing where rows are more than text. */
  readonly inBytes?: ByteWriter | undefined;
}

/** The bytes of a row, as it was scanned. */
export type RowBytes = Pick<ScannedRow, 'bytes' | 'start' | 'sizeBytes' | 'fields'>;

/** Copies rows, and behind each the cells that are ready for it. */
export interface ByteWriter {
  /** The added cells of a row, as `write` takes them. */
  cellsOf(added: readonly CellValue[]): string;
  /**
   * Writes one row to a place of `target`, where there is room for it, for its cells, and for
   * `spareBytes` more.
   *
   * @param cells bytes that begin with those of the added cells
   * @returns where it ends; -1 for a row that is wider than all others were said to be
   */
  write(row: RowBytes, cells: ReadyCells, target: Buffer, at: number): number;
  readonly spareBytes: number;
  /** What the cells of equal values depend on. */
  readonly style: string;
}

/** Added cells in bytes, from `start` to `end`. */
export interface ReadyCells {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A row in which cells were filled. */
export interface FilledRow {
  readonly raw: string;
  /** The number of its cells now. */
  readonly fields: number;
  /** Indexes of the filled columns among the columns to be filled. */
  readonly filled: readonly number[];
}

/** Fills cells of a row, and leaves the rest of it as it is, to the byte. */
export interface RowFiller {
  /** @param values a value for each of the columns; undefined or empty leaves the cell as it is */
  fill(raw: string, fields: number, values: readonly CellValue[]): FilledRow;
}

/** The number and the size of rows, from the first reading. */
export interface Extent {
  /** The largest number of cells in a row. */
  readonly maxFields: number;
}

/** The notation of rows. */
export type RowKind = 'csv' | 'jsonl' | 'xlsx';

/** A list whose format is known: how to read its rows, and how to write them with more columns. */
export interface RowFormat {
  readonly kind: RowKind;
  /** How names of files of such rows end, with the dot. */
  readonly extension: string;
  /** For people: `CSV, semicolon-separated`. */
  readonly description: string;
  /** Names of the columns, in their order; for JSONL, those of the first rows. */
  readonly columns: readonly string[];
  /** The first rows, as the text of their cells. */
  readonly sampleRows: readonly (readonly string[])[];
  /** Bytes before the first row. */
  readonly headBytes: number;
  /** Whether every row should have all columns, as in a table. */
  readonly isTable: boolean;
  /**
   * Reads all rows once, in batches.
   *
   * @param others columns whose text is needed besides that of the domain
   * @throws BrandfillError `UNREADABLE_INPUT` that names the line of the first bad row
   */
  scan(
    source: ByteSource,
    domainColumn: RowColumn,
    others?: readonly RowColumn[],
  ): AsyncIterable<readonly ScannedRow[]>;
  /**
   * Names that our columns must not take, and names of the scanned columns, if the list has them;
   * complete once all rows are scanned.
   */
  readonly takenNames: ReadonlySet<string>;
  /** @param added names of the added columns */
  createWriter(added: readonly string[], extent: Extent): RowWriter;
  /**
   * @param columns those of the list's own columns that are to be filled
   * @param replaces whether cells are filled that are not blank, too
   */
  createFiller(columns: readonly RowColumn[], replaces?: boolean): RowFiller;
  /** The part of a row before a column; the line end stays. */
  ownPart(raw: string, before: RowColumn): string;
  /** The text of a value in an added column, before quoting; empty for none. */
  textOf(value: CellValue): string;
  /** Whether CSV made from the list begins with a byte order mark. @default false */
  readonly marksText?: boolean | undefined;
  /** Gives the text of a row's own cells, to write it in another format; only for tables. */
  readonly textsOf?: ((raw: string) => readonly string[]) | undefined;
  /** Gives the contents of a row's own cells, if they are more than text. */
  readonly cellsOf?: ((raw: string) => readonly SheetCell[]) | undefined;
  /** Whether a row is hidden in its sheet; only for workbooks. */
  readonly isHidden?: ((raw: string) => boolean) | undefined;
  /** The line of the header, from 1, if it seems to be below the line that was taken as header. */
  readonly lineOfHeader?: number | undefined;
  /** What the user should know about the list, in sentences; usually nothing. */
  readonly notices?: readonly string[];
  /** Likewise, about the list with its rows looked up by a column. */
  readonly noticesOf?: ((column: RowColumn) => readonly string[]) | undefined;
  /** The workbook that the list is in; undefined for all other formats. */
  readonly workbook?: Workbook | undefined;
  /** Converts a row into an object for programs, with its columns in their order. */
  toObject(raw: string): Record<string, unknown>;
}
