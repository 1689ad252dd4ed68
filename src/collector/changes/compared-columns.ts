import type { RowFormat } from '../../rows/row-format.ts';
import type { OutputColumn } from '../output/output-columns.ts';
import type { ComparedColumn } from './change-finder.ts';
import { flatExpression } from './manifest.ts';

/**
 * The columns of the output in the form in which they are compared: by the text that is written. A
 * column of several pieces is compared piece by piece, so that it does not matter which pieces it
 * holds.
 */
export function comparedColumnsOf(
  columns: readonly OutputColumn[],
  format: RowFormat,
): readonly ComparedColumn[] {
  const compared = (column: OutputColumn, label: string): ComparedColumn => ({
    name: column.name,
    label,
    expression: column.isFlat ? flatExpression(column.expression) : (column.expression ?? ''),
    textOf: (row) => format.textOf(column.valueOf(row)),
    dependsOnRow: false,
  });
  return columns
    .filter(({ isCompared = true }) => isCompared)
    .flatMap((column) => (column.parts ?? [column]).map((part) => compared(part, column.name)));
}
