import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath, resolve as resolvePath } from 'node:path';
import { nameApi } from './api-name.ts';
import { type Closer, createCloser } from './closer.ts';
import { type Changes, openChanges, prepareManifest } from './collector/changes/changes.ts';
import { comparedColumnsOf } from './collector/changes/compared-columns.ts';
import { enrichedColumnsOf, findShapes } from './collector/enriched-columns.ts';
import type { Field } from './collector/fields.ts';
import { createFill, type Fill } from './collector/fill.ts';
import { type JoinedRow, join } from './collector/join.ts';
import type { OpenEarlierOutput } from './collector/merge/earlier-output.ts';
import type { FailureColumns } from './collector/merge/failure-columns.ts';
import { nameOutputColumns, type OutputColumns } from './collector/output-columns.ts';
import { chooseOutputPaths } from './collector/output-paths.ts';
import { openOutputs } from './collector/outputs.ts';
import { createRowNotes } from './collector/row-notes.ts';
import { type EnrichedRow, toEnrichedRow } from './collector/row-object.ts';
import { understandList } from './domain-column-of-list.ts';
import { BrandfillError } from './errors.ts';
import { createFreshnessCheck } from './freshness-of-job.ts';
import type { Job } from './job/job.ts';
import { type LookupTotals, lookUpAll } from './look-up-all.ts';
import { assertColumnsThere, chooseColumn } from './producer/choose-column.ts';
import { makePlan, type Plan, type RowNotes } from './producer/plan.ts';
import { createRowIndex, type RowIndex } from './producer/row-index.ts';
import type { DomainColumn } from './rows/domain-column.ts';
import { type ListInput, openList } from './rows/list-input.ts';
import { openRows } from './rows/open-rows.ts';
import type { RowColumn, RowFormat } from './rows/row-format.ts';
import type { Source } from './rows/source.ts';
import type { Dated } from './store/freshness.ts';
import { sizeOnDisk } from './store/size.ts';
import { createEmptyStore, type OutcomeStore, openStore } from './store/store.ts';
import type { RunEvent } from './watch/events.ts';
import { createStatusCounts, type StatusCounts, type Summary, sumOf } from './watch/summary.ts';

/** What a run takes from outside. */
export interface RunContext {
  /** Stops the run in order: no new call, calls under way get ten seconds, rows are written. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** Asked before a run of many calls; false ends it as the signal would. @default nobody is asked */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** What the changes file is called from run to run. @default its path */
  readonly changesId?: string | undefined;
}

/** Reads and counts. Calls nothing, and leaves no file behind. */
export async function planOnly(input: ListInput, job: Job, context: RunContext): Promise<Plan> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: tmpdir() });
    const { store: folder } = job.settings;
    const hasStore = existsSync(joinPath(folder, 'data.mdb'));
    const store = hasStore ? openStoreOf(job) : createEmptyStore();
    return (await plan(list, closer.add(store))).plan;
  } finally {
    await closer.close();
  }
}

/** Enriches a list into two files. */
export async function runToFiles(
  input: ListInput,
  job: Job,
  context: RunContext,
): Promise<Summary> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: job.settings.store });
    const { source, format } = list;
    const { out, failures, changes: changed } = job.settings;
    const paths = await chooseOutputPaths({
      input,
      out,
      failures,
      changes: changed,
      source,
      format,
    });
    const store = closer.add(openStoreOf(job));
    const manifest = await prepareManifestOf(list);
    const outputs = closer.add(await openOutputs({ ...paths, manifest }));
    const run = await plan(list, store);
    const joined = await lookUpAndJoin(run);
    if (joined.totals.stopped?.reason === 'misdirected') return await leaveOutputs(run, joined);
    const { columns } = joined;
    const changes = await openChangesOf(run, columns, manifest);
    await outputs.write(joined.rows, { format, extent: run.plan, columns, changes });
    return summarize(run, joined, {
      ...paths,
      changes: changes && { ...changes.counts, file: paths.changes ?? '' },
    });
  } finally {
    await closer.close();
  }
}

/** Whoever had the wrong address keeps what the right one gave last time. */
async function leaveOutputs(run: PlannedRun, joined: JoinedRun): Promise<Summary> {
  for await (const _ of joined.rows); // counts them
  return summarize(run, joined, {});
}

/** Enriches a list row by row, into the hands of the caller. */
export async function* runToRows(
  input: ListInput,
  job: Job,
  context: RunContext,
): AsyncGenerator<EnrichedRow, Summary> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: job.settings.store });
    const run = await plan(list, closer.add(openStoreOf(job)));
    const joined = await lookUpAndJoin(run);
    for await (const rows of joined.rows) {
      for (const row of rows) yield toEnrichedRow(row, list.format, joined.columns);
    }
    return summarize(run, joined, {});
  } finally {
    await closer.close();
  }
}

