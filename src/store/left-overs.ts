import type { Database } from 'lmdb';
import type { OutcomeHead } from './outcome-codec.ts';
import { keyOf, keysOf } from './tables.ts';

/**
 * Domains that a run did not get to, because it was stopped or had no calls left. They go first in
 * the next run.
 */
export interface LeftOvers {
  /**
   * The times since when domains have been left over, in milliseconds since 1970, earliest first.
   */
  times(): readonly number[];
  /** Since when a domain has been left over; undefined when it is not, or was asked since. */
  sinceOf(domain: string): number | undefined;
  /** Whether a domain is noted, even if it was asked since. */
  has(domain: string): boolean;
  /**
   * Notes domains as left over since `sinceMs`. Domains that are left over already keep their time.
   */
  add(domains: readonly string[], sinceMs: number): Promise<void>;
  /** Removes domains that were asked. */
  remove(domains: readonly string[]): Promise<void>;
}

export interface LeftOversOptions {
  /** Since when each domain has been left over, by endpoint and domain. */
  readonly table: Database<number, string>;
  readonly endpointId: string;
  readonly findHead: (domain: string) => OutcomeHead | undefined;
  /** Makes a change under the store's lock, and turns its errors into messages for users. */
  readonly write: (commit: () => Promise<unknown>) => Promise<unknown>;
}

/** Stores the left-over domains of one endpoint. */
export function createLeftOvers(options: LeftOversOptions): LeftOvers {
  const { table, endpointId, findHead, write } = options;
  const key = (domain: string): string => keyOf(endpointId, domain);

  // Another run may have asked it meanwhile, or one that was killed before it could remove it here.
  function sinceOf(domain: string): number | undefined {
    const sinceMs = table.get(key(domain));
    if (sinceMs === undefined) return undefined;
    return (findHead(domain)?.fetchedAtMs ?? 0) >= sinceMs ? undefined : sinceMs;
  }

  return {
    times: () => {
      const times = new Set<number>();
      for (const { value } of table.getRange(keysOf(endpointId))) times.add(value);
      return [...times].sort((one, other) => one - other);
    },
    sinceOf,
    has: (domain) => table.doesExist(key(domain)),
    add: async (domains, sinceMs) => {
      const fresh = domains.filter((domain) => sinceOf(domain) === undefined);
      await write(() => Promise.all(fresh.map((domain) => table.put(key(domain), sinceMs))));
    },
    remove: async (domains) => {
      const known = domains.filter((domain) => table.doesExist(key(domain)));
      await write(() => Promise.all(known.map((domain) => table.remove(key(domain)))));
    },
  };
}

/** For a store that keeps nothing. */
export const NO_LEFT_OVERS: LeftOvers = {
  times: () => [],
  sinceOf: () => undefined,
  has: () => false,
  add: async () => {},
  remove: async () => {},
};
