import type { PreviewColumn } from '../app/contract.ts';

/**
 * The order in which a table of the page shows columns: the address, what is new, then the rest.
 * Files keep their own order; here, what somebody waits for would be far to the right.
 *
 * @returns positions of columns
 */
export function viewOrder(
  columns: readonly Pick<PreviewColumn, 'kind'>[],
  domainColumn: number | undefined,
): readonly number[] {
  const rankOf = (at: number): number =>
    at === domainColumn ? 0 : columns[at]?.kind === 'own' ? 2 : 1;
  return columns.map((_, at) => at).sort((one, other) => rankOf(one) - rankOf(other));
}
