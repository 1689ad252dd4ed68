import type { Database } from 'lmdb';
import type { OutcomeHead } from './outcome-codec.ts';
import { keyOf, keysOf } from './tables.ts';

/**
 * Domains that a run was to look up and did not come to, because it was stopped or had no calls
 * left. They are first in line in the next run.
 */
export interface LeftOvers {
  /** When domains were first left over, in milliseconds since 1970, the earliest first. */
  times(): readonly number[];
  /** Since when a domain has been left over; undefined when it is not, or was asked about since. */
  sinceOf(domain: string): number | undefined;
  /** Notes domains as left over since then; those that are so already keep their place in the line. */
  add(domains: readonly string[], sinceMs: number): Promise<void>;
  /** Takes domains out that were asked about. */
  remove(domains: readonly string[]): Promise<void>;
}

export interface LeftOversOptions {
  /** Since when each has been left over, by endpoint and domain. */
  readonly table: Database<number, string>;
  readonly endpointId: string;
  readonly findHead: (domain: string) => OutcomeHead | undefined;
  /** Makes a change and says what went wrong with it. */
  readonly write: (commit: () => Promise<unknown>) => Promise<unknown>;
}

/** Keeps the domains that are left over for one endpoint. */
export function createLeftOvers(options: LeftOversOptions): LeftOvers {
  const { table, endpointId, findHead, write } = options;
  const key = (domain: string): string => keyOf(endpointId, domain);

  // Another run may have asked about it meanwhile, or one that was killed before it could say so.
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

/** Nothing is left over where nothing is kept. */
export const NO_LEFT_OVERS: LeftOvers = {
  times: () => [],
  sinceOf: () => undefined,
  add: async () => {},
  remove: async () => {},
};
