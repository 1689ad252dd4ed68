import { createHash } from 'node:crypto';
import type { LogoNote } from '../store/logo-notes.ts';
import { isHostTrouble } from './host-turns.ts';

/** How to treat the logo of a domain. */
export type Decision =
  /** The picture is there. */
  | 'keep'
  /** The picture could not be fetched a while ago, and it is too early to ask again. */
  | 'leave'
  /**
   * The picture could not be fetched, for a reason that may be gone: it comes after all that were
   * never asked for.
   */
  | 'fetch_again'
  | 'fetch';

export interface Known {
  readonly url: URL;
  readonly note: LogoNote | undefined;
  /** Whether the picture of the note is in the folder. */
  readonly isThere: boolean;
}

export interface Circumstances {
  /** When this run began to save logos, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time of this run, in milliseconds since 1970. */
  now(): number;
  /** Whether all pictures are to be fetched again. */
  readonly refresh: boolean;
  /** How long a note of a missing picture counts, in milliseconds. */
  readonly missingCountsMs: number;
  readonly maxBytes: number;
}

/** Decides from the known facts of a logo. */
export function decide({ url, note, isThere }: Known, circumstances: Circumstances): Decision {
  const { startedAtMs, refresh, missingCountsMs, maxBytes } = circumstances;
  const { saved, missing, atMs = 0 } = note ?? {};
  const isOfThisRun = atMs >= startedAtMs && atMs <= circumstances.now();
  if (refresh && !isOfThisRun) return 'fetch';
  if (isThere && saved?.mark === markOf(url)) return 'keep';
  if (missing?.mark !== triedMarkOf(url, maxBytes)) return 'fetch';
  if (isOfThisRun) return 'leave';
  if (isHostTrouble(missing.reason) || SERVER_FAULT.test(missing.reason)) return 'fetch_again';
  // A private address may have been allowed since.
  if (UNTRIED.has(missing.reason) || missing.reason === 'private_address') return 'fetch';
  // A note from the future was dated by a clock that was wrong by at least as much.
  return Math.abs(startedAtMs - atMs) < missingCountsMs ? 'leave' : 'fetch';
}

/** Faults that may be gone by tomorrow. */
const SERVER_FAULT = /^http_(?:408|5\d\d)$/;

/** Reasons why a picture was not asked for at all. */
export const UNTRIED: ReadonlySet<string> = new Set(['not_asked', 'host_out']);

/** Identifies a URL briefly. */
export function markOf(url: URL): string {
  return createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
}

/** Identifies what was tried: with a larger size limit, the same URL is another try. */
export function triedMarkOf(url: URL, maxBytes: number): string {
  return `${markOf(url)}:${maxBytes}`;
}
