import type { ListFormat, ReadingOptions } from './list-formats.ts';
import type { ByteSource } from './source.ts';

/** One row as the first reading sees it. */
export interface ScannedRow {
  /** Text of the domain column; empty when the row has no such cell. */
  readonly cell: string;
  /** Length of the row in the input in bytes, line end included. */
  readonly sizeBytes: number;
  /** Number of its cells; 0 for a blank line, which is no row. */
  readonly fields: number;
  /** The line in which it begins, from 1; in a workbook, the number of its row in the sheet. */
  readonly line: number;
  /** Whether it has nothing but delimiters, so that it is no row either, and stays where it is. */
  readonly isBlank?: boolean | undefined;
  /**
   * Set if it is none of the list unless a row of the list follows: it is behind blank space, and a
   * sentence or a total. `true` of those that are of another table in any case.
   */
  readonly below?: 'perhaps' | true | undefined;
  /**
   * Text of the other columns that were asked for, in their order; empty where the row has none.
   */
  readonly others?: readonly string[] | undefined;
  /**
   * Set if its cells are probably not under their names: a delimiter within a text was not quoted.
   */
  readonly shifted?: 'too_many_cells' | undefined;
  /**
   * Whether a text within quotes has lines like those of the list, which a stray quote may have
   * taken in.
   */
  readonly mayTakeRows?: boolean | undefined;
}

/** A column of a list. */
export interface RowColumn {
  /** Its position in a table, from 0. */
  readonly index: number;
  /** Its name as it is in the file, by which objects have it. */
  readonly name: string;
}

/** The value of one added cell. Structures occur only if the format can hold them. */
export type CellValue = unknown;

/** Whether a value leaves something in a cell. */
export function isFilled(value: CellValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '';
}

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
}

/** A row to be written: as it is in the input, and the values of the added columns. */
export interface WrittenRow {
  readonly raw: string;
  /** The number of its own cells, as scanned. */
  readonly fields: number;
  readonly cells: readonly CellValue[];
}

/** A row as it is written: its text, line end included, and the number of its cells. */
export type RawRow = Pick<WrittenRow, 'raw' | 'fields'>;

/** The number and the size of rows, from the first reading. */
export interface Extent {
  /** The largest number of cells in a row. */
  readonly maxFields: number;
  /** Whether added texts that a spreadsheet would calculate stay as they are. @default false */
  readonly keepsFormulas?: boolean | undefined;
}

/**
 * Splits a file's name in front of its extension, which may be double: `list.csv.gz` is `list` and
 * `.csv.gz`.
 */
export function splitExtension(path: string): {
  readonly stem: string;
  readonly extension: string;
} {
  const extension = /\.[a-z0-9]+(\.gz)?$/i.exec(path.replace(/^.*[\\/]\.?/, ''))?.[0] ?? '';
  return { stem: path.slice(0, path.length - extension.length), extension };
}

/** A list whose format is known: how to read its rows, and how to write them with more columns. */
export interface RowFormat {
  readonly notation: ListFormat;
  /** How names of files of such rows end, with the dot. */
  readonly extension: string;
  /** For people: `CSV, semicolon-separated`. */
  readonly description: string;
  /** Names of the columns, in their order; for JSONL, those of the first rows. */
  readonly columns: readonly string[];
  /** The first rows and some from all over the list, as the text of their cells. */
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
  /** Writes rows as text, those of a workbook as CSV. @param added names of the added columns */
  createWriter(added: readonly string[], extent: Extent): RowWriter;
  /**
   * Fills a blank cell of a row, and leaves the rest of it as it is, to the byte. Rows come in
   * their order.
   *
   * @param column one of the list's own
   * @param value undefined or empty leaves the cell as it is
   * @param keepsFormulas whether a text that a spreadsheet would calculate stays as it is
   * @returns undefined where the cell is not blank
   */
  fillCell(
    row: RawRow,
    column: RowColumn,
    value: CellValue,
    keepsFormulas?: boolean,
  ): RawRow | undefined;
  /** The text of a value in an added column, before quoting; empty for none. */
  textOf(value: CellValue): string;
  /** The text of one of a row's own cells, as it is scanned; empty for none. */
  cellOf(raw: string, column: RowColumn): string;
  /** The workbook that the list is in; undefined for all other formats. */
  readonly workbook?: Workbook | undefined;
  /** How it is written as a whole file, if its format is no text. */
  readonly binary?: BinaryOutput | undefined;
  /**
   * What the user should know of the list before anything is paid for, in sentences.
   *
   * @default none
   */
  readonly notices?: readonly string[];
  /** Converts a row into an object for programs, with its columns in their order. */
  toObject(raw: string): Record<string, unknown>;
}

/** How a list is to be read, and the prefix of the names of our own columns. */
export interface FormatOptions extends ReadingOptions {
  readonly prefix: string;
}

/** The workbook that a list is in. */
export interface Workbook {
  /** The sheet of the list, and all sheets, in the order of their tabs. */
  readonly sheet: string;
  readonly sheets: readonly string[];
  /** Other sheets with a column of domains, where the sheet was not named. */
  readonly otherLists: readonly { readonly sheet: string; readonly column: string }[];
  /** The row of the header, as the sheet counts. */
  readonly headerRow: number;
}

/** Writes a list that is no text again, with more columns. */
export interface BinaryOutput {
  /**
   * Makes sure that it can be written again, before anything is paid for.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when it cannot
   */
  assertRewritable(): Promise<void>;
  /**
   * Begins to write it with more columns, once its rows are scanned.
   *
   * @param added their names @param write writes bytes of the file
   */
  begin(added: readonly string[], write: (bytes: Buffer) => Promise<void>): TableOutput;
}

/** A table that is being written into a file. */
export interface TableOutput {
  /** @param rows in their order */
  append(rows: readonly WrittenRow[]): Promise<void>;
  /** Writes what is left. @returns what the user should know, in sentences */
  finish(): Promise<readonly string[]>;
  /** Releases what is open, finished or not. The file itself belongs to the caller. */
  close(): void;
}
