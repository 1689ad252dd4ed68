import type { JsonObject } from '../brand/json-object.ts';
import {
  type CellValue,
  isFilled,
  type RawRow,
  type RowColumn,
  type RowFormat,
} from '../rows/row-format.ts';
import type { ComparedColumn } from './changes.ts';
import type { Field } from './fields/fields.ts';

/** A column of the list, and the field that fills its blank cells. */
export interface FillRule {
  readonly column: RowColumn;
  readonly field: Field;
}

/** Fills blank cells of the list's own columns. */
export type Fill = ReturnType<typeof createFill>;

/** @param keepsFormulas whether texts that a spreadsheet would calculate stay as they are */
export function createFill(rules: readonly FillRule[], format: RowFormat, keepsFormulas = false) {
  const columns = rules.map(({ column }) => column);
  const counts: Record<string, number> = Object.fromEntries(columns.map(({ name }) => [name, 0]));
  return {
    /**
     * Gives a row with its filled cells, and what was filled into cells that were blank, by index
     * of their rule, null for none; undefined for other cells.
     */
    apply: (own: RawRow, answer: JsonObject) => {
      let row = own;
      const fills = rules.map(({ column, field }): CellValue => {
        const value = field.valueOf(answer);
        const filled = format.fillCell(row, column, value, keepsFormulas);
        if (filled === undefined) return undefined;
        row = filled;
        if (isFilled(value)) counts[column.name] = (counts[column.name] ?? 0) + 1;
        return value ?? null;
      });
      return { ...row, fills };
    },
    /** The columns that are filled. */
    columns,
    /** How many cells were filled so far, by column. */
    counts,
    /** The filled values, for comparison with the last run. */
    compared: columns.map(
      ({ name }, at): ComparedColumn => ({
        name,
        // A value of the list's own is not compared. What was reported before is kept.
        textOf: ({ fills }) =>
          fills?.[at] === undefined ? undefined : format.textOf(fills[at] ?? undefined),
      }),
    ),
  };
}
