import { meaningOfName } from '../columns/column-name.ts';
import { looksLikeHeader } from '../columns/domain-column.ts';
import type { SheetCell } from './cell.ts';
import { addressOfSheetCell, textOfSheetCell } from './cell.ts';

/** The cells of a row, from the first column of the sheet. */
export type CellsOfRow = readonly SheetCell[];

const ROWS_COMPARED = 10;

/**
 * Finds the header among the first rows of a sheet: the first row of texts that has at least half
 * as many filled cells as the rows below it. Titles, export dates and groups of columns have fewer.
 * In a list of one column it is the row right above the first domain.
 *
 * @param rows the first rows that are not empty
 * @returns its place among them; the first row when none looks like a header
 */
export function findHeaderRow(rows: readonly CellsOfRow[]): number {
  const filled = rows.map((cells) => cells.filter(isFilled).length);
  for (const [at, cells] of rows.entries()) {
    const below = filled.slice(at + 1, at + 1 + ROWS_COMPARED);
    if (below.length === 0) break;
    const usual = median(below);
    if (usual <= 1) continue;
    const isWide = (filled[at] ?? 0) >= Math.max(2, usual / 2);
    if (isWide && isOfTexts(cells) && canBeHeader(rows, at)) return namedBelow(rows, at);
  }
  if (Math.max(0, ...filled) > 1) return 0;
  const firstDomain = rows.findIndex((cells) => !looksLikeHeader(textsOf(cells)));
  return Math.max(0, firstDomain - 1);
}

/**
 * In a narrow list, a line above the header such as `Filter: | Region = DACH` is wide enough. If a
 * row below it names a column of domains, that row is the header instead.
 */
function namedBelow(rows: readonly CellsOfRow[], at: number): number {
  for (let row = at; row < rows.length; row += 1) {
    const cells = rows[row] ?? [];
    if (!canBeHeader(rows, row)) break;
    if (isOfTexts(cells) && namesDomains(rows, row)) return row;
  }
  return at;
}

function canBeHeader(rows: readonly CellsOfRow[], at: number): boolean {
  const below = rows.slice(at + 1).map((cells) => cells.map(addressOfSheetCell));
  return looksLikeHeader((rows[at] ?? []).map(textOfSheetCell), below);
}

/** Whether a row names a column of domains, and the rows below have domains in it. */
export function namesDomains(rows: readonly CellsOfRow[], at: number): boolean {
  const below = rows.slice(at + 1, at + 1 + ROWS_COMPARED);
  return (rows[at] ?? []).some((cell, column) => {
    const { kind, fit } = meaningOfName(textOfSheetCell(cell));
    if (kind === undefined || kind === 'email' || fit !== 'plain') return false;
    return below.some((cells) => !looksLikeHeader([addressOfSheetCell(cells[column])]));
  });
}

/**
 * Whether most cells are texts. Years and numbers of weeks are also names of columns, but not of
 * most of them.
 */
function isOfTexts(cells: CellsOfRow): boolean {
  const filled = cells.filter(isFilled);
  const texts = filled.filter(
    (cell) => typeof cell === 'string' || (Array.isArray(cell) && cell[0] === 'text'),
  );
  return texts.length * 2 > filled.length;
}

function textsOf(cells: CellsOfRow): readonly string[] {
  return cells.filter(isFilled).map(textOfSheetCell);
}

function isFilled(cell: SheetCell): boolean {
  return textOfSheetCell(cell).trim() !== '';
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
