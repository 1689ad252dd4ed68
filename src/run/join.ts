import { findPaths, flatColumnsOf } from '../collector/fields/enriched-columns.ts';
import { join } from '../collector/join.ts';
import { isListed, type JoinedRow, type OutputRow } from '../collector/joined-row.ts';
import {
  isFilled,
  nameOutputColumns,
  type OutputColumn,
  type OutputColumns,
} from '../collector/output/output-columns.ts';
import { createRowAnswers } from '../collector/row-answers.ts';
import { BrandfillError } from '../common/errors.ts';
import { formatCount } from '../common/format.ts';
import { shorten } from '../rows/columns/names.ts';
import { PROGRESS_MS } from '../watch/events.ts';
import type { RowRecorder } from '../watch/row-reasons.ts';
import { createStatusCounts, type StatusCounts, sumOf } from '../watch/run-view.ts';
import type { LookedUpRun } from './look-up.ts';
import type { RunContext } from './run-context.ts';

/** A run with its joined rows, once all lookups are done. */
export interface JoinedRun extends LookedUpRun {
  readonly columns: OutputColumns;
  readonly rows: AsyncIterable<readonly OutputRow[]>;
  /** Complete when all rows were read. */
  readonly statuses: StatusCounts;
}

/** Joins each row of a list with its outcome. */
export async function joinRows(run: LookedUpRun): Promise<JoinedRun> {
  const { context, totals, logos, job, format, source, index } = run;
  const { fields } = job.settings;
  const reason = totals.stopped?.reason;
  context.onEvent({ type: 'writing' });
  // A trial says why there is no answer, and shows no older one in its place.
  const answers = createRowAnswers({ ...run, keepsStale: !context.isTrial });
  const enriched = fields ?? flatColumnsOf(await findPaths({ index, answers }));
  const columns = nameOutputColumns({
    prefix: job.settings.prefix,
    enriched,
    further: logos?.columns,
    taken: format.takenNames,
    hasChanges: job.settings.changes !== undefined,
  });
  for (const { from, to } of columns.renamed) {
    const message = `The list already has a column '${from}': the added one is called '${to}'.`;
    context.onEvent({ type: 'notice', message });
  }
  const statuses = createStatusCounts();
  const rows = join({
    source,
    headBytes: format.headBytes,
    index,
    answers,
    enriched,
    fill: run.fill,
    skipReason: reason ?? 'pruned',
  });
  return {
    ...run,
    columns,
    statuses,
    rows: count(rows, {
      statuses,
      blank: createBlankColumns(columns.enriched.slice(0, fields?.length ?? 0)),
      record: context.report?.recorder.beginRows?.({ ...run, columns }),
      expected: run.plan.rows,
      onEvent: context.onEvent,
    }),
  };
}

interface Counting {
  readonly statuses: StatusCounts;
  readonly blank: BlankColumns;
  /** Records the rows for the report. */
  readonly record: RowRecorder | undefined;
  readonly expected: number;
  readonly onEvent: RunContext['onEvent'];
}

/** How far the writing is is not told when it takes less time than this. */
const FIRST_MS = 1_000;

/** Counts rows as they pass, and makes sure that none gets lost. */
async function* count(
  rows: AsyncIterable<readonly OutputRow[]>,
  { statuses, blank, record, expected, onEvent }: Counting,
): AsyncGenerator<readonly OutputRow[]> {
  let tellAtMs = performance.now() + FIRST_MS;
  let [written, isTold] = [0, false];
  const tell = (): void => onEvent({ type: 'writing', written });
  for await (const batch of rows) {
    const listed = batch.filter(isListed);
    for (const row of listed) statuses[row.status] += 1;
    blank.add(listed);
    record?.take(listed);
    yield batch;
    written += listed.length;
    if (performance.now() < tellAtMs) continue;
    tellAtMs = performance.now() + PROGRESS_MS;
    isTold = true;
    tell();
  }
  if (isTold) tell();
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
    describe: () => {
      if (blank.size === 0 || found < LEAST_ROWS) return undefined;
      const names = [...blank.values()].map(
        ({ name, expression = '' }) => `'${name}' (${shorten(expression)})`,
      );
      return `No answer has anything for ${names.join(', ')}: blank in all ${formatCount(found)} rows that were found; brandfill try shows what an answer has.`;
    },
  };
}
