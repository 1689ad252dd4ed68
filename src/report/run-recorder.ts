import type { Answer } from '../brand/answer.ts';
import { hasValues, type JoinedRow } from '../collector/joined-row.ts';
import type { OutputColumns } from '../collector/output/output-columns.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import { createStatusCounts, type StatusCounts } from '../watch/summary.ts';
import type { AnsweredCall } from '../worker/lookup.ts';
import { type ColumnFills, createColumnFills } from './column-fills.ts';
import { createLatencies, type Latencies } from './latencies.ts';
import { createReasonList, type ReasonList } from './reason-list.ts';
import { shortenTo } from './text.ts';
import { createTimeline, type Timeline } from './timeline.ts';
import { createTopList, type TopList } from './top-list.ts';

/**
 * Collects the data of a report while the run goes on. Its size is bounded, however long the run.
 */
export interface RunRecorder {
  readonly onEvent: (event: RunEvent) => void;
  /** @param atMs when the answer came, in milliseconds since the lookups began */
  answered(call: AnsweredCall, atMs: number): void;
  /**
   * Must be called when the rows are about to be joined; the returned function takes them as they
   * pass.
   */
  beginRows(layout: RowLayout): (rows: readonly JoinedRow[]) => void;
}

/** The facts about rows that the report needs. */
export interface RowLayout {
  readonly columns: Pick<OutputColumns, 'enriched'>;
  readonly format: Pick<RowFormat, 'kind' | 'toObject' | 'textsOf'>;
  /** The column that the domain is taken from. */
  readonly column: RowColumn;
  /**
   * When the run started, in milliseconds since 1970: an older outcome was not fetched in this run.
   */
  readonly startedAtMs: number;
}

/** The collected data. */
export interface Recording {
  readonly opened: Extract<RunEvent, { type: 'opened' }> | undefined;
  readonly plan: Extract<RunEvent, { type: 'planned' }>['plan'] | undefined;
  readonly progress: Progress | undefined;
  readonly notices: readonly string[];
  /** Whether the run reached the first call, or did not need any. */
  readonly hasBegun: boolean;
  readonly timeline: Timeline;
  readonly latencies: Latencies;
  /** Counts of calls by HTTP status, or by why there was no answer. */
  readonly answers: ReadonlyMap<string, number>;
  readonly slowest: TopList<SlowCall>;
  readonly rows: RowRecording | undefined;
}

export interface RowRecording {
  readonly statuses: Readonly<StatusCounts>;
  readonly reasons: ReasonList;
  readonly fills: ColumnFills;
  readonly mostRetried: TopList<JoinedDomain>;
}

/** The slowest call for a domain. */
export interface SlowCall {
  readonly domain: string;
  readonly latencyMs: number;
  /** The HTTP status, or why there was no answer. */
  readonly answer: string;
}

/** How the lookup of a domain ended. */
export type JoinedDomain = Pick<
  JoinedRow,
  'domain' | 'status' | 'reason' | 'attempts' | 'number' | 'httpStatus'
>;

const TOP = 20;
const MOST_NOTICES = 20;
const MOST_ANSWERS = 100;
const NOTICE_LENGTH = 500;

export function createRunRecorder(): RunRecorder & { readonly recording: Recording } {
  const recording: { -readonly [K in keyof Recording]: Recording[K] } & {
    notices: string[];
    answers: Map<string, number>;
  } = {
    opened: undefined,
    plan: undefined,
    progress: undefined,
    notices: [],
    hasBegun: false,
    timeline: createTimeline(),
    latencies: createLatencies(3),
    answers: new Map(),
    slowest: createTopList<SlowCall>(TOP, ({ latencyMs }) => latencyMs),
    rows: undefined,
  };
  const { timeline, latencies, answers, slowest, notices } = recording;

  function countAnswer(answer: string): void {
    const count = answers.get(answer);
    if (count !== undefined || answers.size < MOST_ANSWERS) answers.set(answer, (count ?? 0) + 1);
  }

  return {
    recording,
    onEvent: (event) => {
      switch (event.type) {
        case 'opened':
          recording.opened = event;
          break;
        case 'planned':
          recording.plan = event.plan;
          break;
        case 'notice':
          if (notices.length < MOST_NOTICES) notices.push(shortenTo(event.message, NOTICE_LENGTH));
          break;
        case 'progress':
          recording.progress = event;
          recording.hasBegun ||= event.calls > 0 || event.done > 0;
          timeline.progress(event);
          break;
        case 'writing':
          recording.hasBegun = true;
          break;
        case 'logos':
        case 'rows':
        case 'stopping':
          break;
      }
    },
    answered: ({ domain, answer, latencyMs }, atMs) => {
      recording.hasBegun = true;
      const said = nameOf(answer);
      countAnswer(said);
      latencies.add(latencyMs);
      timeline.answered(atMs, latencyMs);
      slowest.offer({ domain, latencyMs, answer: said });
    },
    beginRows: (layout) => {
      const { rows, take } = createRowRecording(layout);
      recording.rows = rows;
      return take;
    },
  };
}

/** What a call came to, in a word. A 200 whose body cannot be used is no answer. */
function nameOf(answer: Answer): string {
  const { kind, httpStatus } = answer;
  const hasAnswer = httpStatus !== undefined && (httpStatus !== 200 || kind === 'found');
  return !hasAnswer && 'reason' in answer ? answer.reason : String(httpStatus);
}

function createRowRecording({ columns, format, column, startedAtMs }: RowLayout): {
  readonly rows: RowRecording;
  readonly take: (rows: readonly JoinedRow[]) => void;
} {
  const statuses = createStatusCounts();
  const reasons = createReasonList({
    cellOf: ({ raw }) => {
      // Columns of a table may share a name, so its cell is found by its place.
      if (format.textsOf) return format.textsOf(raw)[column.index] ?? '';
      const cell = format.toObject(raw)[column.name];
      return typeof cell === 'string' ? cell : cell === undefined ? '' : JSON.stringify(cell);
    },
    // A row of a workbook is not a text that anybody wrote.
    textOf: ({ raw }) => (format.kind === 'xlsx' ? (format.textsOf?.(raw) ?? []).join(' | ') : raw),
  });
  const fills = createColumnFills(columns.enriched);
  const mostRetried = createTopList<JoinedDomain>(TOP, ({ attempts }) => attempts - 1);
  return {
    rows: { statuses, reasons, fills, mostRetried },
    take: (rows) => {
      for (const row of rows) {
        statuses[row.status] += 1;
        if (hasValues(row)) fills.add(row);
        if (row.status !== 'found') reasons.add(row);
        const isOfRun = row.status === 'stale' || row.fetchedAtMs >= startedAtMs;
        if (row.attempts > 1 && isOfRun) mostRetried.offer(summaryOf(row));
      }
    },
  };
}

/** Leaves out the row itself, which need not be kept. */
function summaryOf(row: JoinedRow): JoinedDomain {
  const { domain, status, reason, attempts, number, httpStatus } = row;
  return { domain, status, reason, attempts, number, httpStatus };
}
