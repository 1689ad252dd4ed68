import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describeSystemError, systemErrorCode } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { redactDeep, withoutCredentials } from '../common/secrets.ts';
import type { Environment, OnFinish } from '../options/job-file.ts';
import { describeSummary } from '../watch/describe.ts';
import { findNothing, type Summary } from '../watch/summary.ts';

/** How a run of a job ended. */
export interface FinishedRun {
  /** The name of the job file without its folder and ending. */
  readonly job: string;
  /** The path of the job file; the command runs in its folder. */
  readonly file: string;
  /** The id of the run in logs, if it has one. */
  readonly runId?: string | undefined;
  readonly exitCode: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Missing when there is an error. */
  readonly summary?: Summary | undefined;
  /** What went wrong, for people. */
  readonly error?: string | undefined;
}

export interface NotifyContext {
  /** The command gets all of it but what holds a credential. */
  readonly env: Environment;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
  /** Called with a sentence when the command failed. */
  readonly onNotice: (message: string) => void;
  /** Fires when the run, or the command, is interrupted: the command then has another 30 s. */
  readonly signal?: AbortSignal | undefined;
}

/** Long, because a command may well send a file somewhere. */
const TIMEOUT_MS = 10 * 60_000;
/** With the end of the run less than a minute, the time that senders of signals are advised to wait. */
const INTERRUPTED_MS = 30_000;
/** From the signal to end to the one that cannot be refused. */
const SHUTDOWN_MS = 2_000;

/**
 * Runs the command of a run that is over: a text through the shell, a list as a program with its
 * arguments. It gets the report on standard input and in variables; what it prints goes to standard
 * error. Never throws: a failure becomes a notice, without the command, which may hold a secret.
 */
export async function notify(
  { command, timeout = TIMEOUT_MS }: OnFinish,
  run: FinishedRun,
  { env, redact, onNotice, signal }: NotifyContext,
): Promise<void> {
  const report = redactDeep(createReport(run), redact);
  const ending = new AbortController();
  let late: NodeJS.Timeout | undefined;
  const endIn = (ms: number): void => {
    clearTimeout(late);
    const why = `it took longer than ${formatDuration(ms)} and was ended`;
    late = setTimeout(() => ending.abort(why), ms);
  };
  endIn(signal?.aborted ? Math.min(timeout, INTERRUPTED_MS) : timeout);
  const interrupted = (): void => endIn(INTERRUPTED_MS);
  signal?.addEventListener('abort', interrupted, { once: true });
  try {
    const [file = '', ...args] = typeof command === 'string' ? [command] : command;
    const child = spawn(file, args, {
      cwd: dirname(run.file),
      env: { ...withoutCredentials(env), ...variablesOf(report) },
      shell: typeof command === 'string',
      stdio: ['pipe', 2, 2], // by number: in a worker thread, process.stderr is no file
      detached: HAS_GROUPS, // a group of its own, so that it can be ended as one
      windowsHide: true,
    });
    child.stdin?.on('error', () => {}); // it need not read its input
    child.stdin?.end(`${JSON.stringify(report)}\n`);
    const why = await endOf(child, ending.signal);
    if (why !== undefined) throw new Error(why);
  } catch (error) {
    onNotice(`The command of onFinish failed: ${explain(error)}. The run itself is not affected.`);
  } finally {
    clearTimeout(late);
    signal?.removeEventListener('abort', interrupted);
  }
}

const HAS_GROUPS = process.platform !== 'win32';

/** Waits for a command; gives what was wrong. Once told to, ends it with all that it started. */
async function endOf(child: ChildProcess, ending: AbortSignal): Promise<string | undefined> {
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (HAS_GROUPS && child.pid !== undefined) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // All have ended.
    }
  };
  const killAtExit = (): void => kill('SIGTERM');
  process.once('exit', killAtExit);
  let killed: Promise<void> | undefined;
  ending.addEventListener('abort', () => {
    kill('SIGTERM');
    killed = delay(SHUTDOWN_MS).then(() => kill('SIGKILL'));
  });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    await killed; // the shell may end before what it started
    if (ending.aborted) return String(ending.reason);
    return code === 0 ? undefined : `it ended with ${signal ?? `exit code ${code}`}`;
  } finally {
    process.off('exit', killAtExit);
  }
}

/** The messages of Node.js repeat the whole command. */
function explain(error: unknown): string {
  if (systemErrorCode(error) === 'ERR_INVALID_ARG_VALUE') {
    return 'it, or a variable that it would get, holds a NUL character, which no command can take; leave the character out';
  }
  if (error instanceof Error && 'syscall' in error) return describeSystemError(error);
  return error instanceof Error ? error.message : String(error);
}

/** The summary as `--json` has it, and further members for the receiver. */
export type FinishReport = Partial<Summary> & {
  readonly job: string;
  readonly file: string;
  readonly exitCode: number;
  /** In ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** All of it for people; chats show this as the message. */
  readonly text: string;
  readonly error?: string;
};

/** Makes the report of a run. Paths are absolute, because the reader may be in another folder. */
function createReport(run: FinishedRun): FinishReport {
  const { job, runId, exitCode, error } = run;
  const summary = run.summary && withAbsolutePaths(run.summary);
  const lines = summary ? describeSummary(summary) : [error ?? 'It failed.'];
  return {
    job,
    file: resolve(run.file),
    exitCode,
    startedAt: run.startedAt.toISOString(),
    finishedAt: run.finishedAt.toISOString(),
    text: [`brandfill ${job}: ${describeExit(exitCode, summary)}`, ...lines].join('\n'),
    ...(runId === undefined ? {} : { runId }),
    ...summary,
    ...(error === undefined ? {} : { error }),
  };
}

function withAbsolutePaths(summary: Summary): Summary {
  const { out, failures, changes, logos, store, reports } = summary;
  const absolute = (path: string): string => (path === '-' ? path : resolve(path));
  return {
    ...summary,
    ...(out !== undefined && { out: absolute(out) }),
    ...(failures !== undefined && { failures: absolute(failures) }),
    ...(changes && { changes: { ...changes, file: absolute(changes.file) } }),
    ...(logos && { logos: { ...logos, folder: absolute(logos.folder) } }),
    ...(reports && { reports: reports.map(absolute) }),
    store: { ...store, folder: absolute(store.folder) },
  };
}

/**
 * Variables for scripts without a JSON parser. Those that do not apply are undefined, which takes
 * them out of the environment: the run may itself be the command of another run.
 */
function variablesOf(report: FinishReport): NodeJS.ProcessEnv {
  const values = {
    JOB: report.job,
    JOB_FILE: report.file,
    EXIT_CODE: report.exitCode,
    ROWS: report.rows,
    FOUND: report.statuses?.found,
    FAILED: report.statuses?.failed,
    CALLS: report.calls,
    OUT: report.out,
    FAILURES: report.failures,
    ERROR: report.error,
  };
  const named = Object.entries(values).map(([name, value]) => [
    `BRANDFILL_${name}`,
    value === undefined ? undefined : String(value),
  ]);
  return Object.fromEntries(named) as NodeJS.ProcessEnv;
}

function describeExit(exitCode: number, summary: Summary | undefined): string {
  if (exitCode === 3 && summary && findNothing(summary)) return 'done, but nothing was found';
  return EXITS[exitCode] ?? `ended with exit code ${exitCode}`;
}

const EXITS: Readonly<Record<number, string>> = {
  0: 'done',
  1: 'failed unexpectedly',
  2: 'could not be run',
  3: 'done, some rows failed',
  4: 'stopped early',
  130: 'interrupted',
};
