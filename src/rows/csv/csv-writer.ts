import type {
  ByteWriter,
  CellValue,
  FilledRow,
  RowColumn,
  RowFiller,
  RowWriter,
} from '../row-format.ts';
import { type CsvDialect, withoutLineEnd } from './csv-dialect.ts';
import { createRowSplitter } from './csv-reader.ts';

/** A row of nothing but delimiters, with its line end. */
export interface BlankRow {
  readonly raw: string;
  readonly fields: number;
}

export interface CsvWriterOptions {
  readonly dialect: CsvDialect;
  /** The text before the header in the input, such as `sep=;`. */
  readonly before: string;
  /** Rows of nothing but delimiters above the header. */
  readonly blankRows: readonly BlankRow[];
  /** The header as it is in the input, line end included. */
  readonly headerRaw: string;
  readonly headerFields: number;
  /** Every row is filled up to this many cells of its own, so that the added ones line up. */
  readonly width: number;
  /** Names of the added columns. */
  readonly added: readonly string[];
  readonly byteOrderMark: boolean;
}

/**
 * Appends cells to rows of CSV without touching the rest: quoting, spaces and line ends of the
 * input stay to the byte. Rows with too few cells are filled up.
 *
 * Added text that a spreadsheet would take for a formula is made harmless with a leading `'`. The
 * user's own cells are left as they are.
 *
 * @see {@link https://owasp.org/www-community/attacks/CSV_Injection CSV injection}
 */
export function createCsvWriter(options: CsvWriterOptions): RowWriter {
  const { dialect, before, blankRows, headerRaw, headerFields } = options;
  const { width, added, byteOrderMark } = options;
  const toCell = cellWriterOf(dialect);

  function row(raw: string, fields: number, cells: readonly CellValue[]): string {
    if (added.length === 0) return raw;
    const own = withoutLineEnd(raw, dialect);
    const lineEnd = raw.slice(own.length) || dialect.lineEnd;
    const padding = dialect.delimiter.repeat(Math.max(0, width - fields) + 1);
    return own + padding + cells.map(toCell).join(dialect.delimiter) + lineEnd;
  }

  function blank(raw: string, fields: number): string {
    const own = withoutLineEnd(raw, dialect);
    const lineEnd = raw.slice(own.length) || dialect.lineEnd;
    // It may be longer than the list, and then gets no more cells than the list has.
    const missing = Math.max(0, width + added.length - fields);
    return own + dialect.delimiter.repeat(missing) + lineEnd;
  }

  const above = before + blankRows.map(({ raw, fields }) => blank(raw, fields)).join('');
  return {
    header: (byteOrderMark ? '\uFEFF' : '') + above + row(headerRaw, headerFields, added),
    row,
    blank,
    inBytes: added.length === 0 ? undefined : createByteWriter(dialect, width, toCell),
  };
}

const LF = 10;
const CR = 13;

/** Writes the same rows as the writer of texts. A property test holds it to that. */
function createByteWriter(
  { delimiter, quote, escape, lineEnd, lineEnds }: CsvDialect,
  width: number,
  toCell: (value: CellValue) => string,
): ByteWriter {
  const missing = Buffer.from(delimiter.repeat(width));
  const missingBytes = Buffer.byteLength(delimiter);
  const usualEnd = Buffer.from(lineEnd);
  const ends = lineEnds.map((end) => Buffer.from(end));
  const isUsual = lineEnds.includes('\n');
  const isEndAt = (end: Buffer, bytes: Buffer, at: number): boolean =>
    end.every((byte, place) => bytes[at + place] === byte);

  /** The place of a row's line end, behind its last byte if it has none. */
  function ownEndOf(bytes: Buffer, start: number, end: number): number {
    if (isUsual && bytes[end - 1] === LF && bytes[end - 2] !== CR) return end - 1;
    for (const lineEnd of ends) {
      const at = end - lineEnd.length;
      if (at >= start && isEndAt(lineEnd, bytes, at)) return at;
    }
    return end;
  }

  return {
    cellsOf: (values) => delimiter + values.map(toCell).join(delimiter),
    write: ({ bytes, start, sizeBytes, fields }, cells, target, at) => {
      if (fields > width) return -1;
      const end = start + sizeBytes;
      const ownEnd = ownEndOf(bytes, start, end);
      let to = at + bytes.copy(target, at, start, ownEnd);
      if (fields < width) to += missing.copy(target, to, 0, (width - fields) * missingBytes);
      to += cells.bytes.copy(target, to, cells.start, cells.end);
      if (ownEnd === end) return to + usualEnd.copy(target, to);
      if (ownEnd === end - 1) {
        target[to] = bytes[ownEnd] ?? LF;
        return to + 1;
      }
      return to + bytes.copy(target, to, ownEnd, end);
    },
    spareBytes: missing.length + usualEnd.length,
    style: JSON.stringify([delimiter, quote, escape]),
  };
}

