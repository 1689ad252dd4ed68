import { createHashTable } from './hash-table.ts';

/** Counts distinct strings in 11 to 23 bytes each, whatever their length. */
export interface DistinctCounter {
  /** Whether the string is new. */
  add(text: string): boolean;
  readonly count: number;
}

export function createDistinctCounter(): DistinctCounter {
  const table = createHashTable();
  return {
    add: (text) => table.add(text),
    get count() {
      return table.size;
    },
  };
}
