import type { PreviewColumn } from '../app/contract.ts';

/**
 * The order in which a table of the page shows columns: the address, what is new, the list's other
 * columns, then what is about the row. Files keep their own order; here, what somebody waits for would
 * be far to the right.
 *
 * @returns positions of columns
 */
export function viewOrder(
  columns: readonly Pick<PreviewColumn, 'kind'>[],
  domainColumn: number | undefined,
): readonly number[] {
  const rankOf = (at: number): number =>
    at === domainColumn ? 0 : RANKS[columns[at]?.kind ?? 'own'];
  return columns.map((_, at) => at).sort((one, other) => rankOf(one) - rankOf(other));
}

const RANKS: Readonly<Record<PreviewColumn['kind'], number>> = {
  added: 1,
  filled: 1,
  own: 2,
  note: 3,
};
