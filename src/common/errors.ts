import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { isNativeError } from 'node:util/types';

/**
 * The kind of an error, for programs: `INVALID_SETTING` (an option is impossible or missing),
 * `UNREADABLE_INPUT`, `UNWRITABLE_OUTPUT`, `UNUSABLE_STORE`, `STORE_IN_USE` (by another process),
 * `UNUSABLE_QUEUE`, and `COUNTS_DIFFER` (a defect of ours: rows in and rows out do not add up).
 */
export type BrandfillErrorCode =
  | 'INVALID_SETTING'
  | 'UNREADABLE_INPUT'
  | 'UNWRITABLE_OUTPUT'
  | 'UNUSABLE_STORE'
  | 'STORE_IN_USE'
  | 'UNUSABLE_QUEUE'
  | 'COUNTS_DIFFER';

/**
 * An error whose message is meant for the person who runs Brandfill: one sentence that says what
 * happened, where, and what to do. It never holds a credential or a whole record.
 */
export class BrandfillError extends Error {
  override readonly name = 'BrandfillError';
  readonly code: BrandfillErrorCode;

  constructor(code: BrandfillErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error of an option, or of what an option names, that is impossible or missing. */
export function refusal(message: string, cause?: unknown): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message, cause === undefined ? {} : { cause });
}

/**
 * Adds a full stop to a sentence that may have further lines below it, such as a position in a
 * file.
 */
export function endSentence(message: string): string {
  const [sentence = '', ...below] = message.split('\n');
  return [/[.?!]$/.test(sentence) ? sentence : `${sentence}.`, ...below].join('\n');
}

/**
 * The `code` of a Node.js system error (`ENOENT`, `ENOSPC`, …), if `error` is one. In tests that
 * run in a context of their own, as with Jest, it is not an instance of their `Error`.
 */
export function systemErrorCode(error: unknown): string | undefined {
  if (!isNativeError(error) || !('code' in error)) return undefined;
  const { code } = error;
  // LMDB gives the system's number of an error.
  if (typeof code === 'number') return getSystemErrorMap().get(-code)?.[0];
  return typeof code === 'string' ? code : undefined;
}

/** Explains why the file system refused, for messages of readers and writers. */
export function describeSystemError(error: unknown): string {
  const explained = REFUSALS[systemErrorCode(error) ?? ''];
  return explained ?? (isNativeError(error) ? error.message : String(error));
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EEXIST: 'there is a file of that name',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
  EFBIG: 'the file would be larger than a file may be here (see ulimit -f)',
  // LMDB reports so, too, that only a part was written.
  EIO: 'the disk reports an error, or a limit is reached (ulimit -f, a quota)',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  ENXIO: 'nobody reads this pipe; start its reader first',
  EPIPE: 'whoever read it has closed it',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the name is too long',
};

/** The error when standard output, or its destination, did not accept everything. */
export function unwritableStandardOutput(error: Error): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write to standard output: ${describeSystemError(error)}.`,
    { cause: error },
  );
}

/** Explains why a file cannot be written, and what to do if its folder is missing. */
export function describeUnwritable(path: string, error: unknown): string {
  const folder = dirname(path);
  return systemErrorCode(error) === 'ENOENT' && !existsSync(folder)
    ? `there is no folder ${folder}; make it first`
    : describeSystemError(error);
}

/**
 * Called with notices worth a line in a log, each in a sentence, and with facts for programs:
 * `info` is for normal events, `warn`, the default, for what may need attention.
 */
export type OnNotice = (
  message: string,
  facts?: { readonly level?: 'info' | 'warn' } & Readonly<Record<string, unknown>>,
) => void;

/** The exit codes of commands. */
export const EXIT = {
  /** All went well, and no row failed. */
  ok: 0,
  /** An unexpected error. */
  unexpected: 1,
  /** A wrong option, or an input or output that cannot be used. No output was changed. */
  usage: 2,
  /**
   * Done, but some rows failed, are pending, kept an older answer or lost their outcomes on the
   * way, or nothing was found.
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
  if (isOutOfFiles(error)) return EXIT.usage;
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
