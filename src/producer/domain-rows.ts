import { createHashTable } from './hash-table.ts';

/**
 * How many rows have a domain. Only domains that come more than once take memory, 17 to 34 bytes
 * each.
 */
export interface DomainRows {
  /** Another row has this domain. */
  again(domain: string): void;
  /** The number of rows with this domain. */
  rowsOf(domain: string): number;
}

export function createDomainRows(): DomainRows {
  const repeats = createHashTable({ withCounts: true });
  return {
    again: (domain) => void repeats.add(domain),
    rowsOf: (domain) => 1 + repeats.countOf(domain),
  };
}
