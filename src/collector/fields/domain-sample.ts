import { hashText } from '../../common/hash-text.ts';

/** Some of the domains of a list, each with how many rows have it. */
export interface DomainSample {
  /** To be called for each row that has a domain. */
  add(domain: string): void;
  readonly rowsByDomain: ReadonlyMap<string, number>;
}

const SEED = 3;

/**
 * Takes a sample whose size does not grow with the list. A domain is in it by its hash, so that a list
 * that is nearly the same has nearly the same sample, whatever its order.
 *
 * @param most domains in it, at least half of them where the list has more
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
