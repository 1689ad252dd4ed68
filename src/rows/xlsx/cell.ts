import { normalizeDomain } from '../domain/domain.ts';
import { dateText, type NumberStyle } from './styles.ts';

/**
 * The content of a cell as it is kept on the disk between the two readings. Most cells are plain: a
 * text, a number or a boolean without style and link. All others carry marks.
 */
export type SheetCell = null | string | number | boolean | MarkedCell;

/**
 * A cell with its marks.
 *
 * `value` is the text of a text, an error or a date (ISO 8601), and the digits of a number as they
 * are in the sheet, which may be more than its `shown` text has. `serial` is the number of a date.
 * A `filled` value is a text of ours, where the list had none.
 */
export type MarkedCell = readonly [
  kind: 'text' | 'number' | 'boolean' | 'error' | 'date' | 'filled',
  value: string,
  style: number,
  link?: string | null,
  more?: string,
];

/** A cell as it is in a sheet. */
export interface RawCell {
  readonly type: string;
  readonly style: number;
  /** Text of its value. */
  readonly text: string;
  /** The target of its hyperlink, if it has one. */
  readonly link: string | undefined;
}

export interface CellContext {
  readonly styles: readonly NumberStyle[];
  readonly is1904: boolean;
}

/** Reduces a cell to what is kept of it; null if it is empty. */
export function toSheetCell(
  { type, style, text, link }: RawCell,
  { styles, is1904 }: CellContext,
): SheetCell {
  switch (type) {
    case 's':
    case 'str':
    case 'inlineStr':
      if (text === '' && link === undefined) return null;
      return style === 0 && link === undefined ? text : mark('text', text, style, link);
    case 'b': {
      const value = text.trim() === '1' || text.trim().toLowerCase() === 'true';
      if (text.trim() === '') return null;
      return style === 0 && link === undefined
        ? value
        : mark('boolean', String(value), style, link);
    }
    case 'e':
      return text === '' ? null : mark('error', text, style, link);
    case 'd':
      return text === '' ? null : mark('date', text.trim(), style, link);
    default:
      return numberCell({ type, style, text: text.trim(), link }, { styles, is1904 });
  }
}

function numberCell({ style, text, link }: RawCell, { styles, is1904 }: CellContext): SheetCell {
  if (text === '') return null;
  const number = Number(text);
  if (!Number.isFinite(number)) return mark('text', text, style, link);
  const { kind, digits } = styles[style] ?? { kind: 'number', digits: 0 };
  const date = dateText(number, { kind, is1904 });
  if (date !== undefined) return mark('date', date, style, link, text);
  if (digits > 0 && Number.isInteger(number) && number >= 0) {
    return mark('number', text, style, link, String(number).padStart(digits, '0'));
  }
  if (style === 0 && link === undefined && String(number) === text) return number;
  return mark('number', text, style, link);
}

function mark(
  kind: MarkedCell[0],
  value: string,
  style: number,
  link: string | undefined,
  more?: string,
): MarkedCell {
  if (more !== undefined) return [kind, value, style, link ?? null, more];
  return link === undefined ? [kind, value, style] : [kind, value, style, link];
}

/** A cell as text, as it is shown. */
export function textOfSheetCell(cell: SheetCell | undefined): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'string') return cell;
  if (typeof cell !== 'object') return String(cell);
  const [kind, value, , , more] = cell;
  return kind === 'number' ? (more ?? String(toNumber(value))) : value;
}

/** A number, or its digits if a number would lose some, as with a customer's long number. */
function toNumber(digits: string): number | string {
  const number = Number(digits);
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number);
  return isExact || !/^-?\d+$/.test(digits) ? number : digits;
}

/**
 * The text of a cell that is looked up: the target of its link, unless the text is a domain itself.
 * Excel keeps a link whose text is overwritten, and links from mail programs lead over a scanner.
 */
export function addressOfSheetCell(cell: SheetCell | undefined): string {
  const text = textOfSheetCell(cell);
  const link = typeof cell === 'object' && cell !== null ? cell[3] : undefined;
  if (link === undefined || link === null) return text;
  return 'domain' in normalizeDomain(text) ? text : link;
}

/**
 * A cell as programs want it: numbers and booleans as such, and dates as ISO 8601 without time
 * zone. Errors such as `#N/A`, numbers that are shown with leading zeros, and numbers that are too
 * long for JavaScript are text.
 */
export function valueOfSheetCell(cell: SheetCell | undefined): string | number | boolean | null {
  if (cell === undefined) return null;
  if (cell === null || typeof cell !== 'object') return cell;
  const [kind, value, , , more] = cell;
  if (kind === 'boolean') return value === 'true';
  return kind === 'number' ? (more ?? toNumber(value)) : value;
}
