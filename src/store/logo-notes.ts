import type { Database } from 'lmdb';
import { keyOf } from './tables.ts';
import { createCommitBatches } from './told-writes.ts';

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
    COMMIT_DELAY_MS,
  );
  return {
    find: (domain) => findLogoNote(table, key(domain)),
    put: (domain, note) => batches.add({ at: key(domain), note }),
  };
}

/** Notes that arrive within this time share a commit. */
const COMMIT_DELAY_MS = 10;

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
