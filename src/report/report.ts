import { redactDeep } from '../common/redactor.ts';
import { exitCodeOf, exitCodeOfError } from '../exit-codes.ts';
import type { Settings } from '../job/settings.ts';
import { costOf } from '../job/values/price.ts';
import { createStatusCounts, type Summary } from '../watch/summary.ts';
import { adviseOn } from './advice.ts';
import { describeCalls } from './describe-calls.ts';
import { round } from './round.ts';
import type { Recording } from './run-recorder.ts';
import type { RunReport } from './run-report.ts';
import { showSettings } from './shown-settings.ts';
import { shortenTo } from './text.ts';
import { judge } from './verdict.ts';

/** A run that is over. */
export interface ReportedRun {
  readonly recording: Recording;
  readonly settings: Settings;
  /** What the run is called in logs. */
  readonly runId: string;
  /** The name of the list where no event has named it. */
  readonly input: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Missing when there is an error. */
  readonly summary?: Summary | undefined;
  /** The error that ended the run after the first call. */
  readonly error?: { readonly thrown: unknown; readonly message: string } | undefined;
  /** The version of Brandfill. */
  readonly version: string;
  /** Takes the credential out of a text. */
  readonly redact: (text: string) => string;
}

const TEXT_LENGTH = 500;
const MOST_COLUMNS = 500;

/** Assembles a report. Its size is bounded, however long the run. */
export function createRunReport(run: ReportedRun): RunReport {
  const report: RunReport = {
    version: 1,
    brandfill: run.version,
    ...describeRun(run),
    ...describeCalls(run),
    cost: describeCost(run),
    ...describeRows(run),
    files: describeFiles(run),
    settings: [...showSettings(run.settings)],
  };
  return redactDeep(report, run.redact);
}

function describeRun(run: ReportedRun): Pick<RunReport, 'run' | 'rows' | 'domains' | 'lookups'> {
  const { recording, summary, error, startedAt, finishedAt } = run;
  const { opened, plan, progress, notices } = recording;
  const statuses = summary?.statuses ?? recording.rows?.statuses ?? createStatusCounts();
  const total = summary?.rows ?? plan?.rows ?? 0;
  const stopped = summary?.stopped;
  const comeBackAtMs = stopped?.comeBackAtMs;
  const message = error && shortenTo(error.message, TEXT_LENGTH);
  return {
    run: {
      id: run.runId,
      input: shortenTo(opened?.input ?? run.input, TEXT_LENGTH),
      format: opened?.format ?? '',
      domainColumn: opened ? shortenTo(opened.column.name, TEXT_LENGTH) : null,
      startedAt: startedAt.toISOString(),
      finishedAt: finishedAt.toISOString(),
      elapsedMs: round(summary?.elapsedMs ?? finishedAt.getTime() - startedAt.getTime(), 1),
      lookupMs: round(summary?.lookupMs ?? progress?.elapsedMs ?? 0, 1),
      exitCode: summary ? exitCodeOf(summary) : exitCodeOfError(error?.thrown),
      ...judge({ rows: total, statuses, calls: summary?.calls ?? 0, stopped, error: message }),
      stopReason: stopped?.reason ?? null,
      comeBackAt: comeBackAtMs === undefined ? null : new Date(comeBackAtMs).toISOString(),
      error: message ?? null,
      notices: [...notices],
    },
    rows: {
      total,
      statuses: { ...statuses },
      areWritten: summary?.out !== undefined,
      ragged: plan?.raggedRows ?? 0,
      blankLines: plan?.blankLines ?? 0,
    },
    domains: {
      unique: summary?.uniqueDomains ?? plan?.uniqueDomains ?? 0,
      fresh: summary?.freshDomains ?? plan?.freshDomains ?? 0,
      due: plan?.lookups ?? 0,
      lookedUp: summary?.lookups ?? progress?.done ?? 0,
    },
    lookups: {
      ...(progress?.outcomes ?? { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 }),
    },
  };
}

function describeCost({ recording, summary, settings }: ReportedRun): RunReport['cost'] {
  const { price } = settings;
  if (price === undefined) return null;
  const { calls = 0, throttled = 0 } = summary ?? recording.progress ?? {};
  const paid = calls - throttled;
  const planned = recording.plan?.cost ?? null;
  return { perCall: price, calls: paid, total: costOf(paid, price), planned };
}

function describeRows({
  recording: { rows },
  summary,
}: ReportedRun): Pick<
  RunReport,
  'reasons' | 'otherReasonRows' | 'columns' | 'filled' | 'mostRetried'
> {
  const { reasons, fills, mostRetried } = rows ?? {};
  return {
    reasons: (reasons?.reasons ?? []).map(({ status, reason, httpStatus, rows, examples }) => ({
      status,
      reason,
      httpStatus: httpStatus ?? null,
      rows,
      advice: adviseOn({ status, reason, httpStatus }),
      examples,
    })),
    otherReasonRows: reasons?.otherRows ?? 0,
    columns: (fills?.columns ?? []).slice(0, MOST_COLUMNS).map((column) => ({
      name: shortenTo(column.name, NAME_LENGTH),
      rows: column.rows,
    })),
    filled: Object.entries(summary?.filled ?? {}).map(([name, cells]) => ({
      name: shortenTo(name, NAME_LENGTH),
      rows: cells,
    })),
    mostRetried: (mostRetried?.entries ?? []).map(
      ({ domain, attempts, status, reason, number }) => ({
        domain: shortenTo(domain, TEXT_LENGTH),
        attempts,
        status,
        reason: shortenTo(reason, NAME_LENGTH),
        row: number,
      }),
    ),
  };
}

const NAME_LENGTH = 200;

function describeFiles({ summary, settings }: ReportedRun): RunReport['files'] {
  const { changes, logos } = summary ?? {};
  return {
    out: summary?.out ?? null,
    failures: summary?.failures ?? null,
    failuresSheet: summary?.failuresSheet ?? null,
    changes: changes ? { file: changes.file, new: changes.new, changed: changes.changed } : null,
    logos: logos
      ? { folder: logos.folder, saved: logos.saved, kept: logos.kept, missing: logos.missing }
      : null,
    store: summary?.store.folder ?? settings.store,
    storeBytes: summary?.store.sizeBytes ?? null,
  };
}
