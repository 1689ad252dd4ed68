import type { RowFormat } from '../../rows/row-format.ts';
import type { OutputColumn } from '../output/output-columns.ts';
import type { ComparedColumn } from './change-finder.ts';
import { flatExpression } from './manifest.ts';

/**
 * The columns of the output as they are compared: by the text that is written. Of a column that has
 * several pieces each is compared by itself, so that it does not matter which pieces are in it.
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
