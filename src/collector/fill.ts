import type { JsonObject } from '../brand/json-object.ts';
import type { CellValue, RowColumn, RowFormat } from '../rows/row-format.ts';
import type { ComparedColumn } from './changes.ts';
import type { Field } from './fields/fields.ts';
import { isFilled } from './output/output-columns.ts';

/** A column of the list, and the field that fills its blank cells. */
export interface FillRule {
  readonly column: RowColumn;
  readonly field: Field;
}

/** A row with its filled cells. */
export interface FilledIn {
  readonly raw: string;
  readonly fields: number;
  /** The values in cells that were blank, by index of their rule, null for none; undefined for other cells. */
  readonly fills: readonly CellValue[];
}

/** Fills blank cells of the list's own columns. */
export interface Fill {
  apply(row: { raw: string; fields: number }, answer: JsonObject): FilledIn;
  /** The columns that are filled. */
  readonly columns: readonly RowColumn[];
  /** How many cells were filled so far, by column. */
  readonly counts: Readonly<Record<string, number>>;
  /** The filled values, for comparison with the last run. */
  readonly compared: readonly ComparedColumn[];
}

/** @param keepsFormulas whether texts that a spreadsheet would calculate stay as they are */
export function createFill(
  rules: readonly FillRule[],
  format: RowFormat,
  keepsFormulas = false,
): Fill {
  const columns = rules.map(({ column }) => column);
  const filler = format.createFiller(columns, keepsFormulas);
  const counts = Object.fromEntries(columns.map(({ name }) => [name, 0]));
  return {
    apply: ({ raw, fields }, answer) => {
      const values = rules.map(({ field }) => field.valueOf(answer));
      const { blanks, ...row } = filler.fill(raw, fields, values);
      for (const at of blanks) {
        const { name = '' } = columns[at] ?? {};
        if (isFilled(values[at])) counts[name] = (counts[name] ?? 0) + 1;
      }
      return {
        ...row,
        fills: values.map((value, at) => (blanks.includes(at) ? (value ?? null) : undefined)),
      };
    },
    columns,
    counts,
    compared: columns.map(({ name }, at) => ({
      name,
      // A value of the list's own is not compared. What was reported before is kept.
      textOf: ({ fills }) =>
        fills?.[at] === undefined ? undefined : format.textOf(fills[at] ?? undefined),
    })),
  };
}
