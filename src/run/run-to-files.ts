import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { chooseOutputPaths, folderOf } from '../collector/output/output-paths.ts';
import { openOutputs } from '../collector/output/outputs.ts';
import { nameSheets, refuseLongSheets } from '../collector/output/sheet-names.ts';
import { isPiped } from '../common/files.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import type { ListInput } from '../rows/list-input.ts';
import type { Summary } from '../watch/summary.ts';
import { type JoinedRun, lookUpAndJoin } from './look-up-and-join.ts';
import { type OpenedList, open } from './open-list-of-run.ts';
import { openStoreToPlan, type PlannedRun, plan } from './plan-run.ts';
import { beginReadyRows } from './ready-of-run.ts';
import type { RunContext } from './run-context.ts';
import { summarize } from './summarize-run.ts';

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
    await context.report?.openFiles({ outputs: paths, source, sources: [source] });
    const store = closer.add(await openStoreToPlan(job, context));
    // Few runs report changes. Others need not load this.
    const told =
      changed === undefined
        ? undefined
        : await (await import('./changes-of-run.ts')).prepareChanges(list, changed);
    const writing = {
      sources: [source],
      spoolFolder: job.settings.store,
      onNotice: (message: string) => context.onEvent({ type: 'notice', message }),
    };
    const outputs = closer.add(await openOutputs({ ...paths, manifest: told?.manifest }, writing));
    const ids = idsOfOutput(input, paths.out, list);
    const ready = await beginReadyRows(list, { store, outputs, ids });
    const run = await plan(list, store, ready);
    refuseLongSheets(paths, format, run.plan.rows + run.plan.blankRows);
    const joined = await lookUpAndJoin(run, {
      outFolder: folderOf(paths.out),
      ids,
    });
    if (joined.totals.stopped?.reason === 'misdirected') return await leaveOutputs(run, joined);
    const { columns } = joined;
    const changes = await told?.open(run, columns);
    const sheets = nameSheets(source.name, format);
    const layout = { format, extent: run.extent, columns, changes, sheets, column: list.column };
    await outputs.write(joined.rows, layout);
    return summarize(run, joined, {
      out: paths.out,
      failures: paths.failures ?? paths.out,
      failuresSheet: paths.failures === undefined ? sheets.failures : undefined,
      changes: changes && { ...changes.counts, file: paths.changes ?? '' },
    });
  } finally {
    await closer.close();
  }
}

/**
 * Ids of an output from night to night: the name of either the output or the list may have the date
 * in it.
 */
function idsOfOutput(input: ListInput, out: string, list: OpenedList): readonly string[] {
  const { job, format, context } = list;
  const { fields, sheet } = job.settings;
  // With --fields the user says which columns there are, and objects have none.
  if (fields !== undefined || !format.isTable) return [];
  const isFile = typeof input === 'string' && !isPiped(input);
  return [
    ...(context.changesId === undefined ? [] : [`job ${context.changesId}`]),
    ...(out === '-' ? [] : [`out ${resolve(out)}`]),
    ...(isFile ? [`list ${resolve(input)} ${sheet ?? ''}`] : []),
  ].map((id) => createHash('sha256').update(id).digest('hex').slice(0, 24));
}

/** Keeps the old outputs: with a wrong address, those of the right one must not be lost. */
async function leaveOutputs(run: PlannedRun, joined: JoinedRun): Promise<Summary> {
  for await (const _ of joined.rows); // reading the rows counts them
  return summarize(run, joined, {});
}
