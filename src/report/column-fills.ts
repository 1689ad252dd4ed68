import type { JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';

/** In how many rows each added column has a value. */
export interface ColumnFills {
  add(row: JoinedRow): void;
  readonly columns: readonly { readonly name: string; readonly rows: number }[];
}

export function createColumnFills(columns: readonly OutputColumn[]): ColumnFills {
  const rows = new Float64Array(columns.length);
  return {
    add: (row) => {
      for (let at = 0; at < columns.length; at += 1) {
        const value = columns[at]?.valueOf(row);
        if (value !== undefined && value !== null && value !== '') rows[at] = (rows[at] ?? 0) + 1;
      }
    },
    get columns() {
      return columns.map(({ name }, at) => ({ name, rows: rows[at] ?? 0 }));
    },
  };
}
