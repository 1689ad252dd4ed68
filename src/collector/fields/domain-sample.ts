import { hashText } from '../../common/hash-text.ts';

/** Some of the domains of a list, with the number of rows of each. */
export interface DomainSample {
  /** Must be called for each row that has a domain. */
  add(domain: string): void;
  readonly rowsByDomain: ReadonlyMap<string, number>;
}

const SEED = 3;

/**
 * Takes a sample whose size does not grow with the list. Domains are chosen by their hash, so that
 * nearly the same list gives nearly the same sample, whatever its order.
 *
 * @param most the most domains in it. A longer list gives at least about half as many.
 */
export function createDomainSample(most: number): DomainSample {
  const rowsByDomain = new Map<string, number>();
  const hash = new Uint32Array(2);
  let mask = 0;

  function isIn(domain: string): boolean {
    hashText(domain, SEED, hash, 0);
    return ((hash[0] ?? 0) & mask) === 0;
  }

  return {
    add: (domain) => {
      if (mask !== 0 && !isIn(domain)) return;
      rowsByDomain.set(domain, (rowsByDomain.get(domain) ?? 0) + 1);
      while (rowsByDomain.size > most && mask < 2 ** 30) {
        mask = mask * 2 + 1;
        for (const known of rowsByDomain.keys()) if (!isIn(known)) rowsByDomain.delete(known);
      }
    },
    rowsByDomain,
  };
}
