import { textOfCell } from '../csv/csv-writer.ts';
import type { CellValue, FilledRow, RowColumn, RowFiller } from '../row-format.ts';
import type { SheetCell } from './cell.ts';
import { textOfSheetCell } from './cell.ts';
import { columnOfRef } from './cell-ref.ts';
import { type CellPlace, valueXml } from './cell-xml.ts';
import type { Workbook } from './open-workbook.ts';
import { readRowLine, writeRowLine } from './row-line.ts';

/** A cell as it is in a row. */
interface CellXml {
  /** From 0. */
  readonly column: number;
  readonly xml: string;
}

/** Splits a row that has been read before into its opening tag and its cells. */
function cutRow(xml: string, prefix: string): { tag: string; cells: CellXml[] } {
  const tagEnd = xml.indexOf('>') + 1;
  const cells: CellXml[] = [];
  const close = new RegExp(`</${prefix}c\\s*>|$`, 'g');
  for (let at = tagEnd; at < xml.length; ) {
    const end = xml.indexOf('>', at) + 1;
    const cellEnd = xml[end - 2] === '/' ? end : endOfElement(xml, end, close);
    const cell = xml.slice(at, cellEnd);
    cells.push({ column: columnOfRef(/\sr\s*=\s*["']([A-Z]+)/.exec(cell)?.[1] ?? ''), xml: cell });
    at = cellEnd;
  }
  return { tag: xml.slice(0, tagEnd), cells };
}

/**
 * Called only for cells with a closing tag: after an empty one the search would pass all of the
 * empty cells that follow, for each of them.
 */
function endOfElement(xml: string, from: number, close: RegExp): number {
  close.lastIndex = from;
  close.test(xml);
  return close.lastIndex;
}

/** Fills cells of a row that are blank and have no formula. The others stay as they are. */
export function createSheetFiller(
  columns: readonly RowColumn[],
  { place, frame, longNumbers }: Pick<Workbook, 'place' | 'frame' | 'longNumbers'>,
): RowFiller {
  const { firstColumn } = place;
  const { prefix } = frame;
  const longStyle = longNumbers.take;
  return {
    fill: (raw, fields, values): FilledRow => {
      const line = readRowLine(raw);
      const own: SheetCell[] = [...line.cells];
      const { tag, cells } = cutRow(line.xml, prefix);
      const filled: number[] = [];
      for (const [at, { index }] of columns.entries()) {
        const value = values[at];
        if (isNothing(value) || textOfSheetCell(own[index]).trim() !== '') continue;
        const column = firstColumn + index;
        if (!fillCell(cells, value, { column, row: line.number, prefix, longStyle })) continue;
        while (own.length < index) own.push(null);
        own[index] = cellOf(value);
        filled.push(at);
      }
      const xml = tag + cells.map((cell) => cell.xml).join('');
      return { raw: writeRowLine({ ...line, cells: own, xml }), fields, filled };
    },
  };
}

/** @returns false when there is a formula */
function fillCell(cells: CellXml[], value: CellValue, place: Omit<CellPlace, 'style'>): boolean {
  const { column, prefix } = place;
  const found = cells.findIndex((cell) => cell.column >= column);
  const there = cells[found]?.column === column ? cells[found] : undefined;
  if (there && there.xml.includes(`<${prefix}f`)) return false;
  const style = Number(/^[^>]*\ss\s*=\s*["'](\d+)/.exec(there?.xml ?? '')?.[1] ?? 0);
  const xml = valueXml(value, { ...place, style });
  cells.splice(found === -1 ? cells.length : found, there ? 1 : 0, { column, xml });
  return true;
}

function cellOf(value: CellValue): SheetCell {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return ['filled', textOfCell(value), 0];
}

function isNothing(value: CellValue): boolean {
  return value === undefined || textOfCell(value) === '';
}
