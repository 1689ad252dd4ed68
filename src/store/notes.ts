import type { Database } from 'lmdb';
import type { OutcomeHead } from './entries.ts';
import { keyOf, keysOf } from './tables.ts';
import { createCommitBatches } from './writes.ts';

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

/** The note on the logo of a domain. */
export interface LogoNote {
  /** The picture in the folder of logos; undefined when there is none. */
  readonly saved?: SavedLogo | undefined;
  /** Why the picture that was last asked for could not be fetched; undefined when it was. */
  readonly missing?: MissingLogo | undefined;
  /** When this was found out, in milliseconds since 1970. */
  readonly atMs: number;
}

export interface SavedLogo {
  /** The name of its file. */
  readonly file: string;
  readonly sizeBytes: number;
  /** Identifies the URL of the picture. */
  readonly mark: string;
}

export interface MissingLogo {
  /** A word such as `http_404`. */
  readonly reason: string;
  /** Identifies the URL and how it was asked for. */
  readonly mark: string;
}

/** Notes on the logos of one API. */
export interface LogoNotes {
  /** Undefined when there is no note, or it is malformed. */
  find(domain: string): LogoNote | undefined;
  /** Stores a note in place of an earlier one. Resolves when it is committed. */
  put(domain: string, note: LogoNote): Promise<void>;
}

export interface LogoNotesOptions {
  /** Notes, by endpoint and domain. */
  readonly table: Database<unknown, string>;
  readonly endpointId: string;
  /** Makes a change under the store's lock, and turns its errors into messages for users. */
  readonly write: (commit: () => Promise<unknown>) => Promise<unknown>;
}

export function createLogoNotes({ table, endpointId, write }: LogoNotesOptions): LogoNotes {
  const key = (domain: string): string => keyOf(endpointId, domain);
  // At the end of an interrupted run, all that is left gets its notes at once.
  const batches = createCommitBatches<{ readonly at: string; readonly note: LogoNote }>(
    async (batch) => {
      await write(() => Promise.all(batch.map(({ at, note }) => table.put(at, note))));
    },
  );
  return {
    find: (domain) => findLogoNote(table, key(domain)),
    put: (domain, note) => batches.add({ at: key(domain), note }),
  };
}

/** For a store that keeps nothing. */
export const NO_LOGO_NOTES: LogoNotes = { find: () => undefined, put: async () => {} };

/** The note under a key of the table; undefined when there is none, or it is malformed. */
export function findLogoNote(table: Database<unknown, string>, key: string): LogoNote | undefined {
  const value = read(table, key);
  if (typeof value !== 'object' || value === null) return undefined;
  const { saved, missing, atMs } = value as Partial<LogoNote>;
  if (typeof atMs !== 'number') return undefined;
  return {
    saved: typeof saved?.file === 'string' ? saved : undefined,
    missing: typeof missing?.reason === 'string' ? missing : undefined,
    atMs,
  };
}

function read(table: Database<unknown, string>, key: string): unknown {
  try {
    return table.get(key);
  } catch {
    return undefined; // invalid JSON: a picture can be fetched again
  }
}
