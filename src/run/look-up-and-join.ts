import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { MOST_NAMES } from '../brand/shape.ts';
import { countShapes, flatColumnsOf, MOST_PATHS } from '../collector/fields/enriched-columns.ts';
import type { Field } from '../collector/fields/fields.ts';
import { measureFilledShares } from '../collector/fields/filled-share.ts';
import { rankPaths } from '../collector/fields/rank-paths.ts';
import { join } from '../collector/join.ts';
import { isListed, type JoinedRow, type OutputRow } from '../collector/joined-row.ts';
import type { OutputColumn, OutputColumns } from '../collector/output/output-columns.ts';
import { isFilled, type ReadyRows } from '../collector/ready-rows.ts';
import { createRowAnswers, type RowAnswers } from '../collector/row-answers.ts';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { formatCount } from '../common/format.ts';
import { unlessAborted } from '../common/lifetime.ts';
import { shorten } from '../rows/columns/names.ts';
import type { SavedColumn } from '../store/saved-columns.ts';
import { MOST_SHAPES } from '../store/shapes.ts';
import type { RunEvent } from '../watch/events.ts';
import {
  createStatusCounts,
  type LogosSummary,
  type StatusCounts,
  sumOf,
} from '../watch/summary.ts';
import { openLogosOf } from './logos-of-run.ts';
import { type LookupTotals, lookUpAll } from './lookups/look-up-all.ts';
import { makeStore, type PlannedRun, planAgain } from './plan-run.ts';
import { findLayout, nameColumns } from './ready-of-run.ts';
import type { RunContext } from './run-context.ts';
import { addTotals, lookUpSample } from './sample-of-run.ts';

/** The joined rows, once all lookups are done. */
export interface JoinedRun {
  readonly totals: LookupTotals;
  /** The counts of logos; undefined when none were to be saved. */
  readonly logos: LogosSummary | undefined;
  readonly columns: OutputColumns;
  readonly rows: AsyncIterable<readonly OutputRow[]>;
  /** Complete when all rows were read. */
  readonly statuses: StatusCounts;
}

/** Where the rows of a run go. */
export interface Destination {
  /** The folder of the output, for paths that are relative to it. @default the present one */
  readonly outFolder?: string;
  /**
   * Ids of the output from night to night. Its columns keep their names and their order if it had
   * any under one of them. @default none
   */
  readonly ids?: readonly string[];
}

/**
 * Makes the lookups that are due, fetches logos, and joins each row with its outcome.
 *
 * @throws the signal's reason when it fires before the first call
 */
export async function lookUpAndJoin(
  planned: PlannedRun,
  { outFolder = '.', ids = [] }: Destination = {},
): Promise<JoinedRun> {
  const { sample = 0 } = planned.job.settings;
  const isSampled = sample > 0 && planned.plan.lookups > sample;
  if (!isSampled) await confirmCalls(planned);
  let run = await makeStore(planned);
  const { job, context, source, format, store, isUsable, startedAtMs } = run;
  const logos = await openLogosOf(run, outFolder);
  const lookedUp = isSampled ? await lookUpSampleFirst(run, sample) : await lookUpDue(run);
  throwIfNothingAsked(lookedUp, run);
  const savedLogos = await logos?.save(lookedUp.stopped);
  const totals = { ...lookedUp, stopped: lookedUp.stopped ?? savedLogos?.stopped };
  context.onEvent({ type: 'writing', rows: run.plan.rows });
  const answers = createRowAnswers({
    store,
    isUsable,
    startedAtMs,
    // A trial says why there is no answer, and shows no older one in its place.
    maxStaleMs: context.isTrial ? 0 : (job.settings.maxStale ?? Number.POSITIVE_INFINITY),
  });
  const layout = findLayout(store, ids);
  const enriched = job.settings.fields ?? (await findEnrichedColumns(run, answers, layout));
  const columns = nameColumns(run, { enriched, further: logos?.columns, layout });
  if (run.ready && !run.ready.isAsExpected(columns)) run = await planAgain(run);
  for (const { from, to } of columns.renamed) {
    const message = `The list already has a column '${from}': the added one is called '${to}'.`;
    context.onEvent({ type: 'notice', message });
  }
  // Before the output is in its place: a column too many in the store does no harm, one too few would.
  const reason = totals.stopped?.reason;
  if (ids.length > 0 && reason !== 'misdirected' && reason !== 'unusable_store') {
    await store.saveColumns(ids, columns.layout).catch((error: unknown) => {
      const message = `The order of the columns could not be kept for the next run: ${describeSystemError(error)}.`;
      context.onEvent({ type: 'notice', message });
    });
  }
  const statuses = createStatusCounts();
  const asked = columns.enriched.slice(0, job.settings.fields?.length ?? 0);
  const record = context.report?.recorder.beginRows({ ...run, columns });
  const list = { read: run.index.readRows, assertUnchanged: () => source.assertUnchanged() };
  const rows = join({
    ...(run.ready ? { source: list, headBytes: 0 } : { source, headBytes: format.headBytes }),
    index: run.index,
    answers,
    enriched,
    fill: run.fill,
    skipReason: reason ?? 'pruned',
  });
  return {
    totals,
    logos: savedLogos?.summary,
    columns,
    statuses,
    rows: count(rows, {
      statuses,
      blank: createBlankColumns(asked),
      ready: run.ready?.rows,
      record,
      expected: run.plan.rows,
      onEvent: context.onEvent,
    }),
  };
}

