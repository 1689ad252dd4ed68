import { closeSync, fstatSync, openSync, utimesSync } from 'node:fs';

/** Gives a sign of life by setting the time of a file. */
export function beat(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // The next beat will do.
  }
}

/**
 * When the last sign of life was given, by any clock; 0 when there is none. The file is opened,
 * because network file systems may answer a plain query for the time from a cache.
 */
export function lastBeat(path: string): number {
  try {
    const handle = openSync(path, 'r');
    try {
      return fstatSync(handle).mtimeMs;
    } finally {
      closeSync(handle);
    }
  } catch {
    return 0;
  }
}
