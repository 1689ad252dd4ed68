import type { KeptOutcome } from '../../collector/collect.ts';

/** Lookups that an earlier run of the same list had given to workers when it was killed. */
export interface InheritedLookups {
  add(domains: readonly string[]): void;
  /**
   * The part of an outcome that counts for this run: without calls that were made before it began.
   * Undefined when the earlier run stored the outcome too and this run counts it as fresh.
   */
  shareOf(kept: KeptOutcome): KeptOutcome | undefined;
}

export interface InheritedLookupsOptions {
  /** When this run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly isFresh: (domain: string) => boolean;
}

export function createInheritedLookups({
  startedAtMs,
  isFresh,
}: InheritedLookupsOptions): InheritedLookups {
  const areFresh = new Map<string, boolean>();
  return {
    add: (domains) => {
      for (const domain of domains) areFresh.set(domain, isFresh(domain));
    },
    shareOf: (kept) => {
      const wasFresh = areFresh.get(kept.domain);
      if (wasFresh === true) return undefined;
      // Only for inherited domains: the clock of a worker may be behind.
      const isEarlier = wasFresh === false && kept.fetchedAtMs < startedAtMs;
      return isEarlier ? { ...kept, attempts: 0, throttled: 0 } : kept;
    },
  };
}
