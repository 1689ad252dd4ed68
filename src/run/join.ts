import { MOST_NAMES } from '../brand/shape.ts';
import { countShapes, flatColumnsOf, MOST_PATHS } from '../collector/fields/enriched-columns.ts';
import type { Field } from '../collector/fields/fields.ts';
import { measureFilledShares, rankPaths } from '../collector/fields/rank-paths.ts';
import { type JoinOptions, join } from '../collector/join.ts';
import { isListed, type JoinedRow, type OutputRow } from '../collector/joined-row.ts';
import type { OutputColumn, OutputColumns } from '../collector/output/output-columns.ts';
import { isFilled, type ReadyRows } from '../collector/ready-rows.ts';
import { createRowAnswers, type RowAnswers } from '../collector/row-answers.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { formatCount } from '../common/format.ts';
import type { Job } from '../options/api.ts';
import type { RowRecorder } from '../report/run-recorder.ts';
import { shorten } from '../rows/columns/names.ts';
import type { SavedColumn } from '../store/saved-columns.ts';
import { MOST_SHAPES } from '../store/shapes.ts';
import { PROGRESS_MS, type RunEvent } from '../watch/events.ts';
import { createStatusCounts, type StatusCounts, sumOf } from '../watch/summary.ts';
import type { LookedUpRun } from './look-up.ts';
import { type PlannedRun, planAgain } from './plan.ts';
import { findLayout, nameColumns } from './ready.ts';
import type { RunContext } from './run-context.ts';
import type { Side, TwoApis } from './two-apis.ts';

/** A run with its joined rows, once all lookups are done. */
export interface JoinedRun extends LookedUpRun {
  readonly columns: OutputColumns;
  readonly rows: AsyncIterable<readonly OutputRow[]>;
  /** Complete when all rows were read. */
  readonly statuses: StatusCounts;
  /** How many rows were found at each of two APIs. Complete when all rows were read. */
  readonly foundBy: Readonly<Record<Side, number>>;
}

/**
 * Joins each row of a list with its outcome.
 *
 * @param ids of the output from night to night. Its columns keep their names and their order if it
 *   had any under one of them
 */
export async function joinRows(
  lookedUp: LookedUpRun,
  ids: readonly string[] = [],
): Promise<JoinedRun> {
  const { context, store, totals, logos, apis } = lookedUp;
  const given = fieldsOf(lookedUp);
  const fields = given?.columns;
  const reason = totals.stopped?.reason;
  context.onEvent({ type: 'writing', rows: lookedUp.plan.rows });
  const answers = answersOf(lookedUp);
  const layout = findLayout(store, ids);
  const enriched = fields ?? (await findEnrichedColumns(lookedUp, answers, layout));
  const further = [...(apis ? [apis.column] : []), ...(logos?.columns ?? [])];
  const columns = nameColumns(lookedUp, { enriched, further, layout, api: apis?.column });
  const isAsExpected = lookedUp.ready?.isAsExpected(columns) ?? true;
  const run = isAsExpected ? lookedUp : { ...lookedUp, ...(await planAgain(lookedUp)) };
  for (const { from, to } of columns.renamed) {
    const message = `The list already has a column '${from}': the added one is called '${to}'.`;
    context.onEvent({ type: 'notice', message });
  }
  // Before the output is in its place: a column too many in the store does no harm, one too few would.
  if (ids.length > 0 && reason !== 'misdirected' && reason !== 'unusable_store') {
    await store.saveColumns(ids, columns.layout).catch((error: unknown) => {
      const message = `The order of the columns could not be kept for the next run: ${describeSystemError(error)}.`;
      context.onEvent({ type: 'notice', message });
    });
  }
  const statuses = createStatusCounts();
  const foundBy = { first: 0, second: 0 };
  const rows = join({
    ...rowsLeftIn(run),
    answers,
    enriched,
    fieldsOf: given?.of,
    fill: run.fill,
    mend: mendOf(run),
    skipReason: reason ?? (context.mended?.isOnly ? 'interrupted' : 'pruned'),
  });
  return {
    ...run,
    columns,
    statuses,
    foundBy,
    rows: count(rows, {
      statuses,
      tally:
        apis &&
        (({ domain }) => {
          foundBy[apis.apiOf(domain, false)] += 1;
        }),
      blank: createBlankColumns(columns.enriched.slice(0, fields?.length ?? 0)),
      ready: run.ready?.rows,
      record: context.report?.recorder.beginRows({ ...run, columns }),
      expected: run.plan.rows,
      onEvent: context.onEvent,
    }),
  };
}