/**
 * Writes single cells. They are quoted here, because csv-stringify takes ten times as long for one
 * cell.
 */
export function cellWriterOf(dialect: CsvDialect): (value: CellValue) => string {
  const { delimiter, quote, escape } = dialect;
  if (quote === '') return cellWriterWithoutQuotes(delimiter);
  const needsQuotes = anyOf([...new Set([quote, escape, '\r', '\n', delimiter])]);
  const needsEscape = new RegExp(anyOf([...new Set([quote, escape])]).source, 'gu');
  const escaped = `${escape.replace('$', '$$')}$&`;
  const write = (text: string): string => {
    if (!needsQuotes.test(text)) return text;
    // Most have only a comma.
    const isPlain = !text.includes(quote) && !text.includes(escape);
    return quote + (isPlain ? text : text.replace(needsEscape, escaped)) + quote;
  };
  return (value) => {
    if (typeof value === 'number') return String(value); // -5 is no formula
    return write(withoutFormula(textOfCell(value)));
  };
}

/** Writes cells where quotes do not exist: characters that would need quotes become a space. */
function cellWriterWithoutQuotes(delimiter: string): (value: CellValue) => string {
  const unfit = new RegExp(`${anyOf(['\r', '\n', delimiter]).source}+`, 'gu');
  return (value) => {
    if (typeof value === 'number') return String(value);
    // A character that becomes a space may stand in front of a formula.
    return withoutFormula(textOfCell(value).replace(unfit, ' '));
  };
}

/** @param characters each a single character */
function anyOf(characters: readonly string[]): RegExp {
  const escaped = characters.map((one) => one.replace(/[\]\\^-]/, '\\$&'));
  return new RegExp(`[${escaped.join('')}]`, 'u');
}

/** A text that a spreadsheet would take for a formula gets a leading `'`. */
export function withoutFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/**
 * The characters that begin a formula in a spreadsheet, full-width and small forms included, and
 * everything that may stand in front of them unseen: programs drop it when they read a cell. A tab
 * or a carriage return is taken for one by itself.
 */
const FORMULA =
  /^(?:[\t\r]|[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;

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

/**
 * Fills blank cells of rows, and adds cells that a short row lacks. The other cells stay as they
 * are.
 */
export function createCsvFiller(
  columns: readonly RowColumn[],
  dialect: CsvDialect,
  replaces = false,
): RowFiller {
  const toCell = cellWriterOf(dialect);
  const cellsIn = createRowSplitter(dialect, 'rawCell');
  return {
    fill: (raw, fields, values): FilledRow => {
      const cells = cellsIn(raw);
      const filled: number[] = [];
      for (const [at, { index }] of columns.entries()) {
        const cell = toCell(values[at]);
        if (cell === '' || !(replaces || isBlank(cells[index] ?? '', dialect))) continue;
        while (cells.length < index) cells.push('');
        cells[index] = cell;
        filled.push(at);
      }
      const lineEnd = raw.slice(withoutLineEnd(raw, dialect).length);
      return {
        raw: cells.join(dialect.delimiter) + lineEnd,
        fields: Math.max(fields, cells.length),
        filled,
      };
    },
  };
}

/** Cuts rows off behind their first cells. */
export function createRowCutter(dialect: CsvDialect): (raw: string, count: number) => string {
  const cellsIn = createRowSplitter(dialect, 'rawCell');
  return (raw, count) => {
    const cells = cellsIn(raw);
    if (cells.length <= count) return raw;
    const lineEnd = raw.slice(withoutLineEnd(raw, dialect).length);
    return cells.slice(0, count).join(dialect.delimiter) + lineEnd;
  };
}

/** Whether a cell is nothing but white space, quoted or not. */
function isBlank(cell: string, { quote }: CsvDialect): boolean {
  return /^\s*$/.test(quote !== '' && cell.startsWith(quote) ? cell.slice(1, -1) : cell);
}
