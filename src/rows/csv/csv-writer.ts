import { stringify } from 'csv-stringify/sync';
import type { CellValue, RawRow } from '../row-format.ts';
import { type CsvDialect, cellsOfRow, withoutLineEnd } from './csv-dialect.ts';
import { guardFormula } from './formula.ts';

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