export function openStoreOf({ settings, endpoint }: Job): OutcomeStore {
  const apiName = nameApi(settings);
  return openStore(settings.store, endpoint.id, { keepsFound: settings.onlyMissing, apiName });
}

/** A list that is open and understood. */
export interface OpenedList {
  readonly job: Job;
  readonly context: RunContext;
  readonly closer: Closer;
  readonly spoolFolder: string;
  readonly source: Source;
  readonly format: RowFormat;
  readonly column: DomainColumn;
  /** Our columns in it, where it is a failures file that is to be merged. */
  readonly ours: FailureColumns | undefined;
  /** The output that it is merged into. */
  readonly earlier: OpenEarlierOutput | undefined;
  /** What goes into blank cells of the list's own. */
  readonly fill: Fill | undefined;
  readonly notes: RowNotes | undefined;
  readonly startedMs: number;
  readonly startedAtMs: number;
}

/** Opens a list and understands it. */
export async function open(
  input: ListInput,
  job: Job,
  { context, closer, spoolFolder }: Pick<OpenedList, 'context' | 'closer' | 'spoolFolder'>,
): Promise<OpenedList> {
  const started = { startedMs: performance.now(), startedAtMs: Date.now() };
  for (const message of job.notices) context.onEvent({ type: 'notice', message });
  const source = closer.add(await openList(input, { spoolFolder, signal: context.signal }));
  const format = openRows(source, job.settings);
  const { settings } = job;
  const { key, fill: fills } = settings;
  const { signal } = context;
  const list = { source, format, settings, closer, spoolFolder, signal };
  const { column, merging } = await understandList(list);
  const { ours, earlier } = merging ?? { ours: undefined, earlier: undefined };
  const own = ours?.own ?? format;
  context.onEvent({ type: 'opened', input: source.name, format: format.description, column });
  const choose = (name: string): RowColumn => chooseColumn(source, own, name);
  const rules = fills?.map(({ column, field }) => ({ column: choose(column), field })) ?? [];
  const fill = rules.length === 0 ? undefined : createFill(rules, format);
  const notes = createRowNotes({
    key: key === undefined ? undefined : choose(key),
    filled: rules.map((rule) => rule.column),
    place: ours?.row,
  });
  const opened = { job, context, closer, spoolFolder, source, format, column, fill, notes };
  return { ...opened, ours, earlier, ...started };
}

/** A run that knows what it has to do. */
export interface PlannedRun extends OpenedList {
  readonly store: OutcomeStore;
  readonly index: RowIndex;
  readonly plan: Plan & { readonly maxFields: number };
  /** The shapes of the outcomes that were fresh when it was planned, in the order of the rows. */
  readonly freshShapes: ReadonlyMap<number, number>;
  /** Whether an outcome counts in this run. */
  readonly isUsable: (domain: string, outcome: Dated) => boolean;
}

/** Reads all rows once. */
export async function plan(list: OpenedList, store: OutcomeStore): Promise<PlannedRun> {
  const { job, context, closer, source, format, column, startedAtMs } = list;
  const { registrable = false } = job.settings;
  const isUsable = createFreshnessCheck(job.settings, startedAtMs);
  const index = closer.add(await createRowIndex(list.spoolFolder));
  const freshShapes = new Map<number, number>();
  let rows = 0;
  const made = await makePlan({
    source,
    format,
    column,
    registrable,
    isFresh: (domain) => {
      rows += 1;
      const head = store.findHead(domain);
      if (!head || !isUsable(domain, head)) return false;
      if (!freshShapes.has(head.shapeId)) freshShapes.set(head.shapeId, rows);
      return true;
    },
    notes: list.notes,
    index,
    signal: context.signal,
  });
  assertColumnsThere(source, format, list.notes?.columns ?? []);
  context.onEvent({ type: 'planned', plan: made });
  return { ...list, store, index, plan: made, freshShapes, isUsable };
}

/** Rows on their way out, once all lookups are done. */
export interface JoinedRun {
  readonly totals: LookupTotals;
  readonly columns: OutputColumns;
  readonly rows: AsyncIterable<readonly JoinedRow[]>;
  /** Complete when all rows were read. */
  readonly statuses: StatusCounts;
}

