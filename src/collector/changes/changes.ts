import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder, PRIVATE_FOLDER } from '../../common/files.ts';
import type { RowFormat } from '../../rows/row-format.ts';
import type { JoinedRow } from '../joined-row.ts';
import type { OutputColumn } from '../output/output-columns.ts';
import { type Change, type ComparedColumn, createChangeFinder, layoutOf } from './change-finder.ts';
import { flatExpression, openManifest, openManifestWriter } from './manifest.ts';

/** The changes of rows in this run, compared with the last run that reported them. */
export interface Changes {
  /** The change of a row, if any. Must be called once for each row, in their order. */
  find(row: JoinedRow): Change | undefined;
  /** Must be called after each batch of rows. */
  flush(): Promise<void>;
  /** Flushes what was reported to the disk. Nothing after this can fail. */
  finish(): Promise<void>;
  /** Puts it in place of the last report. Must be called once the changes file is in its place. */
  commit(): Promise<void>;
  close(): Promise<void>;
  /** How many rows had a change so far. */
  readonly counts: Readonly<ChangeCounts>;
}

export type ChangeCounts = Record<Change['kind'], number>;

export interface ChangesOptions {
  /** The file with the last report, as {@link prepareManifest} names it. */
  readonly manifest: string;
  /** The domain comes first. */
  readonly columns: readonly ComparedColumn[];
  /** Whether a missing column was dropped by the API rather than by the user. */
  readonly reportsLost: boolean;
  readonly onNotice: (message: string) => void;
}

/**
 * Opens what the last run of this name reported. A manifest that is damaged or was never put in its
 * place loses no changes: they are reported again.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openChanges(options: ChangesOptions): Promise<Changes> {
  const { manifest: path, columns, reportsLost, onNotice } = options;
  const found = openManifest(path);
  if (found === 'damaged') {
    onNotice(
      `The record of the last run (${path}) cannot be read: all rows count as new in this run.`,
    );
  }
  const before = found === 'damaged' ? undefined : found;
  const layout = layoutOf(columns, before, reportsLost);
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
  /** The folder of all manifests. */
  readonly folder: string;
  /** The same id from night to night. */
  readonly id: string;
}

/**
 * Names the file of the report, and creates its folder, so that a run can lock the file.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export function prepareManifest({ folder, id }: PrepareManifestOptions): string {
  const name = createHash('sha256').update(id).digest('hex').slice(0, 24);
  const path = join(folder, `${name}.manifest`);
  try {
    makeFolder(folder, PRIVATE_FOLDER);
  } catch (error) {
    throw new BrandfillError(
      'UNWRITABLE_OUTPUT',
      `Cannot write to ${folder}: ${describeSystemError(error)}.`,
      { cause: error },
    );
  }
  return path;
}

/**
 * The columns of the output in the form in which they are compared: by the text that is written. A
 * column of several pieces is compared piece by piece, so that it does not matter which pieces it
 * holds.
 */
export function comparedColumnsOf(
  columns: readonly OutputColumn[],
  format: RowFormat,
): readonly ComparedColumn[] {
  const compared = (column: OutputColumn, label: string): ComparedColumn => ({
    name: column.name,
    label,
    expression: column.isFlat ? flatExpression(column.expression) : (column.expression ?? ''),
    textOf: (row) => format.textOf(column.valueOf(row)),
    dependsOnRow: false,
  });
  return columns
    .filter(({ isCompared = true }) => isCompared)
    .flatMap((column) => (column.parts ?? [column]).map((part) => compared(part, column.name)));
}
