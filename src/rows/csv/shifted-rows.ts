import { evidenceOf } from '../columns/column-evidence.ts';

export interface ShiftOptions {
  /** The first rows, as cells. */
  readonly sampleRows: readonly (readonly string[])[];
  /** The number of cells that the header has; undefined without a header. */
  readonly headerFields: number | undefined;
  /** The place of the column whose cells must not come from another column. */
  readonly domainIndex: number;
}

/**
 * Tells the rows whose domain may be the cell of another column: those with more cells than the
 * header. A delimiter within a text was not quoted, and moved all cells behind it. Rows of well-formed
 * CSV are as long as their header, or shorter where blank cells at the end were left out.
 *
 * Nothing can have moved into the first column. Blank cells at the end are no sign of a shift if
 * most rows have them, or if no column before that of the domain holds addresses.
 */
export function createShiftFinder({
  sampleRows,
  headerFields,
  domainIndex,
}: ShiftOptions): (cells: readonly string[]) => boolean {
  if (domainIndex <= 0) return () => false;
  const usual = usualFields(sampleRows);
  const fields = headerFields ?? usual ?? Number.POSITIVE_INFINITY;
  let canMistake: boolean | undefined;
  return (cells) => {
    if (cells.length <= fields) return false;
    if (cells.slice(fields).some((cell) => cell.trim() !== '')) return true;
    if (cells.length <= (usual ?? fields)) return false;
    canMistake ??= holdAddresses(sampleRows, domainIndex);
    return canMistake;
  };
}

/** The number of cells that more than half of the rows have. */
function usualFields(rows: readonly (readonly string[])[]): number | undefined {
  const counts = new Map<number, number>();
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  return [...counts].find(([, count]) => count * 2 > rows.length)?.[0];
}

function holdAddresses(rows: readonly (readonly string[])[], columns: number): boolean {
  return Array.from({ length: columns }, (_, at) => rows.map((row) => row[at] ?? '')).some(
    (cells) => evidenceOf(cells).domains > 0,
  );
}
