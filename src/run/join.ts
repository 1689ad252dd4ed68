import { createRowAnswers, type RowAnswers } from '../collector/asked-apis.ts';
import { type FoundPaths, flatColumnsOf } from '../collector/fields/enriched-columns.ts';
import { isListed, type JoinedRow, type OutputRow } from '../collector/joined-row.ts';
import { nameOutputColumns, type OutputColumns } from '../collector/output/output-columns.ts';
import { join } from '../collector/second-reading.ts';
import { BrandfillError } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { shorten } from '../rows/columns/names.ts';
import { PROGRESS_MS } from '../watch/events.ts';
import type { RowRecorder } from '../watch/row-reasons.ts';
import { createStatusCounts, type StatusCounts, sumOf } from '../watch/run-view.ts';
import type { LookedUp } from './look-up.ts';
import type { OpenedList } from './open.ts';
import type { PlannedList } from './plan.ts';
import { notify } from './run-context.ts';

/** The rows of a list with their outcomes, once all lookups are done. */
export type JoinedRows = Awaited<ReturnType<typeof joinRows>>;

/** Joins each row of a list with its outcome. */
export async function joinRows(list: OpenedList, planned: PlannedList, { stops, logos }: LookedUp) {
  const { context, job, format, source, fill } = list;
  const { apis, index } = planned;
  context.onEvent({ type: 'writing' });
  // A trial says why there is no answer, and shows no older one in its place.
  const answers = createRowAnswers({ apis, keepsStale: !context.isTrial });
  const enriched = apis[0].fields ?? flatColumnsOf(await findPaths(planned, answers));
  const columns = nameOutputColumns({
    prefix: job.settings.prefix,
    enriched,
    further: logos?.columns,
    taken: format.takenNames,
    hasChanges: job.settings.changes !== undefined,
    isSeveral: apis.length > 1,
  });
  for (const { from, to } of columns.renamed) {
    notify(context, `The list already has a column '${from}': the added one is called '${to}'.`);
  }
  const rows = join({
    source,
    headBytes: format.headBytes,
    index,
    answers,
    apis: apis.map(({ name, fields = enriched }, at) => {
      const { reason = 'pruned', trouble } = stops[at] ?? {};
      return { name, fields, skipReason: trouble ?? reason };
    }),
    fill,
  });
  const statuses = createStatusCounts();
  return {
    columns,
    /** Complete when all rows were read. */
    statuses,
    rows: count(rows, { list, planned, columns, statuses }),
  };
}

/** Sees the answers too that were not fresh when the rows were planned. */
async function findPaths(
  { index, paths, plan }: PlannedList,
  answers: RowAnswers,
): Promise<FoundPaths> {
  if (!paths) return { paths: [], isCut: false }; // the columns were named
  if (plan.lookups === 0) return paths.found();
  let row = 0;
  for await (const rows of index.read()) {
    for (const { kind, text } of rows) {
      if (kind === 'due' || kind === 'known') row += 1;
      if (kind !== 'due') continue;
      const { outcome, older = outcome } = answers(text);
      paths.see(older?.json ?? '', row, text);
    }
  }
  return paths.found();
}

/** How far the writing is is not told when it takes less time than this. */
const FIRST_MS = 1_000;

interface Counted {
  readonly columns: OutputColumns;
  readonly statuses: StatusCounts;
  readonly list: OpenedList;
  readonly planned: PlannedList;
}

/** Counts rows as they pass, and makes sure that none gets lost. */
async function* count(
  rows: AsyncIterable<readonly OutputRow[]>,
  { list, planned, columns, statuses }: Counted,
): AsyncGenerator<readonly OutputRow[]> {
  const { onEvent, report } = list.context;
  const record = report?.recorder.beginRows({ ...list, columns });
  let tellAtMs = performance.now() + FIRST_MS;
  let [written, isTold] = [0, false];
  const others: Others = { rows: 0, first: undefined };
  const tell = (): void => onEvent({ type: 'writing', written });
  for await (const batch of rows) {
    const listed = batch.filter(isListed);
    for (const row of listed) {
      statuses[row.status] += 1;
      if (row.status !== 'found' || row.answeredDomain === undefined) continue;
      others.rows += 1;
      others.first ??= row;
    }
    record?.take(listed);
    yield batch;
    written += listed.length;
    if (performance.now() < tellAtMs) continue;
    tellAtMs = performance.now() + PROGRESS_MS;
    isTold = true;
    tell();
  }
  if (isTold) tell();
  const blank = record && describeBlank(planned, columns, { found: statuses.found, ...record });
  for (const message of [blank, describeOthers(others, statuses.found)]) {
    if (message !== undefined) notify({ onEvent }, message);
  }
  const counted = sumOf(statuses);
  if (counted !== planned.plan.rows) {
    throw new BrandfillError(
      'COUNTS_DIFFER',
      `Cannot finish: ${planned.plan.rows} rows came in and ${counted} would go out. This is a defect of Brandfill; no output was changed, please report it.`,
    );
  }
}

/** Rows whose answer names another domain than was asked. */
interface Others {
  rows: number;
  first: JoinedRow | undefined;
}

function describeOthers({ rows, first }: Others, found: number): string | undefined {
  if (!first) return undefined;
  const such = `'${shorten(first.answeredDomain ?? '')}' for ${first.domain}`;
  return `${formatCount(rows)} of ${countOf(found, 'row')} found ${rows === 1 ? 'has an answer that names' : 'have an answer that names'} another domain than was asked, such as ${such}: a company that has moved, or another one.`;
}

/** With fewer rows, a column may be blank by chance. */
const LEAST_ROWS = 5;

/**
 * Names expressions of `fields` without a value for any row. Mostly that is a mistake: a typing
 * error, or a field that is nested within another.
 */
function describeBlank(
  { apis }: PlannedList,
  { enriched }: OutputColumns,
  { found, filled }: Pick<RowRecorder, 'filled'> & { readonly found: number },
): string | undefined {
  const [{ fields }] = apis;
  if (!fields) return undefined;
  const named = enriched.slice(0, fields.length);
  const blank = named.filter((_, at) => filled[at] === 0);
  const isGuessed = apis.some((api) => api.fields?.some((field) => field.isGuessed));
  if (isGuessed && found > 0) return describeGuessed(named, blank);
  if (blank.length === 0 || found < LEAST_ROWS) return undefined;
  const names = blank.map(({ name, expression = '' }) => `'${name}' (${shorten(expression)})`);
  return `No answer has anything for ${names.join(', ')}: blank in all ${formatCount(found)} rows that were found; brandfill try shows what an answer has.`;
}

/** Says which of the standard columns answers have, where no profile describes the API. */
function describeGuessed(all: OutputColumns['enriched'], blank: OutputColumns['enriched']): string {
  const [have, lack] = [all.filter((one) => !blank.includes(one)), blank].map((some) =>
    some.map(({ name }) => name).join(', '),
  );
  const without = lack === '' ? '' : `; nothing by a name that is known here for ${lack}`;
  return `Of the standard columns the answers have ${have || 'none'}${without}. To name others there is option 'fields'.`;
}
