import { isNothing } from '../domain/address.ts';
import { normalizeDomain } from '../domain/domain.ts';
import { type CellStyle, dateText } from './styles.ts';

/**
 * The content of a cell as it is kept between the two readings. Numbers that are shown otherwise
 * than JavaScript would (`007`, 16 digits), dates and errors are texts.
 */
export type SheetCell = PlainCell | FormulaCell;
type PlainCell = null | string | number | boolean;

interface FormulaCell {
  readonly value: PlainCell;
  /** The target of its link. */
  readonly link?: string | undefined;
}

/** A cell as it is in a sheet. */
export interface RawCell {
  readonly type: string;
  readonly style: CellStyle | undefined;
  /** The text of its value, decoded. */
  readonly text: string;
  /** Undefined for none. */
  readonly formula: string | undefined;
}

/** Reduces a cell to what is kept of it; null if it is empty. */
export function toSheetCell({ formula, ...raw }: RawCell, is1904: boolean): SheetCell {
  const value = valueIn(raw, is1904);
  if (formula === undefined) return value;
  const found = HYPERLINK.exec(formula)?.map((part) => part?.replaceAll('""', '"'));
  const [, link, text = link] = found ?? [];
  return { value: value ?? text ?? null, link };
}

/**
 * `HYPERLINK("https://acme.com","Acme")`: no other function has an address in its first argument.
 */
const HYPERLINK =
  /^(?:_xlfn\.)?HYPERLINK\(\s*"((?:[^"]|"")+)"\s*(?:[,;]\s*"((?:[^"]|"")+)"\s*\))?/iu;

function valueIn({ type, style, text }: Omit<RawCell, 'formula'>, is1904: boolean): PlainCell {
  if (text === '') return null;
  if (type === 's' || type === 'str' || type === 'inlineStr' || type === 'e') return text;
  const bare = text.trim();
  if (bare === '') return null;
  if (type === 'b') return bare === '1' || bare.toLowerCase() === 'true';
  const number = Number(bare);
  if (type === 'd' || !Number.isFinite(number)) return bare;
  const { isDate = false, digits = 0 } = style ?? {};
  const date = isDate ? dateText(number, is1904) : undefined;
  if (date !== undefined) return date;
  if (!Number.isInteger(number)) return number;
  if (digits > 0 && number >= 0) return String(number).padStart(digits, '0');
  // A number would lose some of its digits, as with a customer's long number.
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(bare) ? number : bare;
}

/**
 * A cell as programs want it: numbers and booleans as such, all others as text, and null for none.
 */
export function valueOfCell(cell: SheetCell | undefined): PlainCell {
  if (typeof cell !== 'object') return cell ?? null;
  return cell === null ? null : cell.value;
}

/** A cell as text, as it is shown. */
export function textOfSheetCell(cell: SheetCell | undefined): string {
  return String(valueOfCell(cell) ?? '');
}

/** Whether there is nothing to see in a cell, and no formula that may show something. */
export function isFree(cell: SheetCell | undefined): boolean {
  const isFormula = typeof cell === 'object' && cell !== null;
  return !isFormula && textOfSheetCell(cell).trim() === '';
}

/**
 * The text of a cell that is looked up: the target of its link, unless the text is a domain itself,
 * or says that there is none. Excel keeps a link whose text is overwritten, and links from mail
 * programs lead over a scanner.
 */
export function addressOfCell(
  cell: SheetCell | undefined,
  link = typeof cell === 'object' ? cell?.link : undefined,
): string {
  const text = textOfSheetCell(cell);
  const isText =
    link === undefined || 'domain' in normalizeDomain(text) || (text !== '' && isNothing(text));
  return isText ? text : link;
}

/** The most rows, columns and characters in a cell that a sheet can hold. */
export const MOST_ROWS = 1_048_576;
export const MOST_COLUMNS = 16_384;
export const MOST_CHARACTERS = 32_767;

const LETTERS = 26;
const CODE_OF_A = 65;

/** The column of a reference such as `BC12`, from 0; -1 if it is not a reference. */
export function columnOfRef(ref: string): number {
  let column = 0;
  for (let at = 0; at < ref.length; at += 1) {
    const letter = ref.charCodeAt(at) - CODE_OF_A;
    if (letter < 0 || letter >= LETTERS) break;
    column = column * LETTERS + letter + 1;
    if (column > MOST_COLUMNS) return -1;
  }
  return column - 1;
}

/** The letters of a column, from 0: `A`, `Z`, `AA`. */
export function columnName(column: number): string {
  const last = String.fromCharCode(CODE_OF_A + (column % LETTERS));
  return column < LETTERS ? last : columnName(Math.floor(column / LETTERS) - 1) + last;
}

/** Cells from one corner to another. Columns count from 0, rows from 1. */
export interface Range {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly firstColumn: number;
  readonly lastColumn: number;
}

/** Reads `B5`, `B5:C9` or `$B$5:$C$9`; undefined for anything else. */
export function readRange(ref = ''): Range | undefined {
  const [, from, firstRow, to = from, lastRow = firstRow] =
    /^\$?([A-Z]+)\$?(\d+)(?::\$?([A-Z]+)\$?(\d+))?$/.exec(ref) ?? [];
  if (from === undefined || to === undefined) return undefined;
  const rows = { firstRow: Number(firstRow), lastRow: Number(lastRow) };
  return { ...rows, firstColumn: columnOfRef(from), lastColumn: columnOfRef(to) };
}

export function contains(range: Range, row: number, column: number): boolean {
  return (
    range.firstRow <= row &&
    row <= range.lastRow &&
    range.firstColumn <= column &&
    column <= range.lastColumn
  );
}

/** `A1:C9` */
export function rangeRef({ firstRow, lastRow, firstColumn, lastColumn }: Range): string {
  return `${columnName(firstColumn)}${firstRow}:${columnName(lastColumn)}${lastRow}`;
}
