import { stat } from 'node:fs/promises';
import { checkEarlierOutput } from '../collector/merge/earlier-output.ts';
import { mergeRows } from '../collector/merge/merge-rows.ts';
import { chooseMergePaths, folderOf } from '../collector/output/output-paths.ts';
import { openOutputs } from '../collector/output/outputs.ts';
import { BrandfillError } from '../common/errors.ts';
import { isPiped } from '../common/files.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import { type ListInput, openList } from '../rows/list-input.ts';
import { sizeOnDisk } from '../store/store-files.ts';
import { createStatusCounts, type Summary } from '../watch/summary.ts';
import { summarize } from './enrich.ts';
import { joinRows } from './join.ts';
import { lookUp } from './look-up.ts';
import { type OpenedList, open } from './open.ts';
import { openStoreToPlan, plan } from './plan.ts';
import type { RunContext } from './run-context.ts';

/**
 * Looks the rows of a failures file up again, and puts what is found in their positions in the
 * output of the same run. The failures file keeps the rows that were again not found.
 *
 * @throws BrandfillError `INVALID_SETTING` when the two files are not of the same run
 */
export async function runToMerge(
  input: ListInput,
  job: Job,
  context: RunContext,
): Promise<Summary> {
  const { store: spoolFolder, merge, out, failures = input } = job.settings;
  if (merge === undefined || typeof failures !== 'string' || isPiped(failures)) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot merge rows that are in no file: name a file for those that fail again (failures).',
    );
  }
  const closer = createCloser();
  try {
    if (await isEmpty(input)) {
      const places = { merge, out: out ?? merge, input, failures };
      await copyElsewhere(places, { context, closer, spoolFolder });
      return nothingToDo({ ...places, folder: spoolFolder, runId: context.runId });
    }
    const list = await open(input, job, { context, closer, spoolFolder });
    const { source, format, column, ours, earlier: opened, fill } = list;
    const { signal } = context;
    const paths = await chooseMergePaths({ out, failures, merge, source, format });
    if (!ours || !opened) throw new TypeError('both files of a merge are there once it is open');
    const sources = [source, opened.source];
    await context.report?.openFiles({ outputs: paths, merge, source, sources });
    const outputs = closer.add(
      await openOutputs(paths, { sources, spoolFolder, onNotice: () => {} }),
    );
    const earlier = closer.add(
      await checkEarlierOutput({
        failures: { source, format },
        columns: ours,
        column,
        readDomain: list.readDomain,
        earlier: opened,
        spoolFolder,
        signal,
      }),
    );
    const run = await plan(list, closer.add(await openStoreToPlan(job, context)));
    const joined = await joinRows(await lookUp(run, folderOf(paths.out)));
    await outputs.writeBy(async (files) => {
      await mergeRows({
        earlier,
        format,
        columns: ours,
        rows: joined.rows,
        output: joined.columns,
        filled: fill?.columns ?? [],
        ...files,
      });
    });
    return summarize(joined, { out: paths.out, failures: paths.failures });
  } finally {
    await closer.close();
  }
}

/** Whether all failures were merged before. A file of objects then has not even a header. */
async function isEmpty(input: ListInput): Promise<boolean> {
  if (typeof input !== 'string' || input === '-') return false;
  const found = await stat(input).catch(() => undefined);
  return found?.isFile() === true && found.size === 0;
}

interface MergePlaces extends Readonly<Record<'merge' | 'out' | 'failures', string>> {
  readonly input: ListInput;
}

/**
 * Copies the earlier output to where the output is wanted, if that is elsewhere, when there is
 * nothing to merge into it. Writes an empty failures file likewise.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no earlier output
 */
async function copyElsewhere(
  { merge, out, input, failures }: MergePlaces,
  { context, closer, spoolFolder }: Pick<OpenedList, 'context' | 'closer' | 'spoolFolder'>,
): Promise<void> {
  const earlier = closer.add(await openList(merge, { spoolFolder, signal: context.signal }));
  if (out === merge && failures === input) return;
  const options = { sources: [earlier], spoolFolder, onNotice: () => {} };
  const outputs = closer.add(await openOutputs({ out, failures, changes: undefined }, options));
  await outputs.writeBy(async (files) => {
    if (earlier.hasByteOrderMark) await files.out.write('\uFEFF');
    for await (const bytes of earlier.read()) await files.out.write(bytes);
  });
}

type NothingToDo = Readonly<Record<'out' | 'failures' | 'folder' | 'runId', string>>;

function nothingToDo({ out, failures, folder, runId }: NothingToDo): Summary {
  return {
    runId,
    rows: 0,
    statuses: createStatusCounts(),
    uniqueDomains: 0,
    freshDomains: 0,
    lookups: 0,
    calls: 0,
    retries: 0,
    throttled: 0,
    cost: undefined,
    elapsedMs: 0,
    lookupMs: 0,
    callsPerSecond: 0,
    pace: undefined,
    store: { folder, sizeBytes: sizeOnDisk(folder) },
    stopped: undefined,
    out,
    failures,
    failuresSheet: undefined,
    filled: undefined,
    logos: undefined,
    changes: undefined,
  };
}
