import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder } from '../../common/make-folder.ts';
import type { JoinedRow } from '../joined-row.ts';
import { type Change, type ComparedColumn, createChangeFinder, layoutOf } from './change-finder.ts';
import { openManifest } from './manifest.ts';
import { openManifestWriter } from './manifest-writer.ts';

/** What is told of rows in this run, against what was told in the last one. */
export interface Changes {
  /** What there is to tell of a row. To be asked once for each row, in their order. */
  find(row: JoinedRow): Change | undefined;
  /** To be called after each batch of rows. */
  flush(): Promise<void>;
  /** Brings what was told to the disk; all that can fail has failed by then. */
  finish(): Promise<void>;
  /** Makes it what was last told. To be called when the changes file is in its place. */
  commit(): Promise<void>;
  close(): Promise<void>;
  /** How many rows there was something to tell of, so far. */
  readonly counts: Readonly<ChangeCounts>;
}

export type ChangeCounts = Record<Change['kind'], number>;

export interface ChangesOptions {
  /** What was told last, as {@link prepareManifest} names it. */
  readonly manifest: string;
  /** Domain first. */
  readonly columns: readonly ComparedColumn[];
  /** Whether a column that is no longer there was taken away by the API, and not by the user. */
  readonly tellsLost: boolean;
  readonly onNotice: (message: string) => void;
}

/**
 * Opens what was told by the last run of this name. A manifest that is damaged, or that was never
 * put in its place, costs no change: they are told again.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openChanges(options: ChangesOptions): Promise<Changes> {
  const { manifest: path, columns, tellsLost, onNotice } = options;
  const found = openManifest(path);
  if (found === 'damaged') {
    onNotice(`What was told last (${path}) cannot be read: all rows count as new in this run.`);
  }
  const before = found === 'damaged' ? undefined : found;
  const layout = layoutOf(columns, before, tellsLost);
  const after = await openManifestWriter(path, layout, columns.length).catch(
    async (error: unknown) => {
      await before?.close();
      throw error;
    },
  );
  const find = createChangeFinder({ columns, before, after });
  const counts: ChangeCounts = { new: 0, changed: 0 };
  return {
    find: (row) => {
      const change = find(row);
      if (change) counts[change.kind] += 1;
      return change;
    },
    flush: () => after.flush(),
    finish: () => after.finish(),
    commit: () => after.commit(),
    close: async () => {
      await before?.close();
      await after.discard();
    },
    counts,
  };
}

export interface PrepareManifestOptions {
  /** Where what was told is kept. */
  readonly folder: string;
  /** The same from night to night. */
  readonly id: string;
}

/**
 * Names the file that keeps what was told, and makes its folder, so that a run can lock it.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export function prepareManifest({ folder, id }: PrepareManifestOptions): string {
  const name = createHash('sha256').update(id).digest('hex').slice(0, 24);
  const path = join(folder, `${name}.manifest`);
  try {
    makeFolder(folder);
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write to ${folder}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  }
  return path;
}
