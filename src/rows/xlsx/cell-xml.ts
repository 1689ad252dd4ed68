import { textOfCell } from '../csv/csv-writer.ts';
import type { CellValue } from '../row-format.ts';
import { columnName, columnOfRef, MOST_CHARACTERS } from './cell.ts';
import { escapeCellText } from './xml.ts';

/** The place of a cell. */
export interface CellPlace {
  /** The namespace prefix of elements; usually empty. */
  readonly prefix: string;
  /** From 0. */
  readonly column: number;
  /** From 1. */
  readonly row: number;
  readonly style: number;
}

/** Without a format, whole numbers from here on are shown as `4.9E+11`, and later lose digits. */
const FIRST_LONG = 1e11;

/**
 * A cell with an added value: numbers and booleans as such, unless digits would be lost, and the
 * rest as text, which is never a formula. Empty for no value.
 */
export function valueXml(value: CellValue, { prefix, column, row, style }: CellPlace): string {
  const isBoolean = typeof value === 'boolean';
  const isLong = Number.isInteger(value) && Math.abs(Number(value)) >= FIRST_LONG;
  const text = isBoolean ? String(Number(value)) : textOfCell(value);
  if (text === '') return '';
  const place = `r="${columnName(column)}${row}"${style === 0 ? '' : ` s="${style}"`}`;
  return isBoolean || (typeof value === 'number' && !isLong)
    ? `<${prefix}c ${place}${isBoolean ? ' t="b"' : ''}><${prefix}v>${text}</${prefix}v></${prefix}c>`
    : `<${prefix}c ${place} t="inlineStr"><${prefix}is><${prefix}t xml:space="preserve">${escapeCellText(cut(text))}</${prefix}t></${prefix}is></${prefix}c>`;
}

/** Does not cut between two surrogates of a character. */
function cut(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A cell that is put into a row. */
export interface NewCell {
  readonly column: number;
  /** @param style that of the cell that was there */
  readonly xml: (style?: number) => string;
}

const CELL =
  /<(?:[\w.-]+:)?c((?:\s[^<>]*?)?)(?:\/>|>[^<]*(?:<(?!(?:[\w.-]+:)?c[\s>])[^<]*)*?<\/(?:[\w.-]+:)?c\s*>)/g;
/** The hint which cells of a row are filled, which is optional and no longer right. */
const SPANS = /(<(?:[\w.-]+:)?row\b[^<>]*?)\sspans\s*=\s*(?:"[^"]*"|'[^']*')/;

/**
 * Puts cells into a row, in place of those that are there.
 *
 * @param row the whole row, which has cells
 * @param lastCell the column of the last of them
 * @param cells in the order of their columns
 */
export function putCells(row: string, lastCell: number, cells: readonly NewCell[]): string {
  const mayBeThere = cells.some(({ column }) => column <= lastCell);
  let last = -1;
  const found = Array.from(mayBeThere ? row.matchAll(CELL) : [], (match) => {
    const [xml, attributes = ''] = match;
    const ref = /\sr\s*=\s*["']([^"']*)/.exec(attributes)?.[1];
    last = ref === undefined ? last + 1 : columnOfRef(ref);
    const style = Number(/\ss\s*=\s*["'](\d+)/.exec(attributes)?.[1] ?? 0);
    return { column: last, style, start: match.index, end: match.index + xml.length };
  });
  let text = '';
  let at = 0;
  for (const { column, xml } of cells) {
    const next = found.find((cell) => cell.column >= column);
    const there = next?.column === column ? next : undefined;
    const start = next?.start ?? row.lastIndexOf('</');
    text += row.slice(at, start) + xml(there?.style);
    at = there?.end ?? start;
  }
  return (text + row.slice(at)).replace(SPANS, '$1');
}
