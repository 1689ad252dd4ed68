import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Changes } from '../collector/changes.ts';
import { isListed } from '../collector/joined-row.ts';
import { type EnrichedRow, toEnrichedRow } from '../collector/output/output-columns.ts';
import { chooseOutputPaths, folderOf, type OutputPaths } from '../collector/output/output-paths.ts';
import { type Outputs, openOutputs } from '../collector/output/outputs.ts';
import { idOfParts } from '../common/hashes.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import type { FoundOut } from '../watch/findings.ts';
import type { RunView } from '../watch/run-view.ts';
import { type JoinedRun, joinRows } from './join.ts';
import { forgetAll, lookUp } from './look-up.ts';
import { type OpenedList, open } from './open.ts';
import { openStoresOf, plan } from './plan.ts';
import type { RunContext } from './run-context.ts';

/** Enriches a list into two files. */
export async function runToFiles(input: ListInput, job: Job, context: RunContext): Promise<RanTo> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer });
    const files = await openFiles(input, list);
    const { stores, paths } = files;
    const planned = await plan(list, stores);
    const lookedUp = await lookUp(planned, folderOf(paths.out));
    const ranTo = await write(await joinRows(lookedUp), files);
    await forgetAll(planned, lookedUp.totals.stopped);
    return ranTo;
  } finally {
    await closer.close();
  }
}

/** Enriches a list row by row, and yields the rows to the caller. */
export async function* runToRows(
  input: ListInput,
  job: Job,
  context: RunContext,
): AsyncGenerator<EnrichedRow, RanTo> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer });
    const stores = await openStoresOf(job, context);
    closer.add(stores[0]);
    const planned = await plan(list, stores);
    const lookedUp = await lookUp(planned);
    try {
      const joined = await joinRows(lookedUp);
      await joined.store.leaveTurn(); // whoever gets the rows may use the store
      for await (const rows of joined.rows) {
        for (const row of rows) {
          if (isListed(row)) yield toEnrichedRow(row, list.format, joined.columns);
          else if (row.status === 'passed') yield list.format.toObject(row.raw);
        }
      }
      return await finish(joined);
    } finally {
      await forgetAll(planned, lookedUp.totals.stopped); // also where the caller reads no further
    }
  } finally {
    await closer.close();
  }
}

/** All that a run writes, opened before any call is made. */
interface FilesOfRun {
  readonly paths: OutputPaths;
  readonly stores: Awaited<ReturnType<typeof openStoresOf>>;
  readonly outputs: Outputs;
}

async function openFiles(input: ListInput, list: OpenedList): Promise<FilesOfRun> {
  const { job, context, closer, source, format } = list;
  const paths = await chooseOutputPaths({ ...job.settings, input, source, format });
  await context.report?.openFiles(source.file ? [source.file] : []);
  const stores = await openStoresOf(job, context);
  const store = closer.add(stores[0]);
  const outputs = await openOutputs(paths, {
    sources: [source],
    parts: store.parts,
    onNotice: (message) => context.onEvent({ type: 'notice', message }),
  });
  closer.add(outputs);
  return { paths, stores, outputs };
}

/**
 * Opens what the last run of the same name reported.
 *
 * @param path the path of the changes file
 */
async function openChangesOf(
  { job, context, store, format, fill, columns }: JoinedRun,
  path: string,
): Promise<Changes> {
  // Few runs report changes. Others need not load this.
  const { comparedColumnsOf, openChanges } = await import('../collector/changes.ts');
  return openChanges({
    reported: store.reported(idOfParts([context.changesId ?? resolve(path)])),
    columns: [...comparedColumnsOf(columns.out, format), ...(fill?.compared ?? [])],
    reportsColumns: job.settings.fields === undefined && !columns.out.some(({ isRest }) => isRest),
  });
}

async function write(joined: JoinedRun, files: FilesOfRun): Promise<RanTo> {
  const { columns, totals, format, extent } = joined;
  const { paths } = files;
  // A wrong address or credential must not blank what an earlier run has written.
  const hasAnswers = joined.apis.some(({ store }) => store.hasAnswers());
  const isKept = totals.stopped !== undefined && !hasAnswers && existsSync(paths.out);
  if (isKept || totals.stops.every((stop) => stop?.reason === 'misdirected')) {
    for await (const _ of joined.rows); // reading the rows counts them
    if (isKept) {
      const message = `Nothing was learned of any row: ${paths.out} stays as it was.`;
      joined.context.onEvent({ type: 'notice', message });
    }
    return await finish(joined);
  }
  const changes =
    paths.changes === undefined ? undefined : await openChangesOf(joined, paths.changes);
  const layout = { format, extent, columns, changes };
  await files.outputs.write(joined.rows, layout);
  return await finish(joined, {
    out: paths.out,
    failures: paths.failures,
    changes: changes && { ...changes.counts, file: paths.changes ?? '' },
  });
}

/** The files that were written. */
type Written = Partial<Pick<RunView, 'out' | 'failures' | 'changes'>>;

/** What a run came to, beside what its events say. */
export type RanTo = Pick<RunView, 'statuses'> &
  Partial<RunView> & { readonly foundOut: readonly FoundOut[] };

/** Ends a run. Returns what no event has said of it. */
export async function finish(run: JoinedRun, written: Written = {}): Promise<RanTo> {
  const { statuses, totals, job, fill, logos } = run;
  const { lookups, stopped, limit, foundOut, callsPer, pendingUntilMs, sources } = totals;
  const folder = job.settings.store;
  return {
    statuses,
    lookups,
    stopped,
    limit,
    foundOut,
    callsPer,
    pendingUntilMs,
    ...(sources && { sources }),
    store: { folder, sizeBytes: sizeOnDisk(folder) },
    ...written,
    filled: fill?.counts,
    logos: logos?.summary,
  };
}
