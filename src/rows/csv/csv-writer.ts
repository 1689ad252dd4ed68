import { Stringifier } from 'csv-stringify';
import type { CellValue, RawRow, RowWriter } from '../row-format.ts';
import { type CsvDialect, cellsOfRow, withoutLineEnd } from './csv-dialect.ts';
import { guardFormula } from './formula.ts';

export interface CsvWriterOptions {
  readonly dialect: CsvDialect;
  /** What stands above the header: `sep=;`, blank lines. */
  readonly before: string;
  /** The header as it is in the input, line end included. */
  readonly headerRaw: string;
  readonly headerFields: number;
  /** Every row is filled up to this many cells of its own, so that the added ones line up. */
  readonly width: number;
  /** Names of the added columns. */
  readonly added: readonly string[];
  readonly byteOrderMark: boolean;
  /** Whether added texts that a spreadsheet would calculate stay as they are. */
  readonly keepsFormulas: boolean;
}

/**
 * Appends cells to rows of CSV without touching the rest: quoting, spaces and line ends of the
 * input stay to the byte. Rows with too few cells are filled up.
 */
export function createCsvWriter(options: CsvWriterOptions): RowWriter {
  const { dialect, before, headerRaw, headerFields, width, added, byteOrderMark } = options;
  const usualEnd = headerRaw.slice(withoutLineEnd(headerRaw).length) || '\n';
  const write = createCellsWriter(dialect.delimiter);

  function row(raw: string, fields: number, values: readonly CellValue[]): string {
    if (added.length === 0) return raw;
    const own = withoutLineEnd(raw);
    const padding = dialect.delimiter.repeat(Math.max(0, width - fields) + 1);
    return (
      own + padding + write(values, options.keepsFormulas) + (raw.slice(own.length) || usualEnd)
    );
  }

  return {
    header: (byteOrderMark ? '\uFEFF' : '') + before + row(headerRaw, headerFields, added),
    row,
  };
}

/**
 * Writes some cells of a row, with delimiters between them. A text that a spreadsheet would
 * calculate is guarded.
 */
export function createCellsWriter(
  delimiter: string,
): (values: readonly CellValue[], keepsFormulas?: boolean) => string {
  const writer = new CellWriter({
    delimiter,
    record_delimiter: '\n',
    quote_record_delimiter: true,
  });
  const guarded = (value: CellValue): string =>
    typeof value === 'number' ? String(value) : guardFormula(textOfCell(value)); // -5 is no formula
  // Few cells need quotes. For all of them the library takes a fifth of the time of a whole run.
  const quoted = (cell: string): string =>
    /["\r\n]/.test(cell) || cell.includes(delimiter) ? writer.textOf(cell) : cell;
  return (values, keepsFormulas = false) => {
    const textOf = keepsFormulas ? textOfCell : guarded;
    return values.map((value) => quoted(textOf(value))).join(delimiter);
  };
}

/** Gives the text of each cell as soon as it is written. */
class CellWriter extends Stringifier {
  #text = '';

  override push(text: string | null): boolean {
    if (text === null) return super.push(null);
    this.#text = text;
    return true;
  }

  textOf(cell: string): string {
    this.write([cell]);
    return this.#text.slice(0, -1); // its line end
  }
}

/** The text of a value in a cell, before quoting. */
export function textOfCell(value: CellValue): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every(isScalar)) return value.map(textOfCell).join('; ');
  return JSON.stringify(value);
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Fills a blank cell of a row, and adds cells that a short row lacks. The other cells stay as they are. */
export function fillCsvCell(
  { raw, fields }: RawRow,
  index: number,
  cell: string,
  dialect: CsvDialect,
): RawRow | undefined {
  const cells = cellsOfRow(raw, dialect);
  if (!/^\s*(?:"\s*"\s*)?$/.test(cells[index] ?? '')) return undefined;
  if (cell === '') return { raw, fields };
  while (cells.length < index) cells.push('');
  cells[index] = cell;
  return {
    raw: cells.join(dialect.delimiter) + raw.slice(withoutLineEnd(raw).length),
    fields: Math.max(fields, cells.length),
  };
}
