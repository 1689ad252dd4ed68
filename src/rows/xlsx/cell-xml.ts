import { textOfCell } from '../csv/csv-writer.ts';
import type { CellValue } from '../row-format.ts';
import type { SheetCell } from './cell.ts';
import { columnName, MOST_CHARACTERS } from './cell-ref.ts';
import { escapeCellText } from './xml.ts';

/** The place and the style of a cell. */
export interface CellPlace {
  /** The namespace prefix of elements; usually empty. */
  readonly prefix: string;
  /** From 0. */
  readonly column: number;
  /** From 1. */
  readonly row: number;
  readonly style: number;
  /** The style of whole numbers that are shown as `4.9E+11` without one; asked for when needed. */
  readonly longStyle?: (() => number) | undefined;
}

/** Without a format, whole numbers are shown with 11 digits at most, and no sheet has more than 15. */
const FIRST_LONG = 1e11;
const FIRST_TOO_LONG = 1e15;

/** Marks the end of a text that was too long for a cell. */
const CUT_MARK = '…';

/**
 * A cell with a text, which is never a formula, whatever it begins with; nothing for an empty text.
 */
export function textXml(text: string, place: CellPlace): string {
  if (text === '') return '';
  const { prefix } = place;
  const held = text.length > MOST_CHARACTERS ? cut(text) : text;
  return element(
    place,
    ' t="inlineStr"',
    `<${prefix}is><${prefix}t xml:space="preserve">${escapeCellText(held)}</${prefix}t></${prefix}is>`,
  );
}

/**
 * A cell with an added value: numbers and booleans as such, the rest as text. So is a whole number
 * of which a sheet would lose digits.
 */
export function valueXml(value: CellValue, place: CellPlace): string {
  if (typeof value === 'boolean') return plainXml(value ? '1' : '0', place, ' t="b"');
  if (typeof value !== 'number' || !Number.isFinite(value))
    return textXml(textOfCell(value), place);
  const size = Number.isSafeInteger(value) ? Math.abs(value) : 0;
  if (size >= FIRST_TOO_LONG) return textXml(String(value), place);
  const isShort = size < FIRST_LONG || place.style !== 0;
  const style = isShort ? place.style : (place.longStyle?.() ?? 0);
  return plainXml(String(value), { ...place, style });
}

/** A cell of the list's own, with its style, in another place. */
export function ownXml(cell: SheetCell, place: CellPlace): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return plainXml(String(cell), place);
  if (typeof cell !== 'object') return valueXml(cell, place);
  const [kind, value, style, , serial] = cell;
  const styled = { ...place, style };
  switch (kind) {
    case 'text':
    case 'filled':
      return textXml(value, styled);
    case 'error':
      return plainXml(escapeCellText(value), styled, ' t="e"');
    case 'boolean':
      return plainXml(value === 'true' ? '1' : '0', styled, ' t="b"');
    case 'number':
      return plainXml(value, styled);
    case 'date':
      return serial === undefined
        ? plainXml(escapeCellText(value), styled, ' t="d"')
        : plainXml(serial, styled);
  }
}

function plainXml(value: string, place: CellPlace, type = ''): string {
  return element(place, type, `<${place.prefix}v>${value}</${place.prefix}v>`);
}

function element({ prefix, column, row, style }: CellPlace, type: string, content: string): string {
  const styled = style === 0 ? '' : ` s="${style}"`;
  return `<${prefix}c r="${columnName(column)}${row}"${styled}${type}>${content}</${prefix}c>`;
}

/** Does not cut between two surrogates of a character. */
function cut(text: string): string {
  return text.slice(0, MOST_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, '') + CUT_MARK;
}
