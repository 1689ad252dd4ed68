import { meaningOfName } from './column-name.ts';
import { looksLikeHeader } from './domain-column.ts';

/** A cell of a row that may be the header, or is below it. */
export interface HeadCell {
  /** As it is shown. */
  readonly text: string;
  /** What would be looked up: the target of a link, or the text. */
  readonly address: string;
  /** Whether it is a text, and no number or date. */
  readonly isText: boolean;
}

type CellsOfRow = readonly HeadCell[];

const ROWS_COMPARED = 10;

/**
 * Finds the header among the first rows of a table: the first row of texts that has at least half
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
 * Finds the header of a list of texts if lines of a title seem to be above it, as in reports. These
 * lines have far fewer cells than the list below, or the list below names a column of domains and
 * they do not.
 */
export function findHeaderBelowTitle(texts: readonly (readonly string[])[]): number | undefined {
  const rows = texts.map((row) => row.map((text) => ({ text, address: text, isText: true })));
  const at = findHeaderRow(rows);
  const [title = 0, header = 0] = [rows[0], rows[at]].map((row) => row?.filter(isFilled).length);
  const isHeader = header >= 2 && (header >= 2 * title || namesDomains(rows, at));
  return at > 0 && isHeader ? at : undefined;
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
  const below = rows.slice(at + 1).map((cells) => cells.map(({ address }) => address));
  return looksLikeHeader(
    (rows[at] ?? []).map(({ text }) => text),
    below,
  );
}

/** Whether a row names a column of domains, and the rows below have domains in it. */
function namesDomains(rows: readonly CellsOfRow[], at: number): boolean {
  const below = rows.slice(at + 1, at + 1 + ROWS_COMPARED);
  return (rows[at] ?? []).some(({ text }, column) => {
    const { kind, isForeign } = meaningOfName(text);
    if (kind === undefined || kind === 'email' || isForeign) return false;
    return below.some((cells) => !looksLikeHeader([cells[column]?.address ?? '']));
  });
}

/**
 * Whether most cells are texts. Years and numbers of weeks are also names of columns, but not of
 * most of them.
 */
function isOfTexts(cells: CellsOfRow): boolean {
  const filled = cells.filter(isFilled);
  const texts = filled.filter(({ isText }) => isText);
  return texts.length * 2 > filled.length;
}

function textsOf(cells: CellsOfRow): readonly string[] {
  return cells.filter(isFilled).map(({ text }) => text);
}

function isFilled({ text }: HeadCell): boolean {
  return text.trim() !== '';
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
