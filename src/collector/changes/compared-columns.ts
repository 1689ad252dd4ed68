import type { RowFormat } from '../../rows/row-format.ts';
import type { OutputColumn } from '../output-columns.ts';
import type { ComparedColumn } from './change-finder.ts';

/** The columns of the output as they are compared: by the text that is written. */
export function comparedColumnsOf(
  columns: readonly OutputColumn[],
  format: RowFormat,
): readonly ComparedColumn[] {
  const compared = columns.filter(({ isCompared = true }) => isCompared);
  return compared.map((column) => ({
    name: column.name,
    expression: column.expression ?? '',
    textOf: (row) => format.textOf(column.valueOf(row)),
    dependsOnRow: false,
  }));
}
