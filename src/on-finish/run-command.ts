import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describeSystemError, systemErrorCode } from '../common/errors.ts';
import type { Environment } from '../job/job-file/variables.ts';
import { formatDuration } from '../job/values/duration.ts';

export interface CommandOptions {
  /** The folder that it runs in. */
  readonly cwd: string;
  readonly env: Environment;
  /** The text for its standard input. */
  readonly stdin: string;
  /** The longest that it may take; then it is ended, with everything that it started. */
  readonly timeoutMs: number;
  /** How long it may take to end after the signal to do so, in milliseconds. @default 5000 */
  readonly shutdownTimeoutMs?: number;
  /** Ends it earlier when it fires. */
  readonly hurry?: AbortSignal | undefined;
}

/** How often to check whether everything that it started has ended. */
const POLL_MS = 50;

const HAS_GROUPS = process.platform !== 'win32';

/**
 * Runs a command: a text through the shell, a list as a program with its arguments. Its output goes
 * to standard error.
 *
 * @throws Error whose message says how it ended, unless with 0. The command is not in it: it may
 * hold a secret.
 */
export async function runCommand(
  command: string | readonly string[],
  { cwd, env, stdin, timeoutMs, shutdownTimeoutMs = 5_000, hurry }: CommandOptions,
): Promise<void> {
  const [file = '', ...args] = typeof command === 'string' ? [command] : command;
  const child = start(file, args, {
    cwd,
    env,
    shell: typeof command === 'string',
    stdio: ['pipe', 2, 2], // by number: in a worker thread, process.stderr is no file
    detached: HAS_GROUPS, // a group of its own, so that it can be ended as one
    windowsHide: true,
  });
  child.stdin?.on('error', () => {}); // it need not read its input
  child.stdin?.end(stdin);
  /** Returns whether any process is left. */
  const kill = (signal: NodeJS.Signals | 0): boolean => {
    try {
      if (!HAS_GROUPS || child.pid === undefined) return child.kill(signal);
      return process.kill(-child.pid, signal);
    } catch {
      return false; // all are gone
    }
  };
  let whyEnded: string | undefined;
  let isKilled = false;
  let killing: NodeJS.Timeout | undefined;
  const end = (why: string): void => {
    if (whyEnded !== undefined) return;
    whyEnded = why;
    kill('SIGTERM');
    killing = setTimeout(() => {
      isKilled = true;
      kill('SIGKILL');
    }, shutdownTimeoutMs);
  };
  const timeout = setTimeout(
    () => end(`it took longer than ${formatDuration(timeoutMs)} and was ended`),
    timeoutMs,
  );
  const endInHurry = (): void => end('it had not ended in time after an interruption');
  if (hurry?.aborted) endInHurry();
  else hurry?.addEventListener('abort', endInHurry);
  const killAtExit = (): void => void kill('SIGTERM');
  process.once('exit', killAtExit);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    // The shell may end before the processes it started. Those are waited for, and killed, like the
    // shell.
    while (whyEnded !== undefined && !isKilled && kill(0)) await delay(POLL_MS);
    if (whyEnded !== undefined) throw new Error(whyEnded);
    if (code !== 0) throw new Error(`it ended with ${signal ?? `exit code ${code}`}`);
  } catch (error) {
    const isSystem = error instanceof Error && 'syscall' in error;
    throw isSystem ? new Error(describeSystemError(error), { cause: error }) : error;
  } finally {
    clearTimeout(timeout);
    clearTimeout(killing);
    hurry?.removeEventListener('abort', endInHurry);
    process.off('exit', killAtExit);
  }
}

/** @throws Error without the message of Node.js, which repeats the whole argument */
function start(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(file, args, options);
  } catch (error) {
    if (systemErrorCode(error) !== 'ERR_INVALID_ARG_VALUE') throw error;
    // oxlint-disable-next-line preserve-caught-error -- its message has the whole command
    throw new Error(
      'it, or a variable that it would get, holds a NUL character, which no command can take; leave the character out',
    );
  }
}
