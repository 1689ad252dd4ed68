import { columnOfRef } from './cell-ref.ts';
import type { Workbook } from './open-workbook.ts';

/**
 * Finds how many columns a list has with the cells that are merged with some of its own: of those only
 * the first is shown, so ours go behind them. A row that is one cell from end to end is a heading or a
 * note; there nothing is lost.
 *
 * @param width how many columns it has without them
 */
export function widthWithMerged({ frame, place, tables }: Workbook, width: number): number {
  const { header, firstColumn } = place;
  // None of a table are merged; those below are no reason to leave a gap that it cannot be extended over.
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
