import { createHashTable } from './hash-table.ts';

/** How many rows have a domain; takes room only for those that come more than once, 12 bytes each. */
export interface DomainRows {
  /** A further row has this domain. */
  again(domain: string): void;
  /** Rows that have it. */
  rowsOf(domain: string): number;
}

export function createDomainRows(): DomainRows {
  const repeats = createHashTable({ withCounts: true });
  return {
    again: (domain) => void repeats.add(domain),
    rowsOf: (domain) => 1 + repeats.countOf(domain),
  };
}