function mendOf({ context, format, column }: PlannedRun): JoinOptions['mend'] {
  const cells = context.mended?.cells;
  if (!cells) return undefined;
  const filler = format.createFiller([column], true);
  return (number, row) => {
    const text = cells.get(number);
    return text === undefined ? row : filler.fill(row.raw, row.fields, [text]);
  };
}

function answersOf({ job, context, store, isUsable, startedAtMs }: PlannedRun): RowAnswers {
  const { maxStale = Number.POSITIVE_INFINITY } = job.settings;
  // A trial says why there is no answer, and shows no older one in its place.
  return createRowAnswers({
    store,
    isUsable,
    startedAtMs,
    maxStaleMs: context.isTrial ? 0 : maxStale,
  });
}

/** Where the rows are that were not written during the first reading. */
function rowsLeftIn({
  ready,
  index,
  source,
  format,
}: PlannedRun): Pick<JoinOptions, 'source' | 'headBytes' | 'index'> {
  if (!ready) return { source, headBytes: format.headBytes, index };
  const assertUnchanged = (): Promise<void> => source.assertUnchanged();
  return { source: { read: index.readRows, assertUnchanged }, headBytes: 0, index };
}

/**
 * If nothing had to be looked up, the shapes are known from the plan and the list is not read
 * again.
 */
async function findEnrichedColumns(
  run: PlannedRun,
  answers: RowAnswers,
  layout: readonly SavedColumn[] | undefined,
): Promise<readonly Field[]> {
  const { job, store, index, sample, freshShapes, earlier } = run;
  const { maxColumns, prefix } = job.settings;
  const uses =
    run.plan.lookups === 0 ? freshShapes : await countShapes({ index, answers, freshShapes });
  const ranked = rankPaths(uses, {
    findShape: (id) => store.findShape(id),
    filledShareOf: measureFilledShares({ sample, answers }),
    most: Math.max(MOST_PATHS, maxColumns),
  });
  if (ranked.unshapedRows > 0) {
    const message = `Answers of ${ranked.unshapedRows} rows have more columns than are told apart (${MOST_NAMES} in one answer, ${MOST_SHAPES} kinds of answers in a store): what no other answer has is in '${prefix}json'; --fields names the columns that you want.`;
    run.context.onEvent({ type: 'notice', message });
  }
  // For objects, the columns of the earlier output are not known.
  const known = earlier?.added.slice(2).map((name) => name.slice(prefix.length));
  return flatColumnsOf(ranked, { maxColumns, known, layout });
}

interface Counting {
  readonly statuses: StatusCounts;
  /** Called with each row that was found, where two APIs are asked. */
  readonly tally: ((row: JoinedRow) => void) | undefined;
  readonly blank: BlankColumns;
  /** What wrote rows during the first reading. */
  readonly ready: Pick<ReadyRows, 'filled'> | undefined;
  /** Records the rows for the report. */
  readonly record: RowRecorder | undefined;
  readonly expected: number;
  readonly onEvent: RunContext['onEvent'];
}

/** Counts rows as they pass, and makes sure that none gets lost. */
async function* count(
  rows: AsyncIterable<readonly OutputRow[]>,
  { statuses, tally, blank, ready, record, expected, onEvent }: Counting,
): AsyncGenerator<readonly OutputRow[]> {
  const reporter = createRowReporter({ total: expected, onEvent });
  let allWritten = 0;
  for await (const batch of rows) {
    const listed = batch.filter(isListed);
    for (const row of listed) statuses[row.status] += 1;
    if (tally) for (const row of listed) if (row.status === 'found') tally(row);
    blank.add(listed);
    record?.take(listed);
    let written = 0;
    for (const row of batch) if (row.status === 'written') written += row.rows;
    statuses.found += written;
    yield batch;
    reporter.add(listed.length + written);
    allWritten += written;
  }
  reporter.end();
  if (ready && allWritten > 0) {
    blank.addWritten(allWritten, ready.filled);
    record?.takeWritten(allWritten, ready.filled);
  }
  const message = blank.describe();
  if (message !== undefined) onEvent({ type: 'notice', message });
  const counted = sumOf(statuses);
  if (counted !== expected) {
    throw new BrandfillError(
      'COUNTS_DIFFER',
      `Cannot finish: ${expected} rows came in and ${counted} would go out. This is a defect of Brandfill; no output was changed, please report it.`,
    );
  }
}

