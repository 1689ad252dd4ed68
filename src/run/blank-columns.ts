import type { JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';
import { shorten } from '../rows/columns/names.ts';
import { formatCount } from '../watch/describe/format-count.ts';

/** Columns that somebody asked for and that no answer has anything for. */
export interface BlankColumns {
  add(rows: readonly JoinedRow[]): void;
  /** Says which those are, once all rows were added; undefined where there is nothing to say. */
  describe(): string | undefined;
}

/** Fewer rows may all have nothing there by chance. */
const LEAST_ROWS = 5;

/**
 * Mostly an expression with nothing for any row is not what was meant: a typing error, or a field that is
 * within another.
 *
 * @param columns those of `fields`, in their order
 */
export function createBlankColumns(columns: readonly OutputColumn[]): BlankColumns {
  const blank = new Map(columns.entries());
  let found = 0;

  function look(row: JoinedRow): void {
    if (row.status !== 'found') return;
    found += 1;
    for (const at of blank.keys()) if (hasValue(row.values[at])) blank.delete(at);
  }

  return {
    add: (rows) => {
      if (blank.size > 0) rows.forEach(look);
    },
    describe: () => {
      if (blank.size === 0 || found < LEAST_ROWS) return undefined;
      const names = [...blank.values()].map(
        ({ name, expression = '' }) => `'${name}' (${shorten(expression)})`,
      );
      return `No answer has anything for ${names.join(', ')}: blank in all ${formatCount(found)} rows that were found; brandfill try shows what an answer has.`;
    },
  };
}

function hasValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '';
}
