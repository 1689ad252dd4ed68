import type { RowFormat } from '../rows/row-format.ts';
import type { JoinedRow } from './joined-row.ts';
import type { OutputColumns } from './output/output-columns.ts';

/**
 * A row of the list with the added columns, named as in the output files. A row that was not
 * enriched also has the columns of the failures file, which say why.
 */
export type EnrichedRow = Record<string, unknown>;

export function toEnrichedRow(
  row: JoinedRow,
  format: RowFormat,
  { out, failures }: OutputColumns,
): EnrichedRow {
  const enriched = format.toObject(row.raw);
  for (const column of row.status === 'found' ? out : [...out, ...failures]) {
    const value = column.valueOf(row);
    if (value !== undefined) enriched[column.name] = value;
  }
  return enriched;
}