/** Makes the lookups that are due, and joins each row with its outcome. */
export async function lookUpAndJoin(run: PlannedRun): Promise<JoinedRun> {
  const { job, context, source, format, store, index, isUsable, startedAtMs } = run;
  await confirmCalls(run);
  const totals = await lookUpAll({
    job,
    name: runName(run),
    index,
    store,
    lookups: run.plan.lookups,
    startedAtMs,
    isFresh: (domain) => {
      const head = store.findHead(domain);
      return head !== undefined && isUsable(domain, head);
    },
    ...context,
  });
  context.onEvent({ type: 'writing', rows: run.plan.rows });
  const enriched = job.settings.fields ?? (await findEnrichedColumns(run));
  const columns = nameOutputColumns({
    prefix: job.settings.prefix,
    enriched,
    taken: takenNames(run),
    hasChanges: job.settings.changes !== undefined,
  });
  for (const { from, to } of columns.renamed) {
    const message = `The list has a column '${from}' already: ours is called '${to}'.`;
    context.onEvent({ type: 'notice', message });
  }
  const statuses = createStatusCounts();
  const rows = join({
    source,
    headBytes: format.headBytes,
    index,
    store,
    enriched,
    fill: run.fill,
    isUsable: (outcome) => isUsable(outcome.domain, outcome),
    skipReason: totals.stopped?.reason ?? 'not_asked',
  });
  return { totals, columns, statuses, rows: count(rows, statuses, run.plan.rows) };
}

/** Names that the list has itself. Of a failures file, those that its list had. */
function takenNames({ format, ours }: PlannedRun): ReadonlySet<string> {
  if (!ours) return format.takenNames;
  return new Set([...format.takenNames].filter((name) => !ours.names.includes(name)));
}

async function prepareManifestOf({ job, context }: OpenedList): Promise<string | undefined> {
  const { changes, store } = job.settings;
  if (changes === undefined) return undefined;
  return await prepareManifest({ folder: store, id: context.changesId ?? resolvePath(changes) });
}

async function openChangesOf(
  { job, context, closer, format, fill }: PlannedRun,
  columns: OutputColumns,
  manifest: string | undefined,
): Promise<Changes | undefined> {
  const { fields } = job.settings;
  if (manifest === undefined) return undefined;
  return closer.add(
    await openChanges({
      manifest,
      columns: [...comparedColumnsOf(columns.out, format), ...(fill?.compared ?? [])],
      tellsLost: fields === undefined,
      onNotice: (message) => context.onEvent({ type: 'notice', message }),
    }),
  );
}

/** @throws an `AbortError` when whoever is asked says no */
async function confirmCalls({ job, context, plan }: PlannedRun): Promise<void> {
  const { yes = false, confirmAbove } = job.settings;
  if (yes || !context.confirm || plan.lookups <= confirmAbove) return;
  if (!(await context.confirm(plan))) {
    throw new DOMException('Whoever was asked said no.', 'AbortError');
  }
}

/** The same for the same list on the same store, so that a run that was killed is taken up. */
function runName({ job, store, source }: PlannedRun): string {
  const parts = [store.id, job.endpoint.id, resolvePath(source.name), job.settings.out ?? ''];
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 16);
}

/** A list of which nothing had to be looked up need not be gone through for its columns. */
async function findEnrichedColumns(run: PlannedRun): Promise<readonly Field[]> {
  const shapeIds = run.plan.lookups === 0 ? new Set(run.freshShapes.keys()) : await findShapes(run);
  return enrichedColumnsOf(shapeIds, run.store);
}

/** Counts rows as they pass, and lets none get lost on the way. */
async function* count(
  rows: AsyncIterable<readonly JoinedRow[]>,
  statuses: StatusCounts,
  expected: number,
): AsyncGenerator<readonly JoinedRow[]> {
  for await (const batch of rows) {
    for (const row of batch) statuses[row.status] += 1;
    yield batch;
  }
  const counted = sumOf(statuses);
  if (counted !== expected) {
    throw new BrandfillError(
      'COUNTS_DIFFER',
      `Cannot finish: ${expected} rows came in and ${counted} would go out. This is a defect of Brandfill; no output was changed, please report it.`,
    );
  }
}

/** Where things are that were written. */
type Written = Partial<Pick<Summary, 'out' | 'failures' | 'changes'>>;

/** Says what a run did. */
export function summarize(
  run: PlannedRun,
  joined: JoinedRun,
  { out, failures, changes }: Written,
): Summary {
  const { plan: made, startedMs } = run;
  const { lookups, calls, retries, throttled, elapsedMs: lookupMs, stopped, pace } = joined.totals;
  return {
    rows: made.rows,
    statuses: joined.statuses,
    uniqueDomains: made.uniqueDomains,
    freshDomains: made.freshDomains,
    lookups,
    calls,
    retries,
    throttled,
    elapsedMs: performance.now() - startedMs,
    lookupMs,
    callsPerSecond: calls === 0 ? 0 : calls / (lookupMs / 1_000),
    pace,
    store: { folder: run.job.settings.store, sizeBytes: sizeOnDisk(run.job.settings.store) },
    stopped,
    out,
    failures,
    filled: run.fill?.counts,
    changes,
  };
}
