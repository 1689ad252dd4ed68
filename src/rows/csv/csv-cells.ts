import type { FilledRow, RowColumn, RowFiller } from '../row-format.ts';
import { type CsvDialect, withoutLineEnd } from './csv-dialect.ts';
import { cellWriterOf } from './csv-writer.ts';
import { endOfQuotes } from './detect-dialect.ts';

/** The place of a cell in its row, quotes and spaces included. */
interface CellRange {
  readonly start: number;
  readonly end: number;
  /**
   * The place behind its closing quote, if it is quoted. Text may follow if the quote was closed by
   * accident.
   */
  readonly closedAt: number | undefined;
}

/**
 * Finds the cells of a row that has been read before.
 *
 * @param own the row without its line end
 */
function findCells(own: string, dialect: CsvDialect): readonly CellRange[] {
  const cells: CellRange[] = [];
  for (let start = 0; start <= own.length; ) {
    const cell = findCell(own, start, dialect);
    cells.push(cell);
    start = cell.end + 1;
  }
  return cells;
}

function findCell(own: string, start: number, dialect: CsvDialect): CellRange {
  const { delimiter, quote } = dialect;
  const isQuoted = quote !== '' && own.startsWith(quote, start);
  const closedAt = isQuoted ? endOfQuotes(own, start, dialect) : undefined;
  if (closedAt === -1) return { start, end: own.length, closedAt };
  const end = own.indexOf(delimiter, closedAt ?? start);
  return { start, end: end === -1 ? own.length : end, closedAt };
}

/**
 * Fills blank cells of rows, and adds cells that a short row lacks. The other cells stay as they
 * are.
 */
export function createCsvFiller(columns: readonly RowColumn[], dialect: CsvDialect): RowFiller {
  const toCell = cellWriterOf(dialect);
  return {
    fill: (raw, fields, values): FilledRow => {
      const own = withoutLineEnd(raw, dialect);
      const found = findCells(own, dialect);
      const cells = found.map(({ start, end }) => own.slice(start, end));
      const filled: number[] = [];
      for (const [at, { index }] of columns.entries()) {
        const cell = toCell(values[at]);
        if (cell === '' || !isBlank(cells[index] ?? '', dialect)) continue;
        while (cells.length < index) cells.push('');
        cells[index] = cell;
        filled.push(at);
      }
      const lineEnd = raw.slice(own.length);
      return {
        raw: cells.join(dialect.delimiter) + lineEnd,
        fields: Math.max(fields, cells.length),
        filled,
      };
    },
  };
}

/** A row with its first cells only. */
export function cutCells(raw: string, count: number, dialect: CsvDialect): string {
  const own = withoutLineEnd(raw, dialect);
  const next = findCells(own, dialect)[count];
  return next ? own.slice(0, Math.max(0, next.start - 1)) + raw.slice(own.length) : raw;
}

/**
 * A spot that other programs may read differently, so that cells may not be where they seem to be:
 * text behind a closing quote, a quote behind a space, a carriage return that does not end a line
 * here.
 */
export type OddSpot = 'behind_closing' | 'behind_space' | 'lone_return';

/** Finds the first odd spot of a row. */
export function findOddSpot(raw: string, dialect: CsvDialect): OddSpot | undefined {
  const own = withoutLineEnd(raw, dialect);
  const { quote } = dialect;
  for (const { start, end, closedAt } of findCells(own, dialect)) {
    if (closedAt !== undefined) {
      if (closedAt < end) return 'behind_closing';
      continue;
    }
    const cell = own.slice(start, end);
    if (cell.includes('\r')) return 'lone_return';
    if (quote !== '' && cell.trimStart().startsWith(quote)) return 'behind_space';
  }
  return undefined;
}

/** Whether a cell is nothing but white space, quoted or not. */
function isBlank(cell: string, { quote }: CsvDialect): boolean {
  return /^\s*$/.test(quote !== '' && cell.startsWith(quote) ? cell.slice(1, -1) : cell);
}
