import { columnOfRef } from './cell-ref.ts';
import type { Workbook } from './open-workbook.ts';

/**
 * Counts the columns of a list, including cells that are merged with some of its own. Only the
 * first of such cells is shown, so our columns go behind them. A row that is one cell from end to
 * end is a heading or a note, where nothing is lost.
 *
 * @param width its number of columns without them
 */
export function widthWithMerged({ frame, place, tables }: Workbook, width: number): number {
  const { header, firstColumn } = place;
  // A table has no merged cells; those below it are no reason to leave a gap that it cannot be
  // extended over.
  if (tables.some(({ firstRow }) => firstRow === header.number)) return width;
  let widest = width;
  for (const [, from = '', firstRow, to = '', lastRow] of frame.tail.matchAll(MERGED)) {
    const [first, last] = [columnOfRef(from) - firstColumn, columnOfRef(to) - firstColumn];
    const isNote = first <= 0 && last >= width - 1 && Number(firstRow) > header.number;
    const isOfList = Number(lastRow) >= header.number && first < width;
    if (isOfList && !isNote) widest = Math.max(widest, last + 1);
  }
  return widest;
}

const MERGED =
  /<(?:[\w.-]+:)?mergeCell\s[^>]*?ref\s*=\s*["']\$?([A-Z]+)\$?(\d+):\$?([A-Z]+)\$?(\d+)["']/g;
