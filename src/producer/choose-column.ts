import { BrandfillError } from '../errors.ts';
import {
  type DomainColumn,
  findColumn,
  guessDomainColumn,
  looksLikeHeader,
} from '../rows/domain-column.ts';
import { shorten } from '../rows/names.ts';
import type { RowFormat } from '../rows/row-format.ts';
import type { Source } from '../rows/source.ts';

/**
 * The column that a row's domain is taken from: the one named, else the best guess.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no such column or none can be told, and
 * `UNREADABLE_INPUT` when the file has no header.
 */
export function chooseDomainColumn(
  source: Source,
  format: RowFormat,
  named: string | undefined,
): DomainColumn {
  const { columns, sampleRows } = format;
  if (format.isTable && !looksLikeHeader(columns)) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${source.name}: its first line is no header but a row ('${shorten(columns.join(','))}'); put a line with column names on top, such as: domain`,
    );
  }
  const column =
    named === undefined ? guessDomainColumn(columns, sampleRows) : findColumn(columns, named);
  if (column) return column;
  // Objects need not all have the same members: this one may come after the first rows.
  if (named !== undefined && !format.isTable) {
    return { index: -1, name: named, by: 'option', example: undefined };
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    named === undefined
      ? `Cannot tell which column of ${source.name} holds the domain: name it with --domain-column; there are: ${list(columns)}.`
      : `Cannot find the column '${named}' in ${source.name}: there are: ${list(columns)}.`,
  );
}

const MOST_LISTED = 30;

function list(columns: readonly string[]): string {
  const shown = columns.slice(0, MOST_LISTED).map(shorten).join(', ');
  const more = columns.length - MOST_LISTED;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
