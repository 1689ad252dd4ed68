import { shorten } from '../rows/columns/names.ts';
import type { ScannedRow } from '../rows/row-format.ts';

/** A row without a domain. */
export interface InvalidRow {
  /** Its position among the rows, from 1. The header does not count. */
  readonly row: number;
  /** In a workbook, its row in the sheet, as spreadsheet programs count. */
  readonly sheetRow?: number;
  /** Why it has no domain, such as `empty` or `public_suffix`. */
  readonly reason: string;
  /** The cell, cut to fit into a message. */
  readonly cell: string;
}

/** Rows without a domain: their number, the reasons, and a few examples. */
export interface InvalidRows {
  add(row: InvalidRow): void;
  readonly count: number;
  readonly byReason: Readonly<Record<string, number>>;
  /** One row for each reason if there is room, then the first ones; in the order of the rows. */
  readonly examples: readonly InvalidRow[];
}

/** @param most how many examples are kept */
export function createInvalidRows(most: number): InvalidRows {
  const byReason: Record<string, number> = {};
  const firstOfReason: InvalidRow[] = [];
  const first: InvalidRow[] = [];
  let count = 0;
  return {
    add: (row) => {
      const { reason, cell } = row;
      count += 1;
      const ofReason = (byReason[reason] ?? 0) + 1;
      byReason[reason] = ofReason;
      if (ofReason > 1 && count > most) return;
      const invalid = { ...row, cell: shorten(cell.trim()) };
      if (ofReason === 1) firstOfReason.push(invalid);
      if (count <= most) first.push(invalid);
    },
    get count() {
      return count;
    },
    byReason,
    get examples() {
      const shown = [...new Set([...firstOfReason, ...first])].slice(0, most);
      return shown.sort((one, other) => one.row - other.row);
    },
  };
}

/** @param row its position among the rows */
export function placeOf(
  { sheetRow }: ScannedRow,
  row: number,
): Pick<InvalidRow, 'row' | 'sheetRow'> {
  return sheetRow === undefined ? { row } : { row, sheetRow };
}
