import { join, resolve } from 'node:path';
import {
  type Changes,
  comparedColumnsOf,
  openChanges,
  prepareManifest,
} from '../collector/changes/changes.ts';
import type { OutputColumns } from '../collector/output/output-columns.ts';
import { leaveNoEmptyFolders, type OpenedList } from './open.ts';
import type { PlannedRun } from './plan.ts';

/** The reporting of what changed since the last run. */
export interface ChangesOfRun {
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
export async function prepareChanges(
  { job, context, closer }: OpenedList,
  path: string,
): Promise<ChangesOfRun> {
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
          tellsLost: fields === undefined,
          onNotice: (message) => context.onEvent({ type: 'notice', message }),
        }),
      ),
  };
}
