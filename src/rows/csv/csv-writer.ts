import { stringify } from 'csv-stringify/sync';
import type { CellValue, RawRow } from '../row-format.ts';
import { type CsvDialect, cellsOfRow, withoutLineEnd } from './csv-dialect.ts';

/**
 * Writes some cells of a row, with delimiters between them. A text that a spreadsheet would
 * calculate is guarded.
 */
export function createCellsWriter(
  delimiter: string,
  escape = '"',
): (values: readonly CellValue[], keepsFormulas?: boolean) => string {
  const options = { delimiter, escape, quoted: true, eof: false };
  const guarded = (value: CellValue): string =>
    typeof value === 'number' ? String(value) : guardFormula(textOfCell(value)); // -5 is no formula
  // Few cells need quotes. For all of them the library takes a fifth of the time of a whole run.
  const quoted = (cell: string): string =>
    SPECIAL.test(cell) || cell.includes(delimiter) || cell.includes(escape)
      ? stringify([[cell]], options)
      : cell;
  return (values, keepsFormulas = false) => {
    const textOf = keepsFormulas ? textOfCell : guarded;
    return values.map((value) => quoted(textOf(value))).join(delimiter);
  };
}

/** Signs with a meaning, delimiters too: a spreadsheet may take another one, by its language. */
const SPECIAL = /[",;\t\r\n]/;

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
 * Fills a blank cell of a row, and adds cells that a short row lacks. The other cells stay as they
 * are.
 */
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

/** What a program may drop unseen at the beginning of a cell. */
const UNSEEN = /^[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+/u;
/**
 * What is taken for the beginning of a formula by itself, and what is one in front of what
 * calculates.
 */
const ALWAYS = /^[=＝﹦]/;
const SIGNS = /^[+\-@＋－＠﹢﹣﹫]/;
/**
 * A function, a reference, another program (`+cmd|…`), numbers with an operator and no space
 * between.
 */
const CALCULATES = /[(|!"&^%<>=:{]|^(?:[+\-@=]|[$]?[a-z]{1,3}[$]?\d|[\d.]+[*/+-])/i;

/** A number of a telephone with a space or `1(` in it, which no spreadsheet can calculate. */
const TELEPHONE = /^\+\d[\d ()/.-]*$/;

/** How nearly all texts begin, which are spared the search. */
const PLAIN = /^[A-Za-z0-9]/;

/**
 * Puts a `'` in front of a text that a spreadsheet would calculate: an equals sign; a plus, a minus
 * or an at sign in front of something that calculates. A telephone number such as `+49 89 1234` and
 * a name such as `@acme` are none. The time that this takes grows with the text and no faster.
 *
 * @see {@link https://owasp.org/www-community/attacks/CSV_Injection CSV injection}
 */
export function guardFormula(text: string): string {
  return !PLAIN.test(text) && isFormula(text) ? `'${text}` : text;
}

function isFormula(text: string): boolean {
  if (text.startsWith('\t') || text.startsWith('\r')) return true; // taken for one by itself
  const seen = text.replace(UNSEEN, '');
  if (ALWAYS.test(seen)) return true;
  if (!SIGNS.test(seen) || !CALCULATES.test(seen.slice(1).replace(UNSEEN, ''))) return false;
  return !(TELEPHONE.test(text) && / |\d\(/.test(text));
}
