import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Changes } from '../collector/changes/changes.ts';
import { isListed } from '../collector/joined-row.ts';
import {
  type EnrichedRow,
  type OutputColumns,
  toEnrichedRow,
} from '../collector/output/output-columns.ts';
import {
  chooseOutputPaths,
  folderOf,
  nameSheets,
  type OutputPaths,
  refuseLongSheets,
} from '../collector/output/output-paths.ts';
import { type Outputs, openOutputs } from '../collector/output/outputs.ts';
import { isPiped } from '../common/files.ts';
import { billOf, costOf, costOfUnits } from '../common/format.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import type { ListInput } from '../rows/list-input.ts';
import type { OutcomeStore } from '../store/store.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import type { ApiSummary, Summary } from '../watch/summary.ts';
import { type JoinedRun, joinRows } from './join.ts';
import { lookUp } from './look-up.ts';
import type { LookupTotals } from './lookups/look-up-all.ts';
import { leaveNoEmptyFolders, type OpenedList, open } from './open.ts';
import { openStoreToPlan, type PlannedRun, plan } from './plan.ts';
import { beginReadyRows } from './ready.ts';
import type { RunContext } from './run-context.ts';
import type { Side } from './two-apis.ts';

/** Enriches a list into two files. */
export async function runToFiles(
  input: ListInput,
  job: Job,
  context: RunContext,
): Promise<Summary> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: job.settings.store });
    const files = await openFiles(input, list);
    const { store, paths, ids } = files;
    const planned = await plan(list, store, await beginReadyRows(list, files));
    refuseLongSheets(paths, list.format, planned.plan.rows + planned.plan.blankRows);
    const lookedUp = await lookUp(planned, folderOf(paths.out));
    return await write(await joinRows(lookedUp, ids), files);
  } finally {
    await closer.close();
  }
}

/** Enriches a list row by row, and yields the rows to the caller. */
export async function* runToRows(
  input: ListInput,
  job: Job,
  context: RunContext,
): AsyncGenerator<EnrichedRow, Summary> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: job.settings.store });
    const planned = await plan(list, closer.add(await openStoreToPlan(job, context)));
    const joined = await joinRows(await lookUp(planned));
    for await (const rows of joined.rows) {
      for (const row of rows.filter(isListed))
        yield toEnrichedRow(row, list.format, joined.columns);
    }
    return summarize(joined);
  } finally {
    await closer.close();
  }
}

/** All that a run writes, opened before any call is made. */
interface FilesOfRun {
  readonly paths: OutputPaths;
  readonly store: OutcomeStore;
  /** Undefined when no changes are reported. */
  readonly changes: ChangesOfRun | undefined;
  readonly outputs: Outputs;
  /** Ids of the output from night to night. */
  readonly ids: readonly string[];
}

async function openFiles(input: ListInput, list: OpenedList): Promise<FilesOfRun> {
  const { job, context, closer, source, format } = list;
  const paths = await chooseOutputPaths({ ...job.settings, input, source, format });
  await context.report?.openFiles({ outputs: paths, source, sources: [source] });
  const store = closer.add(await openStoreToPlan(job, context));
  const changes =
    paths.changes === undefined ? undefined : await prepareChanges(list, paths.changes);
  const outputs = await openOutputs(
    { ...paths, manifest: changes?.manifest },
    {
      sources: [source],
      spoolFolder: job.settings.store,
      onNotice: (message) => context.onEvent({ type: 'notice', message }),
    },
  );
  closer.add(outputs);
  return { paths, store, changes, outputs, ids: idsOfOutput(input, paths.out, list) };
}

/** The reporting of what changed since the last run. */
interface ChangesOfRun {
  /** The file that keeps what was last reported. */
  readonly manifest: string;
  /**
   * Opens what the last run reported, for comparison with the columns of this one.
   *
   * @throws BrandfillError `UNWRITABLE_OUTPUT`
   */
  open(run: PlannedRun, columns: OutputColumns): Promise<Changes>;
}

