/**
 * The sandbox's counts for one domain. Calls that are in no other count were refused, abandoned or
 * are still open.
 */
export interface DomainCalls {
  /** All calls that named it. */
  calls: number;
  /** Calls with a final answer: a later call for the domain is a duplicate. */
  answered: number;
  /** Calls that ended in a server fault, a timeout status, or an unusable answer: a reason to call again. */
  faulted: number;
  /** Calls answered 429. */
  throttled: number;
}

/** The counts that are kept, in the order of a domain's cells. `admitted` calls passed every check. */
const columns = { calls: 0, admitted: 1, answered: 2, faulted: 3, throttled: 4 } as const;
const WIDTH = 5;

/** Counts for millions of domains: one map entry and twenty bytes each. */
export class DomainCounts {
  readonly #rows = new Map<string, number>();
  #cells: Uint32Array = new Uint32Array(WIDTH * 1024);

  get size(): number {
    return this.#rows.size;
  }

  /** Add one to a count and return it. */
  add(domain: string, column: keyof typeof columns): number {
    const cell = this.#rowOf(domain) * WIDTH + columns[column];
    const count = (this.#cells[cell] ?? 0) + 1;
    this.#cells[cell] = count;
    return count;
  }

  of(domain: string): DomainCalls {
    const row = this.#rows.get(domain);
    const cell = (column: keyof typeof columns): number =>
      row === undefined ? 0 : (this.#cells[row * WIDTH + columns[column]] ?? 0);
    return {
      calls: cell('calls'),
      answered: cell('answered'),
      faulted: cell('faulted'),
      throttled: cell('throttled'),
    };
  }

  /** The domains in the order of their first call. */
  domains(): IterableIterator<string> {
    return this.#rows.keys();
  }

  clear(): void {
    this.#rows.clear();
    this.#cells = new Uint32Array(WIDTH * 1024);
  }

  #rowOf(domain: string): number {
    const known = this.#rows.get(domain);
    if (known !== undefined) return known;
    const row = this.#rows.size;
    this.#rows.set(domain, row);
    if ((row + 1) * WIDTH > this.#cells.length) this.#grow();
    return row;
  }

  #grow(): void {
    const cells = new Uint32Array(this.#cells.length * 2);
    cells.set(this.#cells);
    this.#cells = cells;
  }
}
