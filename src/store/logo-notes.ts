import type { Database } from 'lmdb';
import { keyOf } from './tables.ts';

/** What is known of the logo of a domain. */
export interface LogoNote {
  /** The picture in the folder of logos; undefined when there is none. */
  readonly saved?: SavedLogo | undefined;
  /** Why the picture that was asked for last could not be had; undefined when it could. */
  readonly missing?: MissingLogo | undefined;
  /** When that was found out, in milliseconds since 1970. */
  readonly atMs: number;
}

export interface SavedLogo {
  /** The name of its file. */
  readonly file: string;
  readonly sizeBytes: number;
  /** Tells the URL that it is from. */
  readonly mark: string;
}

export interface MissingLogo {
  /** A word such as `http_404`. */
  readonly reason: string;
  /** Tells the URL, and how it was asked for. */
  readonly mark: string;
}

/** What is known of the logos of one API. */
export interface LogoNotes {
  /** Undefined when nothing is known, or nonsense. */
  find(domain: string): LogoNote | undefined;
  /** Keeps a note in place of the one before; resolves when it is committed. */
  put(domain: string, note: LogoNote): Promise<void>;
}

export interface LogoNotesOptions {
  /** By endpoint and domain. */
  readonly table: Database<unknown, string>;
  readonly endpointId: string;
  /** Makes a change and says what went wrong with it. */
  readonly write: (commit: () => Promise<unknown>) => Promise<unknown>;
}

export function createLogoNotes({ table, endpointId, write }: LogoNotesOptions): LogoNotes {
  const key = (domain: string): string => keyOf(endpointId, domain);
  return {
    find: (domain) => findLogoNote(table, key(domain)),
    put: async (domain, note) => {
      await write(() => table.put(key(domain), note));
    },
  };
}

/** Nothing is known where nothing is kept. */
export const NO_LOGO_NOTES: LogoNotes = { find: () => undefined, put: async () => {} };

/** The note under a key of the table; undefined when there is none, or nonsense. */
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
    return undefined; // bytes that are no JSON: a picture can be fetched again
  }
}
