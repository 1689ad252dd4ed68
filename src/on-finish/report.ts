import { resolve } from 'node:path';
import { describeSummary } from '../watch/describe/describe.ts';
import { findNothing, type Summary } from '../watch/summary.ts';

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
