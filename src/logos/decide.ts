import { createHash } from 'node:crypto';
import type { LogoNote } from '../store/logo-notes.ts';
import { isHostTrouble } from './host-turns.ts';

/** What to do about the logo of a domain. */
export type Decision =
  /** The picture is there. */
  | 'keep'
  /** It could not be had a while ago, and there is no use in asking again so soon. */
  | 'leave'
  /** It could not be had, for a reason that may be gone: after all that were never asked for. */
  | 'fetch_again'
  | 'fetch';

export interface Known {
  readonly url: URL;
  readonly note: LogoNote | undefined;
  /** Whether the picture of the note lies in the folder. */
  readonly isThere: boolean;
}

export interface Circumstances {
  /** When this run began to look after logos, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time of this run, in milliseconds since 1970. */
  now(): number;
  /** Whether all are to be fetched again. */
  readonly refresh: boolean;
  /** How long it counts that a picture could not be had, in milliseconds. */
  readonly missingCountsMs: number;
  readonly maxBytes: number;
}

/** Decides from what is known of a logo. */
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
  // Dated in the future, its clock was wrong by as much.
  return Math.abs(startedAtMs - atMs) < missingCountsMs ? 'leave' : 'fetch';
}

/** It may be mended by tomorrow. */
const SERVER_FAULT = /^http_(?:408|5\d\d)$/;

/** Reasons why a picture was not asked for at all. */
export const UNTRIED: ReadonlySet<string> = new Set(['not_asked', 'host_out']);

/** Tells a URL from all others, and is short. */
export function markOf(url: URL): string {
  return createHash('sha256').update(url.href).digest('base64url').slice(0, 16);
}

/** Tells what was tried: with a larger bound the same URL is another try. */
export function triedMarkOf(url: URL, maxBytes: number): string {
  return `${markOf(url)}:${maxBytes}`;
}