/** The columns that the user asked for and for which no answer has a value. */
interface BlankColumns {
  add(rows: readonly JoinedRow[]): void;
  /** @param filled in how many of them each column has a value */
  addWritten(rows: number, filled: readonly number[]): void;
  /** Names these columns, once all rows were added; undefined when there is nothing to report. */
  describe(): string | undefined;
}

/** With fewer rows, a column may be blank by chance. */
const LEAST_ROWS = 5;

/**
 * Finds expressions without a value for any row. Mostly that is a mistake: a typing error, or a
 * field that is nested within another.
 *
 * @param columns the columns of `fields`, in their order
 */
function createBlankColumns(columns: readonly OutputColumn[]): BlankColumns {
  const blank = new Map(columns.entries());
  let found = 0;

  function look(row: JoinedRow): void {
    if (row.status !== 'found') return;
    found += 1;
    for (const at of blank.keys()) if (isFilled(row.values[at])) blank.delete(at);
  }

  return {
    add: (rows) => {
      if (blank.size > 0) rows.forEach(look);
    },
    addWritten: (rows, filled) => {
      found += rows;
      for (const at of blank.keys()) if ((filled[at] ?? 0) > 0) blank.delete(at);
    },
    describe: () => {
      if (blank.size === 0 || found < LEAST_ROWS) return undefined;
      const names = [...blank.values()].map(
        ({ name, expression = '' }) => `'${name}' (${shorten(expression)})`,
      );
      return `No answer has anything for ${names.join(', ')}: blank in all ${formatCount(found)} rows that were found; brandfill try shows what an answer has.`;
    },
  };
}

/** Reports how many rows are written. */
interface RowReporter {
  add(rows: number): void;
  /** Must be called after the last row. */
  end(): void;
}

interface RowReporterOptions {
  readonly total: number;
  readonly onEvent: (event: RunEvent) => void;
  /** The time in milliseconds. @default since the process started */
  readonly now?: () => number;
}

/** Nothing is reported when writing takes less time than this. */
const FIRST_MS = 1_000;

/** Reports a few times a second, once writing takes more than a moment. */
export function createRowReporter({
  total,
  onEvent,
  now = () => performance.now(),
}: RowReporterOptions): RowReporter {
  const startMs = now();
  let nextAtMs = startMs + FIRST_MS;
  let written = 0;
  let isReported = false;

  function tell(): void {
    isReported = true;
    onEvent({ type: 'rows', written, total, elapsedMs: now() - startMs });
  }

  return {
    add: (rows) => {
      written += rows;
      const nowMs = now();
      if (nowMs < nextAtMs) return;
      nextAtMs = nowMs + PROGRESS_MS;
      tell();
    },
    end: () => {
      if (isReported) tell();
    },
  };
}

/** The columns that were asked for, and how each API's answers have them. */
export interface FieldsOfRun {
  readonly columns: readonly Field[];
  /** The fields of these columns in what a row of a domain has, in their order. */
  readonly of: (domain: string, isStale: boolean) => readonly Field[];
}

/**
 * The columns of a run that does not flatten its answers. Where profiles have columns, those of both
 * are joined by their names, and each API's expression finds its own value.
 */
export function fieldsOf({
  job,
  apis,
}: {
  readonly job: Job;
  readonly apis: Pick<TwoApis, 'apiOf'> | undefined;
}): FieldsOfRun | undefined {
  const { fields: first } = job.settings;
  const { fields: second } = job.second?.settings ?? {};
  if (!first) return undefined;
  if (!apis || !second || isSame(first, second)) return { columns: first, of: () => first };
  const names = [...new Set([...first, ...second].map(({ name }) => name))];
  const pick = (fields: readonly Field[]): readonly Field[] =>
    names.map((name) => fields.find((field) => field.name === name) ?? nothing(name));
  const sides = { first: pick(first), second: pick(second) };
  return {
    columns: sides.first.map((field, at) => joined(field, sides.second[at] ?? field)),
    of: (domain, isStale) => sides[apis.apiOf(domain, isStale)],
  };
}

function isSame(one: readonly Field[], other: readonly Field[]): boolean {
  const describe = ({ name, expression }: Field): string => JSON.stringify([name, expression]);
  return one.map(describe).join() === other.map(describe).join();
}

/** A column that answers of one API do not have. */
function nothing(name: string): Field {
  return { name, valueOf: () => undefined };
}

function joined(one: Field, other: Field): Field {
  const expressions = [one.expression, other.expression].filter((text) => text !== undefined);
  return { ...one, expression: [...new Set(expressions)].join(' | ') };
}
