import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import { describeSystemError } from '../../common/errors.ts';
import { formatDuration } from '../../common/format.ts';
import { redactDeep, withoutCredentials } from '../../common/secrets.ts';
import type { Environment, OnFinish } from '../../options/job-file.ts';
import { describeEnd, WITHOUT_ROWS } from '../../watch/describe.ts';
import { inBrief, type RunView } from '../../watch/run-view.ts';

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
  readonly summary?: RunView | undefined;
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
/**
 * With the end of the run less than a minute, the time that senders of signals are advised to wait.
 */
const INTERRUPTED_MS = 30_000;

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
  const report = redactDeep(reportOf(run), redact);
  const [file = '', ...args] = typeof command === 'string' ? [command] : command;
  let why: string | undefined;
  let late: NodeJS.Timeout | undefined;
  const isOver = new AbortController();
  try {
    const child = spawn(file, args, {
      cwd: dirname(run.file),
      env: { ...withoutCredentials(env), ...variablesOf(report) },
      shell: typeof command === 'string',
      stdio: ['pipe', 2, 2], // by number: in a worker thread, process.stderr is no file
      detached: true, // a group of its own, so that it can be ended as one
    });
    const endIn = (ms: number): void => {
      clearTimeout(late);
      late = setTimeout(() => {
        why = `it took longer than ${formatDuration(ms)} and was ended`;
        const isOurs = child.exitCode === null && child.signalCode === null;
        if (isOurs && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      }, ms);
    };
    endIn(signal?.aborted ? Math.min(timeout, INTERRUPTED_MS) : timeout);
    signal?.addEventListener('abort', () => endIn(INTERRUPTED_MS), { signal: isOver.signal });
    child.stdin?.on('error', () => {}); // it need not read its input
    child.stdin?.end(`${JSON.stringify(report)}\n`);
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
    if (code !== 0) why ??= `it ended with ${killedBy ?? `exit code ${code}`}`;
  } catch (error) {
    // Other messages repeat the command.
    const isOfSystem = error instanceof Error && 'syscall' in error;
    why = isOfSystem ? describeSystemError(error) : 'no command can have a NUL character in it';
  }
  isOver.abort();
  clearTimeout(late);
  if (why === undefined) return;
  onNotice(`The command of onFinish failed: ${why}. The run itself is not affected.`);
}

/** The run without its lists, and further members. Paths are absolute: its reader is elsewhere. */
function reportOf({ summary, startedAt, finishedAt, ...run }: FinishedRun) {
  const { job, error = 'It failed.' } = run;
  const [headline, ...rest] = summary ? describeEnd(summary) : [WITHOUT_ROWS, error];
  const why = summary?.why === undefined ? [] : [summary.why];
  const report = {
    ...run,
    startedAt,
    finishedAt,
    /** All of it for people; chats show this as the message. */
    text: [`brandfill ${job}: ${headline}`, ...why, ...rest].join('\n'),
    ...(summary && inBrief(summary)),
  };
  const absolute = (name: string, value: unknown): unknown => {
    if (Array.isArray(value) && name === 'reports') return value.map((path) => resolve(path));
    return PATHS.has(name) && typeof value === 'string' && value !== '-' ? resolve(value) : value;
  };
  return JSON.parse(JSON.stringify(report, absolute)) as Partial<RunView> & typeof run;
}

const PATHS: ReadonlySet<string> = new Set(['file', 'folder', 'out', 'failures']);

/**
 * Variables for scripts without a JSON parser. Those that do not apply are undefined, which takes
 * them out of the environment: the run may itself be the command of another run.
 */
function variablesOf(report: ReturnType<typeof reportOf>): NodeJS.ProcessEnv {
  const { job, file, exitCode, rows, statuses, calls, out, failures, error } = report;
  const values = { job, job_file: file, exit_code: exitCode, rows, calls, out, failures, error };
  const more = {
    found: statuses?.found,
    failed: statuses?.failed,
    changes: report.changes?.file,
  };
  return Object.fromEntries(
    Object.entries({ ...values, ...more }).map(([name, value]) => [
      `BRANDFILL_${name.toUpperCase()}`,
      value === undefined ? undefined : String(value),
    ]),
  );
}
