import type { JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';
import { shorten } from '../rows/columns/names.ts';
import { formatCount } from '../watch/describe/format-count.ts';

/** The columns that the user asked for and for which no answer has a value. */
export interface BlankColumns {
  add(rows: readonly JoinedRow[]): void;
  /** Names these columns, once all rows were added; undefined when there is nothing to report. */
  describe(): string | undefined;
}

/** With fewer rows, a column may be blank by chance. */
const LEAST_ROWS = 5;

/**
 * Finds expressions without a value for any row. Mostly that is a mistake: a typing error, or a
 * field that is nested within another.
 *
 * @param columns the columns of `fields`, in their order
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
