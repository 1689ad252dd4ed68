import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { freeBytes } from '../common/files.ts';

// Why a store cannot be used, and what to do.

export const ELSEWHERE = "choose another folder with option 'store'";
export const RESTORE = `put a copy of the folder in its place, or ${ELSEWHERE}`;

/** @param folder as the person named it, here and below */
export function refusal(
  folder: string,
  why: string,
  advice: string = ELSEWHERE,
  cause?: unknown,
): BrandfillError {
  const message = `Cannot open the store ${folder}: ${why}; ${advice}.`;
  return new BrandfillError('UNUSABLE_STORE', message, { cause });
}

/** Why nothing could be stored. @param isThere whether what was stored is */
export function writeError(folder: string, cause: unknown, isThere: boolean): BrandfillError {
  if (isDamage(cause)) return damageError(folder, cause);
  const isWithoutRoom = isFull(folder);
  const why = isWithoutRoom ? 'the disk is full' : describeSystemError(cause);
  const first = isWithoutRoom ? 'make room and ' : '';
  const next = isThere
    ? `What was stored is kept; ${first}run the same command again`
    : 'What was stored is gone with it: another run asks about all of it again';
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to the store ${folder}: ${why}. ${next}.`,
    { cause },
  );
}

/** The error to throw instead of one with which a read has ended. */
export function orDamage(folder: string, error: unknown): unknown {
  return isDamage(error) ? damageError(folder, error) : error;
}

/**
 * LMDB notices damage only when it comes to the damaged page. Its own errors are below this number.
 */
function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && Number(error.code) < -30_000;
}

function damageError(folder: string, cause: Error): BrandfillError {
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot use the store ${folder}: its file data.mdb is damaged (${describeSystemError(cause)}); ${RESTORE}.`,
    { cause },
  );
}

/** Less than this is soon used up, and LMDB cannot report that. */
const LEAST_FREE_BYTES = 4 * 1024 * 1024;

/** Whether the disk of a folder is full. */
export function isFull(folder: string): boolean {
  try {
    return freeBytes(folder) < LEAST_FREE_BYTES;
  } catch {
    return false; // the folder was removed, which is reported elsewhere
  }
}
