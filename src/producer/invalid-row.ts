import { shorten } from '../rows/columns/names.ts';
import { invalidDomain } from '../rows/domain/address.ts';
import type { NormalizedDomain } from '../rows/domain/domain.ts';
import type { DomainReader } from '../rows/domain/domain-reader.ts';
import type { ScannedRow } from '../rows/row-format.ts';

/** A row without a domain. */
export interface InvalidRow {
  /** Its position among the rows, from 1. The header does not count. */
  readonly row: number;
  /** In a workbook, its row in the sheet, as spreadsheet programs count. */
  readonly sheetRow?: number;
  /** The line in which it begins, if it has too many cells. */
  readonly line?: number;
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

/** The domain of a row. A cell that may belong to another column is not even read. */
export function domainOf(row: ScannedRow, readDomain: DomainReader): NormalizedDomain {
  return row.shiftedInLine === undefined ? readDomain(row.cell) : invalidDomain('too_many_cells');
}

/** @param row its position among the rows */
export function placeOf(
  { sheetRow, shiftedInLine: line }: ScannedRow,
  row: number,
): Pick<InvalidRow, 'row' | 'sheetRow' | 'line'> {
  return { row, ...(sheetRow !== undefined && { sheetRow }), ...(line !== undefined && { line }) };
}
