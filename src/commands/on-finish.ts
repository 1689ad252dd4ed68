import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pRetry from 'p-retry';
import { request } from 'undici';
import { openConnections } from '../brand/connections.ts';
import { describeNetworkError } from '../brand/network-error.ts';
import { describeSystemError, systemErrorCode } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { redactDeep, withoutCredentials } from '../common/secrets.ts';
import type { OnFinish } from '../options/job-file-keys.ts';
import type { Environment } from '../options/job-file-values.ts';
import { describeSummary } from '../watch/describe.ts';
import { findNothing, type Summary } from '../watch/summary.ts';

export interface NotifyContext {
  /** The command gets all of it but what holds a credential. */
  readonly env: Environment;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
  /** Called with a sentence when somebody could not be told. */
  readonly onNotice: (message: string) => void;
  readonly post?: Omit<PostOptions, 'hurry'>;
  /** Fires when the run, or the telling itself, is interrupted. @default never */
  readonly signal?: AbortSignal | undefined;
  /** How long commands and posts under way may take after that, in milliseconds. @default 30000 */
  readonly graceMs?: number;
}

/** Long, because a command may well send a file somewhere. */
const COMMAND_TIMEOUT_MS = 10 * 60_000;
/**
 * Together with the end of the run this is less than a minute, the time that senders of signals are
 * advised to wait.
 */
const GRACE_MS = 30_000;
const NEVER = new AbortController().signal;

/**
 * Reports a run that is over: runs the command and posts to the URL, at the same time. Never
 * throws.
 */
export async function notify(
  { command, url, timeout = COMMAND_TIMEOUT_MS }: OnFinish,
  run: FinishedRun,
  { env, redact, onNotice, post, signal = NEVER, graceMs = GRACE_MS }: NotifyContext,
): Promise<void> {
  const report = redactDeep(createReport(run), redact);
  const json = JSON.stringify(report);
  const warn = (what: string) => (error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    onNotice(`${what}: ${why}. The run itself is not affected.`);
  };
  const grace = openGrace(signal, graceMs, () =>
    onNotice(
      `Interrupted: onFinish may take another ${formatDuration(graceMs)}. Interrupt again to end at once.`,
    ),
  );
  await Promise.all([
    command !== undefined &&
      runCommand(command, {
        hurry: grace.over,
        cwd: dirname(run.file),
        env: { ...withoutCredentials(env), ...reportVariables(report) },
        stdin: `${json}\n`,
        timeoutMs: timeout,
      }).catch(warn('The command of onFinish failed')),
    url !== undefined &&
      postReport(url, json, { ...post, hurry: grace.over }).catch(
        warn(`Cannot tell ${new URL(url).origin} that the run is over`),
      ),
  ]);
  grace.close();
}

/** The time that remains when a run is interrupted. */
interface Grace {
  /** Fires when it is up. */
  readonly over: AbortSignal;
  close(): void;
}

/**
 * Grants time to finish, counted from an interruption, which may have come before.
 *
 * @param onInterrupted called when it comes later
 */
function openGrace(interruption: AbortSignal, graceMs: number, onInterrupted: () => void): Grace {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => controller.abort(), graceMs);
  };
  const interrupted = (): void => {
    start();
    onInterrupted();
  };
  if (interruption.aborted) start();
  else interruption.addEventListener('abort', interrupted, { once: true });
  return {
    over: controller.signal,
    close: () => {
      clearTimeout(timer);
      interruption.removeEventListener('abort', interrupted);
    },
  };
}

interface PostOptions {
  /** The first wait before it is tried again; each further one is twice as long. @default 1000 */
  readonly backoffMs?: number;
  /** The longest that one try may take. @default 10000 */
  readonly timeoutMs?: number;
  /** Ends all tries when it fires. @default never */
  readonly hurry?: AbortSignal | undefined;
}

const RETRIES = 3;

/**
 * Posts a text as JSON, and tries three more times when the server cannot be reached, fails (5xx)
 * or is busy (408, 429).
 *
 * @throws Error whose message says how the last try failed. The address is not in it: the address
 * of a web hook is a secret.
 */
