import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Changes } from '../collector/changes.ts';
import { isListed } from '../collector/joined-row.ts';
import { type EnrichedRow, toEnrichedRow } from '../collector/output/output-columns.ts';
import { chooseOutputPaths, folderOf } from '../collector/output/output-paths.ts';
import { openOutputs } from '../collector/output/outputs.ts';
import { idOfParts } from '../common/hashes.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import type { FoundOut } from '../watch/findings.ts';
import type { RunView } from '../watch/run-view.ts';
import { forgetSpent, isInterrupted } from './bounds.ts';
import { type JoinedRows, joinRows } from './join.ts';
import { type LookedUp, makeLookups } from './look-up.ts';
import { type OpenedList, open, openApis } from './open.ts';
import { type PlannedList, plan } from './plan.ts';
import { notify, type RunContext } from './run-context.ts';

/** Enriches a list into two files. */
export async function runToFiles(input: ListInput, job: Job, context: RunContext): Promise<RanTo> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer });
    const files = await openFiles(input, list);
    const planned = await plan(list, files.apis);
    const lookedUp = await makeLookups(list, planned, folderOf(files.paths.out));
    const joined = await joinRows(list, planned, lookedUp);
    const written = await write({ list, planned, lookedUp, joined, files });
    await end(planned, lookedUp);
    return { ...ranTo(list, lookedUp, joined), ...written };
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
    const planned = await plan(list, await openApis(list));
    const lookedUp = await makeLookups(list, planned);
    try {
      const joined = await joinRows(list, planned, lookedUp);
      await planned.apis[0].store.leaveTurn(); // whoever gets the rows may use the store
      for await (const rows of joined.rows) {
        for (const row of rows) {
          if (isListed(row)) yield toEnrichedRow(row, list.format, joined.columns);
          else if (row.status === 'passed') yield list.format.toObject(row.raw);
        }
      }
      return ranTo(list, lookedUp, joined);
    } finally {
      await end(planned, lookedUp); // also where the caller reads no further
    }
  } finally {
    await closer.close();
  }
}

/** The next run of the same name has the bounds anew, unless this one was interrupted. */
async function end({ apis }: PlannedList, { totals }: LookedUp): Promise<void> {
  if (!isInterrupted(totals.stopped)) await forgetSpent(apis);
}

/** All that a run writes, opened before any call is made. */
async function openFiles(input: ListInput, list: OpenedList) {
  const { job, context, closer, source, format } = list;
  const paths = await chooseOutputPaths({ ...job.settings, input, source, format });
  await context.report?.openFiles(source.file ? [source.file] : []);
  const apis = await openApis(list);
  const outputs = await openOutputs(paths, {
    source,
    parts: apis[0].store.parts,
    onNotice: (message) => notify(context, message),
  });
  closer.add(outputs);
  return { paths, apis, outputs };
}

/** The files that were written. */
type Written = Partial<Pick<RunView, 'out' | 'failures' | 'changes'>>;

interface Writing {
  readonly list: OpenedList;
  readonly planned: PlannedList;
  readonly lookedUp: LookedUp;
  readonly joined: JoinedRows;
  readonly files: Awaited<ReturnType<typeof openFiles>>;
}

async function write(writing: Writing): Promise<Written> {
  const { list, planned, lookedUp, joined, files } = writing;
  const { stops } = lookedUp;
  const { out, failures, changes: changesPath } = files.paths;
  // A wrong address or credential must not blank what an earlier run has written.
  const hasAnswers = planned.apis.some(({ store }) => store.hasAnswers());
  const isKept = lookedUp.totals.stopped !== undefined && !hasAnswers && existsSync(out);
  if (isKept || stops.every((stop) => stop?.reason === 'misdirected')) {
    for await (const _ of joined.rows); // reading the rows counts them
    if (isKept) notify(list.context, `Nothing was learned of any row: ${out} stays as it was.`);
    return {};
  }
  const changes = changesPath === undefined ? undefined : await openChangesOf(writing, changesPath);
  const { format } = list;
  await files.outputs.write(joined.rows, {
    format,
    extent: planned.extent,
    columns: joined.columns,
    changes,
  });
  return {
    out,
    failures,
    changes: changes && { ...changes.counts, file: changesPath ?? '' },
  };
}

/**
 * Opens what the last run of the same name reported.
 *
 * @param path the path of the changes file
 */
async function openChangesOf(
  { list: { job, context, format, fill }, planned, joined: { columns } }: Writing,
  path: string,
): Promise<Changes> {
  // Few runs report changes. Others need not load this.
  const { comparedColumnsOf, openChanges } = await import('../collector/changes.ts');
  const id = idOfParts([context.changesId ?? resolve(path)]);
  return openChanges({
    reported: planned.apis[0].store.reported(id),
    columns: [...comparedColumnsOf(columns.out, format), ...(fill?.compared ?? [])],
    reportsColumns: job.settings.fields === undefined && !columns.out.some(({ isRest }) => isRest),
  });
}

/** What a run came to, beside what its events say. */
export type RanTo = Pick<RunView, 'statuses'> &
  Partial<RunView> & { readonly foundOut: readonly FoundOut[] };

/** What no event has said of a run, once its rows were read. */
export function ranTo(
  { job, fill }: OpenedList,
  { totals, logos }: LookedUp,
  { statuses }: JoinedRows,
): RanTo {
  const folder = job.settings.store;
  return {
    ...totals,
    statuses,
    store: { folder, sizeBytes: sizeOnDisk(folder) },
    filled: fill?.counts,
    logos: logos?.logos,
  };
}
