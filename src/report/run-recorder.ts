import type { Answer } from '../brand/answer.ts';
import { hasValues, type JoinedRow, type RowStatus } from '../collector/joined-row.ts';
import type { OutputColumn, OutputColumns } from '../collector/output/output-columns.ts';
import { isFilled } from '../collector/ready-rows.ts';
import { shortenTo } from '../common/text.ts';
import type { RowColumn, RowFormat } from '../rows/row-format.ts';
import type { Progress, RunEvent } from '../watch/events.ts';
import { createStatusCounts, type StatusCounts } from '../watch/summary.ts';
import {
  createLatencies,
  createTimeline,
  type Latencies,
  type Timeline,
} from '../watch/timeline.ts';
import type { AnsweredCall } from '../worker/lookup.ts';

/**
 * Collects the data of a report while the run goes on. Its size is bounded, however long the run.
 */
export interface RunRecorder {
  readonly onEvent: (event: RunEvent) => void;
  /** @param atMs when the answer came, in milliseconds since the lookups began */
  answered(call: AnsweredCall, atMs: number): void;
  /** Must be called when the rows are about to be joined. */
  beginRows(layout: RowLayout): RowRecorder;
}

/** Records rows as they pass. */
export interface RowRecorder {
  take(rows: readonly JoinedRow[]): void;
  /**
   * Takes rows that were written before: found, by an earlier run.
   *
   * @param filled in how many of them each enriched column has a value
   */
  takeWritten(rows: number, filled: readonly number[]): void;
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
        case 'sampled':
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
      const { rows, recorder } = createRowRecording(layout);
      recording.rows = rows;
      return recorder;
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
  readonly recorder: RowRecorder;
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
    recorder: {
      take: (rows) => {
        for (const row of rows) {
          statuses[row.status] += 1;
          if (hasValues(row)) fills.add(row);
          if (row.status !== 'found') reasons.add(row);
          const isOfRun = row.status === 'stale' || row.fetchedAtMs >= startedAtMs;
          if (row.attempts > 1 && isOfRun) mostRetried.offer(summaryOf(row));
        }
      },
      takeWritten: (rows, filled) => {
        statuses.found += rows;
        fills.addWritten(filled);
      },
    },
  };
}

/** Leaves out the row itself, which need not be kept. */
function summaryOf(row: JoinedRow): JoinedDomain {
  const { domain, status, reason, attempts, number, httpStatus } = row;
  return { domain, status, reason, attempts, number, httpStatus };
}

/** In how many rows each added column has a value. */
interface ColumnFills {
  add(row: JoinedRow): void;
  /** @param filled rows for each column */
  addWritten(filled: readonly number[]): void;
  readonly columns: readonly { readonly name: string; readonly rows: number }[];
}

function createColumnFills(columns: readonly OutputColumn[]): ColumnFills {
  const rows = new Float64Array(columns.length);
  return {
    add: (row) => {
      for (let at = 0; at < columns.length; at += 1) {
        if (isFilled(columns[at]?.valueOf(row))) rows[at] = (rows[at] ?? 0) + 1;
      }
    },
    addWritten: (filled) => {
      for (const [at, more] of filled.entries()) rows[at] = (rows[at] ?? 0) + more;
    },
    get columns() {
      return columns.map(({ name }, at) => ({ name, rows: rows[at] ?? 0 }));
    },
  };
}

/** Keeps the largest entries of any number, one for each domain. */
interface TopList<T> {
  offer(entry: T): void;
  /** The largest first; among equals, the one that came first. */
  readonly entries: readonly T[];
}

/**
 * @param size how many entries are kept
 * @param weigh gives the weight of an entry; 0 or less keeps it out
 */
export function createTopList<T extends { readonly domain: string }>(
  size: number,
  weigh: (entry: T) => number,
): TopList<T> {
  const kept: T[] = [];
  /** The weight that an entry has to exceed. Nearly all entries that are offered end here. */
  let bar = 0;

  function insert(entry: T): void {
    const worth = weigh(entry);
    const at = kept.findIndex((other) => weigh(other) < worth);
    kept.splice(at === -1 ? kept.length : at, 0, entry);
    if (kept.length > size) kept.pop();
    const last = kept.at(-1);
    bar = kept.length < size || last === undefined ? 0 : weigh(last);
  }

  return {
    offer: (entry) => {
      if (!(weigh(entry) > bar)) return;
      const at = kept.findIndex(({ domain }) => domain === entry.domain);
      const known = kept[at];
      if (known === undefined) return insert(entry);
      if (weigh(entry) <= weigh(known)) return;
      kept.splice(at, 1);
      insert(entry);
    },
    entries: kept,
  };
}