export async function postReport(
  url: string,
  json: string,
  { backoffMs = 1_000, timeoutMs = 10_000, hurry }: PostOptions = {},
): Promise<void> {
  const dispatcher = openConnections({ origin: new URL(url).origin, connections: 1, timeoutMs });
  let tried = 0;
  const attempt = async (): Promise<void> => {
    tried += 1;
    const ends = [AbortSignal.timeout(timeoutMs), ...(hurry ? [hurry] : [])];
    const signal = AbortSignal.any(ends);
    const headers = { 'content-type': 'application/json' };
    const answer = await request(url, { method: 'POST', headers, body: json, signal, dispatcher });
    await answer.body.dump();
    if (answer.statusCode >= 300) throw new RefusedError(answer.statusCode);
  };
  try {
    await pRetry(attempt, {
      retries: RETRIES,
      minTimeout: backoffMs,
      signal: hurry,
      shouldRetry: ({ error }) => !(error instanceof RefusedError) || error.mayPass,
    });
  } catch (error) {
    const why = hurry?.aborted ? 'no answer in time after an interruption' : describe(error);
    throw new Error(`${why} (tried ${tried === 1 ? 'once' : `${tried} times`})`, {
      cause: error,
    });
  } finally {
    // Not `close`, which would wait for a server that does not answer.
    await dispatcher.destroy();
  }
}

/** The server answered, but refused the text. */
class RefusedError extends Error {
  readonly mayPass: boolean;

  constructor(status: number) {
    super(
      status < 400
        ? `it answered ${status}, a redirect; give the address that it leads to`
        : `it answered ${status}`,
    );
    this.mayPass = status >= 500 || status === 408 || status === 429;
  }
}

function describe(error: unknown): string {
  if (error instanceof RefusedError) return error.message;
  const isTimeout = error instanceof Error && error.name === 'TimeoutError';
  return (isTimeout ? 'timeout' : describeNetworkError(error)).replaceAll('_', ' ');
}

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

/** How a run of a job ended. */
export interface FinishedRun {
  /** The name of the job file without its folder and ending. */
  readonly job: string;
  /** The path of the job file. */
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

/** The report of a run: the summary as `--json` has it, and further members for the receiver. */
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
export function createReport(run: FinishedRun): FinishReport {
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

/**
 * Environment variables of the command, for scripts without a JSON parser. Those that do not apply
 * are undefined, and have to be taken out of the environment: the run may itself be the command of
 * another run, and would pass on what they say of that one.
 */
export function reportVariables(
  report: FinishReport,
): Readonly<Record<string, string | undefined>> {
  const { statuses } = report;
  const values = {
    JOB: report.job,
    JOB_FILE: report.file,
    EXIT_CODE: report.exitCode,
    ROWS: report.rows,
    FOUND: statuses?.found,
    STALE: statuses?.stale,
    NOT_FOUND: statuses?.not_found,
    REJECTED: statuses?.rejected,
    FAILED: statuses?.failed,
    PENDING: statuses?.pending,
    INVALID: statuses?.invalid,
    SKIPPED: statuses?.skipped,
    CALLS: report.calls,
    COST: report.cost,
    STOPPED: report.stopped?.reason,
    OUT: report.out,
    FAILURES: report.failures,
    CHANGES: report.changes?.file,
    REPORT: report.reports?.[0],
    ERROR: report.error,
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      `BRANDFILL_${name}`,
      value === undefined ? undefined : String(value),
    ]),
  );
}

function withAbsolutePaths(summary: Summary): Summary {
  const { out, failures, changes, logos, store, reports } = summary;
  return {
    ...summary,
    out: toAbsolute(out),
    failures: toAbsolute(failures),
    changes: changes && { ...changes, file: resolve(changes.file) },
    logos: logos && { ...logos, folder: resolve(logos.folder) },
    store: { ...store, folder: resolve(store.folder) },
    ...(reports && { reports: reports.map((path) => resolve(path)) }),
  };
}

function toAbsolute(path: string | undefined): string | undefined {
  return path === undefined || path === '-' ? path : resolve(path);
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
