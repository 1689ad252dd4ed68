import { closeSync, fstatSync, openSync, utimesSync } from 'node:fs';

/** Work that is repeated until it is closed, such as a sign of life. */
export interface Heartbeat {
  /** Settles as the first beat does. Need not be awaited. */
  readonly first: Promise<void>;
  readonly close: () => void;
}

/**
 * Repeats work at an interval, beginning now. A beat waits for the one before it: while Redis is
 * away, commands wait for it in memory, and would be more with every beat.
 *
 * @param onFailed called with why a beat failed; the next one tries again. @default not told
 */
export function startHeartbeat(
  everyMs: number,
  beat: () => Promise<unknown>,
  onFailed: (error: unknown) => void = () => {},
): Heartbeat {
  let isBeating = false;

  async function next(): Promise<void> {
    isBeating = true;
    try {
      await beat();
    } finally {
      isBeating = false;
    }
  }

  const first = next();
  first.catch(onFailed);
  const timer = setInterval(() => {
    if (!isBeating) next().catch(onFailed);
  }, everyMs);
  return { first, close: () => clearInterval(timer) };
}

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
