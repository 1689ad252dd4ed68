import type { JsonObject } from '../brand/json-object.ts';
import type { CellValue, RowColumn, RowFormat } from '../rows/row-format.ts';
import type { ComparedColumn } from './changes.ts';
import type { Field } from './fields/fields.ts';

/** A column of the list, and the field that fills its blank cells. */
export interface FillRule {
  readonly column: RowColumn;
  readonly field: Field;
}

/** A row with its filled cells. */
export interface FilledIn {
  readonly raw: string;
  readonly fields: number;
  /** The filled values, by index of their rule; undefined when none was filled. */
  readonly fills: readonly CellValue[] | undefined;
}

/** Fills blank cells of the list's own columns. */
export interface Fill {
  /** @param blanks the rules whose cells are blank, one bit each */
  apply(row: { raw: string; fields: number }, answer: JsonObject, blanks: number): FilledIn;
  /** The columns that are filled. */
  readonly columns: readonly RowColumn[];
  /** How many cells were filled so far, by column. */
  readonly counts: Readonly<Record<string, number>>;
  /** The filled values, for comparison with the last run. */
  readonly compared: readonly ComparedColumn[];
}

export function createFill(rules: readonly FillRule[], format: RowFormat): Fill {
  const filler = format.createFiller(rules.map(({ column }) => column));
  const names = rules.map(({ column }) => column.name);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  return {
    apply: ({ raw, fields }, answer, blanks) => {
      const values = rules.map(({ field }, at) =>
        (blanks & (1 << at)) === 0 ? undefined : field.valueOf(answer),
      );
      if (values.every((value) => value === undefined)) return { raw, fields, fills: undefined };
      const row = filler.fill(raw, fields, values);
      for (const at of row.filled) {
        const name = names[at] ?? '';
        counts[name] = (counts[name] ?? 0) + 1;
      }
      const fills = values.map((value, at) => (row.filled.includes(at) ? value : undefined));
      return { ...row, fills: row.filled.length === 0 ? undefined : fills };
    },
    columns: rules.map(({ column }) => column),
    counts,
    compared: rules.map(({ column }, at) => ({
      name: column.name,
      // A value of the list's own is not compared. What was reported before is kept.
      textOf: ({ blanks, fills }) =>
        (blanks & (1 << at)) === 0 ? undefined : format.textOf(fills?.[at]),
    })),
  };
}
