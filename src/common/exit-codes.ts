import { BrandfillError, describeSystemError, systemErrorCode } from './errors.ts';

/** The exit codes of commands. */
export const EXIT = {
  /** All went well, and no row failed. */
  ok: 0,
  /** An unexpected error. */
  unexpected: 1,
  /** A wrong option, or an input or output that cannot be used. No output was changed. */
  usage: 2,
  /**
   * Done, but some rows failed, are pending, kept an older answer or lost their outcomes on the way,
   * or nothing was found.
   */
  someFailed: 3,
  /** Stopped early. The same command goes on. */
  stopped: 4,
  /** Interrupted. The same command goes on. */
  interrupted: 130,
} as const;

/** Whether a run completed all rows, even if some failed. */
export function isDone(exitCode: number): boolean {
  return exitCode === EXIT.ok || exitCode === EXIT.someFailed;
}

/** The exit code of something that ended in an error. */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof BrandfillError) {
    return error.code === 'COUNTS_DIFFER' ? EXIT.unexpected : EXIT.usage;
  }
  const name = error instanceof Error ? error.name : '';
  if (name === 'SandboxError' || isOutOfFiles(error)) return EXIT.usage;
  return name === 'AbortError' ? EXIT.interrupted : EXIT.unexpected;
}

/** Explains an error for people. A defect is described by its message alone. */
export function describeError(error: unknown): string {
  if (exitCodeOfError(error) === EXIT.interrupted) {
    return 'Ended before the first call; nothing was changed.';
  }
  if (isOutOfFiles(error)) {
    return `Cannot go on: ${describeSystemError(error)}. Allow this process some more (ulimit -n) or close others, and run the same command again.`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Node.js opens the parts of a program as they are needed, so this can come from anywhere. */
function isOutOfFiles(error: unknown): boolean {
  return /^(EMFILE|ENFILE)$/.test(systemErrorCode(error) ?? '');
}
