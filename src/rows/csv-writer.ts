import { stringify } from 'csv-stringify/sync';
import type { CsvDialect } from './csv-dialect.ts';
import type { CellValue, RowWriter } from './row-format.ts';

export interface CsvWriterOptions {
  readonly dialect: CsvDialect;
  /** The header as it stands in the input, line end included. */
  readonly headerRaw: string;
  readonly headerFields: number;
  /** How many cells of its own every row gets, so that the added ones line up. */
  readonly width: number;
  /** Names of the added columns. */
  readonly added: readonly string[];
  readonly byteOrderMark: boolean;
}

/**
 * Appends cells to rows of CSV without touching what stands there: quoting, spaces and line ends of
 * the input stay to the byte. Rows with too few cells are filled up.
 *
 * Added text that a spreadsheet would take for a formula is made harmless with a leading `'`. The
 * user's own cells are left as they are.
 *
 * @see {@link https://owasp.org/www-community/attacks/CSV_Injection CSV injection}
 */
export function createCsvWriter(options: CsvWriterOptions): RowWriter {
  const { dialect, headerRaw, headerFields, width, added, byteOrderMark } = options;
  const format = { delimiter: dialect.delimiter, eof: false, escape_formulas: true } as const;

  function row(raw: string, fields: number, cells: readonly CellValue[]): string {
    const own = withoutLineEnd(raw);
    const lineEnd = raw.slice(own.length) || dialect.lineEnd;
    const padding = dialect.delimiter.repeat(Math.max(0, width - fields) + 1);
    return own + padding + stringify([cells.map(toCell)], format) + lineEnd;
  }

  return {
    header: (byteOrderMark ? '\uFEFF' : '') + row(headerRaw, headerFields, added),
    row,
  };
}

/** csv-stringify writes true as 1 and structures as it likes; numbers it knows not to escape. */
function toCell(value: CellValue): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every(isScalar)) return value.map(toCell).join('; ');
  return JSON.stringify(value);
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function withoutLineEnd(raw: string): string {
  if (raw.endsWith('\r\n')) return raw.slice(0, -2);
  return raw.endsWith('\n') || raw.endsWith('\r') ? raw.slice(0, -1) : raw;
}