/** The reasons why rows were not enriched, each once, with a few rows that have it. */
interface ReasonList {
  add(row: JoinedRow): void;
  /** The reasons of the most rows, the most frequent first. */
  readonly reasons: readonly Reason[];
  /** Rows whose reason is not in `reasons`. */
  readonly otherRows: number;
}

interface Reason {
  readonly status: RowStatus;
  /** As in the failures file, without the parts that differ from row to row. */
  readonly reason: string;
  readonly httpStatus: number | undefined;
  readonly rows: number;
  readonly examples: readonly ExampleRow[];
}

/** One row that has a reason. */
interface ExampleRow {
  /** Its place among the rows, from 1; the header does not count. */
  readonly row: number;
  /** Empty for an `invalid` row. */
  readonly domain: string;
  /** The text of the column that the domain is taken from. */
  readonly cell: string;
  /** The beginning of the row as it is in the list. */
  readonly text: string;
}

interface ReasonListOptions {
  /** Gives the text of the row's cell that the domain is taken from. */
  readonly cellOf: (row: JoinedRow) => string;
  /** Gives the row as it is in the list. */
  readonly textOf: (row: JoinedRow) => string;
  /** How many reasons are reported. @default 40 */
  readonly most?: number;
}

/** How many different reasons are kept apart; each may be what an API wrote about one domain. */
const MOST_KNOWN = 1_000;
const MOST_TOLD = 40;
const MOST_EXAMPLES = 5;
const REASON_LENGTH = 200;
const CELL_LENGTH = 120;
const ROW_LENGTH = 160;
const DOMAIN_LENGTH = 253;

interface KnownReason {
  status: RowStatus;
  reason: string;
  httpStatus: number | undefined;
  rows: number;
  examples: ExampleRow[];
}

export function createReasonList({
  cellOf,
  textOf,
  most = MOST_TOLD,
}: ReasonListOptions): ReasonList {
  const known = new Map<string, KnownReason>();
  let beyond = 0;

  function find({ status, reason, domain, httpStatus }: JoinedRow): KnownReason | undefined {
    const text = withoutParticulars(reason, domain);
    const key = `${status} ${httpStatus} ${text}`;
    const found = known.get(key);
    if (found || known.size >= MOST_KNOWN) return found;
    const first = {
      status,
      reason: shortenTo(text, REASON_LENGTH),
      httpStatus,
      rows: 0,
      examples: [],
    };
    known.set(key, first);
    return first;
  }

  const listed = (): readonly KnownReason[] =>
    [...known.values()].sort((one, other) => other.rows - one.rows).slice(0, most);

  return {
    add: (row) => {
      const reason = find(row);
      if (!reason) {
        beyond += 1;
        return;
      }
      reason.rows += 1;
      if (reason.examples.length >= MOST_EXAMPLES) return;
      reason.examples.push({
        row: row.number,
        domain: shortenTo(row.domain, DOMAIN_LENGTH),
        cell: shortenTo(cellOf(row), CELL_LENGTH),
        text: shortenTo(textOf(row), ROW_LENGTH),
      });
    },
    get reasons() {
      return listed();
    },
    get otherRows() {
      const all = [...known.values()].reduce((sum, { rows }) => sum + rows, beyond);
      return all - listed().reduce((sum, { rows }) => sum + rows, 0);
    },
  };
}

/** Removes what differs from row to row: an API may name the domain or the request in its text. */
function withoutParticulars(reason: string, domain: string): string {
  if (!/[^a-z_0-9]/.test(reason)) return reason; // one of our own words
  const general = domain === '' ? reason : reason.replaceAll(domain, '{domain}');
  return general.replaceAll(IDENTIFIER, '…');
}

/** Long numbers, hexadecimal numbers and UUIDs. */
const IDENTIFIER = /\b(?=[\da-f-]*\d)[\da-f]{6,}(?:-[\da-f]{4,})*\b/gi;
