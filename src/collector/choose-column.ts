import { BrandfillError, refusal } from '../common/errors.ts';
import { meaningOfName } from '../rows/columns/column-name.ts';
import {
  type DomainColumn,
  findColumn,
  guessDomainColumn,
  judgeColumns,
} from '../rows/columns/domain-column.ts';
import { listNames, shorten } from '../rows/columns/names.ts';
import { looksLikeHeader } from '../rows/columns/table.ts';
import { READING_OPTIONS, type ReadingOptions } from '../rows/list-formats.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';

/** The index of a column that none of the first objects has. */
const NOT_SEEN_YET = -1;

/**
 * The column of the domains: the one named by the user, else the best guess.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no such column or none can be guessed, and
 *   `UNREADABLE_INPUT` when the file has no header.
 */
export function chooseDomainColumn(
  source: Source,
  format: RowFormat,
  named: string | undefined,
): DomainColumn {
  const { columns, sampleRows } = format;
  if (named !== undefined) return chooseColumn(source, format, named);
  assertHeader(source, format);
  const column = guessDomainColumn(columns, sampleRows);
  if (column) return column;
  if (source.isOfObjects && columns.length === 0) return columnAt(NOT_SEEN_YET, 'domain');
  throw refusal(
    `Cannot tell which column of ${source.name} holds the domain: name it with option 'domainColumn'; there are: ${listNames(columns)}${describeLosers(columns, sampleRows)}${describeElsewhere(format)}${has(format, 'skipLines') ? adviseOnHeader(columns) : ''}.`,
  );
}

/**
 * A column by its name, or in a table by its place, from 1. Objects need not all have the same
 * members, so for them any name is accepted as one that may come later: see {@link
 * assertColumnsThere}.
 *
 * @throws BrandfillError as {@link chooseDomainColumn} does
 */
export function chooseColumn(source: Source, format: RowFormat, name: string): DomainColumn {
  const { columns, sampleRows, isTable } = format;
  const found = findColumn(columns, name, sampleRows);
  if (found) return found; // whoever knows a name of the header knows that there is one
  if (!isTable) return columnAt(NOT_SEEN_YET, name);
  assertHeader(source, format);
  const index = /^\d+$/.test(name) ? Number(name) - 1 : -1;
  const own = columns[index];
  if (own === undefined) throw noSuchColumn(source, format, name);
  return columnAt(index, own);
}

function columnAt(index: number, name: string): DomainColumn {
  return { index, name, by: 'option', example: undefined, others: [] };
}

function assertHeader(source: Source, format: RowFormat): void {
  const { columns, sampleRows, isTable } = format;
  if (!isTable || looksLikeHeader(columns, sampleRows)) return;
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${source.name}: its first line is no header but a row ('${shorten(columns.join(','))}'); put a line with column names on top, such as: domain${has(format, 'noHeader') ? "; or give option 'noHeader'" : ''}; if it is the header, name the column with option 'domainColumn'.`,
  );
}

function has({ notation }: RowFormat, option: keyof ReadingOptions): boolean {
  return READING_OPTIONS[option].includes(notation.kind);
}

function adviseOnHeader(columns: readonly string[]): string {
  return columns.length === 1 && /[,;|\t]/.test(columns.join())
    ? '; each line seems to be in quotes as a whole, which makes it one cell: take these quotes away'
    : "; if that is a title and no header, option 'skipLines' leaves it out";
}

const MOST_LOSERS = 4;

/** Why columns were not taken that have addresses, or names that promise them. */
function describeLosers(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return judgeColumns(columns, rows)
    .filter(({ name, profile }) => profile.held > 0 || meaningOfName(name).kind !== undefined)
    .sort((one, other) => other.profile.held - one.profile.held)
    .slice(0, MOST_LOSERS)
    .map(({ flaw }) => `; ${flaw}`)
    .join('');
}

/** A hint, in case a sheet of explanations was taken for the list. */
function describeElsewhere({ workbook }: RowFormat): string {
  if (workbook === undefined) return '';
  const { sheet, sheets, otherLists } = workbook;
  if (otherLists.length > 0) {
    const lists = otherLists.map(
      (list) => `'${shorten(list.sheet)}' (column '${shorten(list.column)}')`,
    );
    return `; the sheet '${shorten(sheet)}' seems to be no list: option 'sheet' takes ${lists.join(' or ')}`;
  }
  const others = sheets.filter((other) => other !== sheet);
  return others.length === 0
    ? ''
    : `; these are of the sheet '${shorten(sheet)}', option 'sheet' takes another: ${listNames(others)}`;
}

/**
 * Must be called after all rows are scanned.
 *
 * @throws BrandfillError `INVALID_SETTING` when no row has one of these columns
 */
export function assertColumnsThere(
  source: Source,
  format: RowFormat,
  columns: readonly RowColumn[],
): void {
  const missing = columns.find(
    ({ index, name }) => index === NOT_SEEN_YET && !format.takenNames.has(name),
  );
  if (missing) throw noSuchColumn(source, format, missing.name);
}

function noSuchColumn(source: Source, format: RowFormat, name: string): BrandfillError {
  return refusal(
    `Cannot find the column '${name}' in ${source.name}: there are: ${listNames(format.columns)}${describeElsewhere(format)}.`,
  );
}
