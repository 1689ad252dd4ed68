import { columnOfRef, MOST_COLUMNS } from './cell-ref.ts';
import type { Workbook } from './open-workbook.ts';

/**
 * The column where ours begin, from 0: right of the list, of cells that are merged with some of its
 * own, and of pictures and charts beside it.
 *
 * @param width the number of columns of the list
 */
export function firstFreeColumn(workbook: Workbook, width: number): number {
  const { place, drawings, found } = workbook;
  let column = place.firstColumn + widthWithMerged(workbook, width);
  for (const drawing of drawings) {
    const isBeside = drawing.firstRow <= found.lastRow && drawing.lastRow >= place.header.number;
    if (isBeside) column = Math.max(column, drawing.lastColumn + 1);
  }
  return Math.min(column, MOST_COLUMNS);
}

/**
 * Counts the columns of a list, including cells that are merged with some of its own: only the first
 * of such cells is shown. A row that is one cell from end to end is a heading or a note, where
 * nothing is lost.
 */
function widthWithMerged({ frame, place, tables }: Workbook, width: number): number {
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