async function lookUpSampleFirst(run: PlannedRun, most: number): Promise<LookupTotals> {
  const { totals, run: rest } = await lookUpSample(run, most, lookUpDue);
  if (totals.stopped) return totals;
  await confirmCalls(rest);
  return addTotals(totals, await lookUpDue(rest));
}

/** @param isLeftOut domains that are not looked up now. @default none is left out */
async function lookUpDue(
  run: PlannedRun,
  isLeftOut: (domain: string) => boolean = () => false,
): Promise<LookupTotals> {
  const { job, context, store, isUsable } = run;
  return await lookUpAll({
    job,
    name: runName(run),
    list: run.source.name,
    index: run.index,
    store,
    plan: run.plan,
    domainRows: run.domainRows,
    startedAtMs: run.startedAtMs,
    now: run.now,
    isFresh: (domain) => {
      const head = store.findHead(domain);
      return isLeftOut(domain) || (head !== undefined && isUsable(domain, head));
    },
    ...context,
  });
}

/**
 * @throws an `AbortError` when `confirm` returns false; the signal's reason when it fires before
 */
async function confirmCalls({ job, context, plan, column }: PlannedRun): Promise<void> {
  const { yes = false, confirmAbove } = job.settings;
  const { confirm, signal } = context;
  const least = column.isDoubtful ? 0 : confirmAbove;
  if (!yes && confirm && plan.calls > least) {
    // A program without types may give what somebody typed, such as 'no'.
    const answer: unknown = await unlessAborted(confirm(plan), signal);
    if (answer !== true) {
      throw new DOMException('Whoever was asked said no.', 'AbortError');
    }
  }
  signal.throwIfAborted();
}

/**
 * When a run is ended before its first call, while it is paused or has to wait, the outputs of the
 * last run are kept. A trial is excluded, because it reports itself why there is no answer. So is a
 * queue, where workers may have made calls that they could not report.
 *
 * @throws the signal's reason
 */
function throwIfNothingAsked({ stopped, calls }: LookupTotals, { job, context }: PlannedRun): void {
  if (context.isTrial || job.settings.queue !== undefined) return;
  if (stopped?.reason === 'interrupted' && calls === 0) context.signal.throwIfAborted();
}

/** The same for the same list on the same store, so that a killed run is resumed. */
function runName({ job, store, source }: PlannedRun): string {
  const list = source.hash ?? resolve(source.name);
  const parts = [store.id, job.endpoint.id, list, job.settings.out ?? ''];
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 16);
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
  readonly blank: BlankColumns;
  /** What wrote rows during the first reading. */
  readonly ready: Pick<ReadyRows, 'filled'> | undefined;
  /** Records the rows for the report. */
  readonly record: ((rows: readonly JoinedRow[]) => void) | undefined;
  readonly expected: number;
  readonly onEvent: RunContext['onEvent'];
}

/** Counts rows as they pass, and makes sure that none gets lost. */
async function* count(
  rows: AsyncIterable<readonly OutputRow[]>,
  { statuses, blank, ready, record, expected, onEvent }: Counting,
): AsyncGenerator<readonly OutputRow[]> {
  const teller = createRowTeller({ total: expected, onEvent });
  for await (const batch of rows) {
    const listed = batch.filter(isListed);
    for (const row of listed) statuses[row.status] += 1;
    blank.add(listed);
    record?.(listed);
    let written = 0;
    for (const row of batch) if (row.status === 'written') written += row.rows;
    statuses.found += written;
    blank.addWritten(written, ready?.filled ?? 0);
    yield batch;
    teller.add(listed.length + written);
  }
  teller.end();
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
  /** @param filled which of the columns have a value in some of them, one bit each */
  addWritten(rows: number, filled: number): void;
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
      for (const at of blank.keys()) if ((filled & (1 << at)) !== 0) blank.delete(at);
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
interface RowTeller {
  add(rows: number): void;
  /** Must be called after the last row. */
  end(): void;
}

interface RowTellerOptions {
  readonly total: number;
  readonly onEvent: (event: RunEvent) => void;
  /** The time in milliseconds. @default since the process started */
  readonly now?: () => number;
}

/** Nothing is reported when writing takes less time than this. */
const FIRST_MS = 1_000;
const EVERY_MS = 250;

/** Reports a few times a second, once writing takes more than a moment. */
export function createRowTeller({
  total,
  onEvent,
  now = () => performance.now(),
}: RowTellerOptions): RowTeller {
  const startMs = now();
  let nextAtMs = startMs + FIRST_MS;
  let written = 0;
  let isTold = false;

  function tell(): void {
    isTold = true;
    onEvent({ type: 'rows', written, total, elapsedMs: now() - startMs });
  }

  return {
    add: (rows) => {
      written += rows;
      const nowMs = now();
      if (nowMs < nextAtMs) return;
      nextAtMs = nowMs + EVERY_MS;
      tell();
    },
    end: () => {
      if (isTold) tell();
    },
  };
}
