import type { JoinedRow } from '../../src/collector/joined-row.ts';
import type { OutputColumn } from '../../src/collector/output/output-columns.ts';
import { createJob } from '../../src/options/api.ts';
import type { Plan } from '../../src/producer/plan.ts';
import { createRunReport, type ReportedRun } from '../../src/report/report.ts';
import { createRunRecorder } from '../../src/report/run-recorder.ts';
import type { RunReport } from '../../src/report/run-report.ts';
import type { Progress } from '../../src/watch/events.ts';
import { createStatusCounts, type Summary } from '../../src/watch/summary.ts';

/** A row that was found, unless told otherwise. */
export function rowOf(row: Partial<JoinedRow> = {}): JoinedRow {
  return {
    raw: `1,${row.domain ?? 'acme.com'}\n`,
    fields: 2,
    number: 1,
    domain: 'acme.com',
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: 10,
    key: '',
    values: [],
    blanks: 0,
    fills: undefined,
    ...row,
  };
}

/** A column that shows one of a row's values. */
export function columnAt(at: number, name = `column_${at}`): OutputColumn {
  return { name, valueOf: (row) => row.values[at] };
}

/** What is told of the lookups at a moment. */
export function progressAt(elapsedMs: number, progress: Partial<Progress> = {}): Progress {
  return {
    lookups: 100,
    done: 0,
    outcomes: { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 },
    calls: 0,
    retries: 0,
    throttled: 0,
    elapsedMs,
    waitMs: 0,
    ...progress,
  };
}

export function summaryOf(summary: Partial<Summary> = {}): Summary {
  return {
    runId: 'abcdef012345',
    rows: 0,
    statuses: createStatusCounts(),
    uniqueDomains: 0,
    freshDomains: 0,
    lookups: 0,
    calls: 0,
    retries: 0,
    throttled: 0,
    elapsedMs: 1_500,
    lookupMs: 1_000,
    callsPerSecond: 0,
    pace: undefined,
    cost: undefined,
    store: { folder: '.brandfill', sizeBytes: 12 },
    stopped: undefined,
    out: 'list.enriched.csv',
    failures: 'list.failures.csv',
    filled: undefined,
    logos: undefined,
    failuresSheet: undefined,
    changes: undefined,
    ...summary,
  };
}

/** A recorder that takes rows of two cells, number and domain. */
export function recordRun(columns: readonly OutputColumn[] = []) {
  const { recording, ...recorder } = createRunRecorder();
  const beginRows = () =>
    recorder.beginRows({
      columns: { enriched: columns },
      format: {
        kind: 'csv',
        toObject: (raw) => ({ Website: raw.trim().split(',')[1] ?? '' }),
        textsOf: (raw) => raw.trim().split(','),
      },
      column: { index: 1, name: 'Website' },
      startedAtMs: 5,
    });
  return { recording, recorder, beginRows };
}

export function planOf(plan: Partial<Plan> = {}): Plan {
  return {
    rows: 0,
    uniqueDomains: 0,
    invalidRows: 0,
    invalidByReason: {},
    invalidExamples: [],
    freshDomains: 0,
    freshRows: 0,
    lookups: 0,
    raggedRows: 0,
    shortRows: 0,
    blankLines: 0,
    blankRows: 0,
    calls: 0,
    estimate: undefined,
    price: undefined,
    cost: undefined,
    ...plan,
  };
}

/** The report of a run that ended well, unless told otherwise. */
export function reportOf(run: Partial<ReportedRun> = {}): RunReport {
  return createRunReport({
    recording: createRunRecorder().recording,
    settings: settingsOf({}),
    runId: 'abcdef012345',
    input: 'list.csv',
    startedAt: new Date('2026-11-21T02:30:00Z'),
    finishedAt: new Date('2026-11-21T02:30:01.5Z'),
    summary: run.error ? undefined : summaryOf(),
    version: '1.2.3',
    redact: (text) => text,
    ...run,
  });
}

export function settingsOf(given: Readonly<Record<string, unknown>>) {
  return createJob({
    given: { baseUrl: 'https://api.example.com', ...given },
    env: { BRANDFILL_API_KEY: 'the-key' },
    describe: (key) => key,
  }).settings;
}
