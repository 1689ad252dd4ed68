import { BrandfillError } from './common/errors.ts';
import type { Summary } from './watch/summary.ts';

/** What the exit code says. */
export const EXIT = {
  /** All went well; no row failed. */
  ok: 0,
  /** Something that should not happen. */
  unexpected: 1,
  /** A wrong option, or an input or output that cannot be used. No output was changed. */
  usage: 2,
  /** Done, but some rows failed, or lost their outcomes on the way. */
  someFailed: 3,
  /** Stopped early; the same command goes on. */
  stopped: 4,
  /** Interrupted; the same command goes on. */
  interrupted: 130,
} as const;

/** Whether a run came to all rows, be it that some failed. */
export function isDone(exitCode: number): boolean {
  return exitCode === EXIT.ok || exitCode === EXIT.someFailed;
}

/** The exit code of a run. */
export function exitCodeOf({ stopped, statuses }: Pick<Summary, 'stopped' | 'statuses'>): number {
  if (stopped?.reason === 'interrupted') return EXIT.interrupted;
  if (stopped) return EXIT.stopped;
  // Skipped, though it did not stop: outcomes were removed from the store meanwhile.
  return statuses.failed > 0 || statuses.skipped > 0 ? EXIT.someFailed : EXIT.ok;
}

/** The exit code of something that ended in an error. */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof BrandfillError) {
    return error.code === 'COUNTS_DIFFER' ? EXIT.unexpected : EXIT.usage;
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'SandboxError') return EXIT.usage;
  return name === 'AbortError' ? EXIT.interrupted : EXIT.unexpected;
}

/** Says for people what an error means; a defect is named by its message alone. */
export function describeError(error: unknown): string {
  if (exitCodeOfError(error) === EXIT.interrupted) {
    return 'Ended before the first call; nothing was changed.';
  }
  return error instanceof Error ? error.message : String(error);
}
