import type { DomainColumn } from './columns/domain-column.ts';
import type { Source } from './source.ts';
import type { SheetCell } from './xlsx/cell.ts';
import type { Workbook } from './xlsx/open-workbook.ts';

/** One row as the first reading sees it. */
export interface ScannedRow {
  /** Text of the domain column; empty when the row has no such cell. */
  readonly cell: string;
  /** How long the row is in the input, line end included. */
  readonly sizeBytes: number;
  /** How many cells it has; 0 for a blank line, which is no row. */
  readonly fields: number;
  /** Text of the other columns that were asked for, in their order; empty where it has none. */
  readonly others?: readonly string[] | undefined;
  /** Of a workbook, which row of its sheet it is, from 1. */
  readonly sheetRow?: number;
}

/** A column of a list: its place in a table, its name in objects. */
export type RowColumn = Pick<DomainColumn, 'index' | 'name'>;

/** What goes into one added cell. Structures only occur where the format can hold them. */
export type CellValue = unknown;

/** Writes rows in the format of the input, adding columns at their end. */
export interface RowWriter {
  /** What comes before the first row. */
  readonly header: string;
  /**
   * One row of the output.
   *
   * @param raw the row as it stands in the input, line end included
   * @param fields how many cells it has, as scanned
   * @param added values of the added columns, in their order
   */
  row(raw: string, fields: number, added: readonly CellValue[]): string;
}

/** A row in which cells were filled. */
export interface FilledRow {
  readonly raw: string;
  /** How many cells it has now. */
  readonly fields: number;
  /** Places, among the columns to be filled, of those that were. */
  readonly filled: readonly number[];
}

/** Fills cells of a row that are blank, and leaves the rest of it as it is, to the byte. */
export interface RowFiller {
  /** @param values what goes into each of the columns; undefined or empty to leave one as it is */
  fill(raw: string, fields: number, values: readonly CellValue[]): FilledRow;
}

/** How many rows there are and what they look like, from the first reading. */
export interface Extent {
  /** The most cells that a row has. */
  readonly maxFields: number;
}

/** How rows are written down. */
export type RowKind = 'csv' | 'jsonl' | 'xlsx';

/** A list whose format is known: how to read its rows, and how to write them with more columns. */
export interface RowFormat {
  readonly kind: RowKind;
  /** For people: `CSV, semicolon-separated`. */
  readonly description: string;
  /** Names of the columns, in their order. Of JSONL, those of the first rows. */
  readonly columns: readonly string[];
  /** The first rows, as the text of their cells. */
  readonly sampleRows: readonly (readonly string[])[];
  /** How many bytes stand before the first row. */
  readonly headBytes: number;
  /** Whether every row should have all columns, as in a table. */
  readonly isTable: boolean;
  /**
   * Reads all rows once, in batches.
   *
   * @param others columns whose text is wanted besides that of the domain
   * @throws BrandfillError `UNREADABLE_INPUT` that names the line of the first bad row
   */
  scan(
    source: Source,
    domainColumn: RowColumn,
    others?: readonly RowColumn[],
  ): AsyncIterable<readonly ScannedRow[]>;
  /**
   * Names that columns of ours must not take, and those of the columns that were scanned, as far as
   * there are such columns; complete once all rows are scanned.
   */
  readonly takenNames: ReadonlySet<string>;
  /** @param added names of the added columns */
  createWriter(added: readonly string[], extent: Extent): RowWriter;
  /** @param columns which of the list's own columns are to be filled */
  createFiller(columns: readonly RowColumn[]): RowFiller;
  /** A row as far as it stands before a column; what ends its line stays. */
  ownPart(raw: string, before: RowColumn): string;
  /** The text that a value gets in an added column, before quoting; empty for none. */
  textOf(value: CellValue): string;
  /** Whether CSV that is made of it begins with a byte order mark. @default false */
  readonly marksText?: boolean | undefined;
  /** The text of a row's own cells, for writing it in another format; only of tables. */
  readonly textsOf?: ((raw: string) => readonly string[]) | undefined;
  /** What they hold, where that is more than text. */
  readonly cellsOf?: ((raw: string) => readonly SheetCell[]) | undefined;
  /** The line that the header is in, from 1, if that seems to be below the one that was taken for it. */
  readonly lineOfHeader?: number | undefined;
  /** What the user should know of the list, in sentences; mostly nothing. */
  readonly notices?: readonly string[];
  /** The workbook that the list is in; undefined for all other formats. */
  readonly workbook?: Workbook | undefined;
  /** The row as an object, its columns in their order, for programs. */
  toObject(raw: string): Record<string, unknown>;
}