/**
 * Creates the folder for the file of what was last reported, so that a run can lock the file.
 *
 * @param path the path of the changes file
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
async function prepareChanges(
  { job, context, closer }: OpenedList,
  path: string,
): Promise<ChangesOfRun> {
  // Few runs report changes. Others need not load this.
  const { comparedColumnsOf, openChanges, prepareManifest } = await import(
    '../collector/changes/changes.ts'
  );
  const { store, fields } = job.settings;
  const id = context.changesId ?? resolve(path);
  const folder = join(store, 'changes');
  closer.add(leaveNoEmptyFolders(folder));
  const manifest = prepareManifest({ folder, id });
  return {
    manifest,
    open: async ({ closer, format, fill }, columns) =>
      closer.add(
        await openChanges({
          manifest,
          columns: [...comparedColumnsOf(columns.out, format), ...(fill?.compared ?? [])],
          reportsLost: fields === undefined,
          onNotice: (message) => context.onEvent({ type: 'notice', message }),
        }),
      ),
  };
}

async function write(joined: JoinedRun, files: FilesOfRun): Promise<Summary> {
  const { columns, totals, source, format, extent, column } = joined;
  const { paths } = files;
  if (totals.stopped?.reason === 'misdirected') {
    // With a wrong address, the outputs of the right one must not be lost.
    for await (const _ of joined.rows); // reading the rows counts them
    return summarize(joined);
  }
  const changes = await files.changes?.open(joined, columns);
  const sheets = nameSheets(source.name, format);
  const layout = { format, extent, columns, changes, sheets, column };
  await files.outputs.write(joined.rows, layout);
  return summarize(joined, {
    out: paths.out,
    failures: paths.failures ?? paths.out,
    failuresSheet: paths.failures === undefined ? sheets.failures : undefined,
    changes: changes && { ...changes.counts, file: paths.changes ?? '' },
  });
}

/**
 * Ids of an output from night to night: the name of either the output or the list may have the date
 * in it.
 */
function idsOfOutput(input: ListInput, out: string, list: OpenedList): readonly string[] {
  const { job, context } = list;
  const { fields, sheet } = job.settings;
  // With --fields the user says which columns there are.
  if (fields !== undefined) return [];
  const isFile = typeof input === 'string' && !isPiped(input);
  return [
    ...(context.changesId === undefined ? [] : [`job ${context.changesId}`]),
    ...(out === '-' ? [] : [`out ${resolve(out)}`]),
    ...(isFile ? [`list ${resolve(input)} ${sheet ?? ''}`] : []),
  ].map((id) => createHash('sha256').update(id).digest('hex').slice(0, 24));
}

/** The files that were written. */
type Written = Partial<Pick<Summary, 'out' | 'failures' | 'failuresSheet' | 'changes'>>;

/** Makes the summary of a run. */
export function summarize(
  run: JoinedRun,
  { out, failures, failuresSheet, changes }: Written = {},
): Summary {
  const { plan: made, startedMs } = run;
  const {
    lookups,
    calls,
    retries,
    throttled,
    elapsedMs: lookupMs,
    stopped,
    pace,
    callsPer,
    pendingUntilMs,
  } = run.totals;
  const apis = summarizeApis(run);
  return {
    runId: run.context.runId,
    rows: made.rows,
    statuses: run.statuses,
    uniqueDomains: made.uniqueDomains,
    freshDomains: made.freshDomains,
    lookups,
    calls,
    retries,
    throttled,
    ...(apis ? { apis, cost: sumOfCosts(apis) } : priceOf(run.job, run.totals)),
    elapsedMs: performance.now() - startedMs,
    lookupMs,
    callsPerSecond: calls === 0 ? 0 : calls / (lookupMs / 1_000),
    pace,
    callsPer,
    ...(pendingUntilMs === undefined ? {} : { pendingUntilMs }),
    store: { folder: run.job.settings.store, sizeBytes: sizeOnDisk(run.job.settings.store) },
    stopped,
    out,
    failures,
    failuresSheet,
    filled: run.fill?.counts,
    logos: run.logos?.summary,
    changes,
  };
}

/** What calls cost, and what was billed for them. */
function priceOf(
  { settings: { price }, endpoint }: Job,
  { calls, throttled, billedMicros }: LookupTotals,
): Pick<Summary, 'cost' | 'bill'> {
  const { billing } = endpoint.profile ?? {};
  if (!billing) return { cost: price === undefined ? undefined : costOf(calls - throttled, price) };
  return {
    cost: price === undefined ? undefined : costOfUnits(billedMicros, price),
    bill: billOf(billedMicros, billing.unit),
  };
}

function summarizeApis({ job, apis, totals, foundBy }: JoinedRun): Summary['apis'] {
  if (!apis || !job.second || !totals.apis) return undefined;
  const [first, second] = totals.apis;
  const summarizeOne = (side: Side, of: Job, part: LookupTotals): ApiSummary => {
    const { lookups, calls, retries, throttled, pace, callsPer, stopped } = part;
    const made = { lookups, calls, retries, throttled, pace, callsPer, stopped };
    return { name: apis[side].name, found: foundBy[side], ...made, ...priceOf(of, part) };
  };
  return [summarizeOne('first', job, first), summarizeOne('second', job.second, second)];
}

/** Undefined when none has a price. */
function sumOfCosts(apis: readonly ApiSummary[]): number | undefined {
  const costs = apis.flatMap(({ cost }) => cost ?? []);
  return costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost);
}
