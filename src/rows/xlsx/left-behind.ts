import { findTableOfList } from './extend-table.ts';
import type { Workbook } from './open-workbook.ts';
import { findUnfitFilter } from './sheet-frame.ts';
import type { SheetLayout } from './sheet-writer.ts';

/**
 * Finds a table or a filter that sorts rows of the list without our columns: one in its header that
 * cannot be extended over them, because there are cells or another table in between.
 *
 * @returns its name; undefined in almost all workbooks
 */
export function findLeftBehind(workbook: Workbook, layout: SheetLayout): string | undefined {
  const { tables, frame, place } = workbook;
  const extended = findTableOfList(workbook, layout);
  const table = tables.find((one) => one.firstRow === place.header.number && one !== extended);
  if (table) return `table '${table.element.attributes['displayName'] ?? ''}'`;
  const filter = findUnfitFilter(frame, layout);
  if (!filter) return undefined;
  return extended && extended.firstColumn <= filter.firstColumn ? undefined : 'filter';
}
