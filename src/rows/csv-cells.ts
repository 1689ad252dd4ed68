import type { CsvDialect } from './csv-dialect.ts';
import { cellWriterOf, withoutLineEnd } from './csv-writer.ts';
import type { FilledRow, RowColumn, RowFiller } from './row-format.ts';

/** Where a cell stands in its row, quotes and spaces included. */
interface CellRange {
  readonly start: number;
  readonly end: number;
}

const QUOTE = '"';

/**
 * Finds the cells of a row that was read already, so that its quotes are known to be right.
 *
 * @param own the row without its line end
 */
function findCells(own: string, delimiter: string): readonly CellRange[] {
  const cells: CellRange[] = [];
  for (let start = 0; start <= own.length; ) {
    const end = findCellEnd(own, start, delimiter);
    cells.push({ start, end });
    start = end + 1;
  }
  return cells;
}

function findCellEnd(own: string, start: number, delimiter: string): number {
  let from = start;
  if (own.startsWith(QUOTE, start)) {
    from = own.indexOf(QUOTE, start + 1);
    while (own.startsWith(QUOTE, from + 1)) from = own.indexOf(QUOTE, from + 2);
  }
  const end = own.indexOf(delimiter, from);
  return end === -1 ? own.length : end;
}

/** Fills blank cells of rows, and adds those that a short row lacks. The other cells stay as they are. */
export function createCsvFiller(
  columns: readonly RowColumn[],
  { delimiter }: CsvDialect,
): RowFiller {
  const toCell = cellWriterOf(delimiter);
  return {
    fill: (raw, fields, values): FilledRow => {
      const own = withoutLineEnd(raw);
      const found = findCells(own, delimiter);
      const cells = found.map(({ start, end }) => own.slice(start, end));
      const filled: number[] = [];
      for (const [at, { index }] of columns.entries()) {
        const cell = toCell(values[at]);
        if (cell === '' || !isBlank(cells[index] ?? '')) continue;
        while (cells.length < index) cells.push('');
        cells[index] = cell;
        filled.push(at);
      }
      const lineEnd = raw.slice(own.length);
      return {
        raw: cells.join(delimiter) + lineEnd,
        fields: Math.max(fields, cells.length),
        filled,
      };
    },
  };
}

/** A row with its first cells only. */
export function cutCells(raw: string, count: number, delimiter: string): string {
  const own = withoutLineEnd(raw);
  const next = findCells(own, delimiter)[count];
  return next ? own.slice(0, Math.max(0, next.start - 1)) + raw.slice(own.length) : raw;
}

/** Nothing but white space, quoted or not. */
function isBlank(cell: string): boolean {
  return /^\s*$/.test(cell.startsWith(QUOTE) ? cell.slice(1, -1) : cell);
}
