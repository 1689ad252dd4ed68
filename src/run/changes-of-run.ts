import { resolve } from 'node:path';
import { type Changes, openChanges, prepareManifest } from '../collector/changes/changes.ts';
import { comparedColumnsOf } from '../collector/changes/compared-columns.ts';
import type { OutputColumns } from '../collector/output-columns.ts';
import type { OpenedList } from './open-list-of-run.ts';
import type { PlannedRun } from './plan-run.ts';

/**
 * Names the file that keeps what was told of the rows of a run; undefined for a run that tells no changes.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function prepareManifestOf({ job, context }: OpenedList): Promise<string | undefined> {
  const { changes, store } = job.settings;
  if (changes === undefined) return undefined;
  return await prepareManifest({ folder: store, id: context.changesId ?? resolve(changes) });
}

/**
 * Opens what was told by the last run, to be compared with the columns of this one.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openChangesOf(
  { job, context, closer, format, fill }: PlannedRun,
  columns: OutputColumns,
  manifest: string,
): Promise<Changes> {
  const { fields } = job.settings;
  return closer.add(
    await openChanges({
      manifest,
      columns: [...comparedColumnsOf(columns.out, format), ...(fill?.compared ?? [])],
      tellsLost: fields === undefined,
      onNotice: (message) => context.onEvent({ type: 'notice', message }),
    }),
  );
}
