import { usualDialect } from './csv/csv-dialect.ts';
import { cellWriterOf } from './csv/csv-writer.ts';
import type { Extent, RowColumn, RowFormat, RowKind, RowWriter } from './row-format.ts';
import type { SheetCell } from './xlsx/cell.ts';
import { columnsOf } from './xlsx/cell-ref.ts';
import { createNewSheetWriter, type SheetWriter } from './xlsx/sheet-writer.ts';
import { HEADER_STYLE, LONG_STYLE, styleOfDecimals } from './xlsx/styles.ts';

export interface TableOptions {
  readonly format: RowFormat;
  readonly extent: Extent;
  /** Names of the added columns. */
  readonly added: readonly string[];
  /** The column that rows are looked up by. */
  readonly column: Pick<RowColumn, 'index'>;
}

/**
 * Writes the rows of a list as text. In the format of the list they are copied as they are; in
 * another format their cells are written anew.
 *
 * @param delimiter of CSV that is made from another format
 */
export function createTextWriter(
  kind: Exclude<RowKind, 'xlsx'>,
  { format, extent, added }: TableOptions,
  delimiter: string,
): RowWriter {
  if (kind === format.kind) return format.createWriter(added, extent);
  if (kind === 'jsonl') return createObjectWriter(format, added);
  const { textsOf } = format;
  if (!textsOf) throw new TypeError(`rows of ${format.kind} are no table`);
  const width = widthOf(format, extent);
  const toCell = cellWriterOf(usualDialect(delimiter));
  /** The list's own cells are never changed, whatever they begin with. */
  const toOwnCell = (text: string): string =>
    /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
  const line = (own: readonly string[], values: readonly unknown[]): string => {
    const padded = [...own, ...Array.from({ length: Math.max(0, width - own.length) }, () => '')];
    const cells = [...padded.map(toOwnCell), ...values.map(toCell)];
    // An entirely empty line would not be a row.
    return `${cells.length === 1 && cells[0] === '' ? '""' : cells.join(delimiter)}\n`;
  };
  return {
    header: (format.marksText ? '\uFEFF' : '') + line(format.columns, added),
    row: (raw, _fields, values) => line(textsOf(raw), values),
  };
}

function createObjectWriter(format: RowFormat, added: readonly string[]): RowWriter {
  return {
    header: '',
    row: (raw, _fields, values) => {
      const ours = added.map((name, at) => [name, values[at]] as const);
      return `${JSON.stringify({ ...format.toObject(raw), ...Object.fromEntries(ours) })}\n`;
    },
  };
}

/**
 * Writes the rows of a list into a sheet of their own, with the styles of their workbook if there
 * is one. It hides what the list hides.
 */
export function createSheetOfList({
  format,
  extent,
  added,
}: Omit<TableOptions, 'column'>): SheetWriter {
  const { textsOf, workbook } = format;
  const cellsOf =
    format.cellsOf ?? (textsOf && ((raw: string) => textsOf(raw).map((text) => cellOfText(text))));
  if (!cellsOf) throw new TypeError(`rows of ${format.kind} are no table`);
  const width = widthOf(format, extent);
  const first = workbook?.place.firstColumn ?? 0;
  const styles = new Map(workbook?.place.headerCells.map(({ column, style }) => [column, style]));
  const headerStyles = workbook
    ? format.columns.map((_, at) => styles.get(first + at) ?? 0)
    : [HEADER_STYLE];
  const { columns, isHidden } = format;
  const hidden = new Set<number>();
  for (const range of workbook ? columnsOf(workbook.frame.head) : []) {
    if (!range.isHidden) continue;
    const last = Math.min(range.last - first, width - 1);
    for (let at = Math.max(0, range.first - first); at <= last; at += 1) hidden.add(at);
  }
  const longStyle = workbook?.longNumbers.take ?? (() => LONG_STYLE);
  return createNewSheetWriter({
    columns,
    width,
    added,
    headerStyles,
    cellsOf,
    isHidden,
    hidden,
    longStyle,
  });
}

function widthOf({ columns }: RowFormat, { maxFields }: Extent): number {
  return Math.max(columns.length, maxFields);
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.(\d+))?$/;
/** Sheets do not compute with more digits. */
const MOST_DIGITS = 15;
/** Nor do they show more, unless a format says so. */
const MOST_SHOWN = 11;

/**
 * Converts a text of CSV into a cell of a workbook. It becomes a number if nothing of it gets lost,
 * shown with as many decimals as it has. Everything else stays text, such as `007`, `+49 731 1`,
 * `1e5`, `12,5`, dates, and numbers of more than fifteen digits.
 */
export function cellOfText(text: string): SheetCell {
  if (text === '') return null;
  const found = NUMBER.exec(text);
  const digits = text.replaceAll(/\D/g, '').length;
  if (!found || digits > MOST_DIGITS || Number(text) === 0) {
    return text === '0' ? 0 : text;
  }
  const decimals = found[1]?.length ?? 0;
  if (decimals === 0) return digits > MOST_SHOWN ? ['number', text, LONG_STYLE] : Number(text);
  const style = styleOfDecimals(decimals);
  return style === undefined ? text : ['number', text, style];
}
