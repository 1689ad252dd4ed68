import type { Extent, RowFormat } from '../rows/row-format.ts';
import type { Changes } from './changes/changes.ts';
import type { JoinedRow } from './join.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import type { OutputLock } from './output-lock.ts';
import { type LockedPaths, lockOutputs } from './output-locks.ts';

/** The files of a run. */
export interface Outputs {
  /** Writes all rows and puts all files in their places. */
  write(rows: AsyncIterable<readonly JoinedRow[]>, layout: OutputLayout): Promise<void>;
  /**
   * Puts them in their places when somebody else has written them. A crash in between leaves failures
   * that the output has already, never the other way round.
   */
  writeBy(work: (files: WrittenFiles) => Promise<void>): Promise<void>;
  /** Leaves all places as they were, unless all was written. */
  close(): Promise<void>;
}

/** The two files that every run has. */
export interface WrittenFiles {
  readonly out: OutputFile;
  readonly failures: OutputFile;
}

export interface OutputLayout {
  readonly format: RowFormat;
  readonly extent: Extent;
  readonly columns: OutputColumns;
  /** Finds what goes into the changes file, where there is one. */
  readonly changes?: Changes | undefined;
}

/**
 * Opens all files before any call is made, so that a folder that cannot be written costs nothing, and
 * neither does one that another run is writing: all of them are this run's until it is closed.
 *
 * @throws BrandfillError `OUTPUT_IN_USE`, `UNWRITABLE_OUTPUT`
 */
export async function openOutputs(paths: LockedPaths): Promise<Outputs> {
  const lock = await lockOutputs(paths);
  const opened: OutputFile[] = [];
  const close = async (): Promise<void> => {
    try {
      for (const file of opened) await file.discard();
    } finally {
      lock.release();
    }
  };
  const open = async (path: string): Promise<OutputFile> => {
    const file =
      path === '-'
        ? createOutputStream('standard output', process.stdout)
        : await openOutputFile(path);
    opened.push(file);
    return file;
  };
  try {
    const out = await open(paths.out);
    const failures = await open(paths.failures);
    const changed = paths.changes === undefined ? undefined : await open(paths.changes);
    return {
      write: (rows, layout) => write(rows, layout, { out, failures, changed, lock }),
      writeBy: async (work) => {
        await work({ out, failures });
        await Promise.all([failures.finish(), out.finish()]);
        lock.assertOurs();
        await out.commit();
        await failures.commit();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OutputFiles extends WrittenFiles {
  readonly changed: OutputFile | undefined;
  readonly lock: OutputLock;
}

async function write(
  rows: AsyncIterable<readonly JoinedRow[]>,
  { format, extent, columns, changes }: OutputLayout,
  { out, failures, changed, lock }: OutputFiles,
): Promise<void> {
  const table = { format, extent };
  const outWriter = await beginTable(out, columns.out, table);
  const failuresWriter = await beginTable(failures, columns.failures, table);
  const changesWriter = changed && (await beginTable(changed, columns.out, table, columns.changes));
  for await (const batch of rows) {
    await outWriter.append(batch);
    await failuresWriter.append(batch.filter((row) => row.status !== 'found'));
    if (changes && changesWriter) {
      await appendChanges(changesWriter, batch, changes);
      await changes.flush();
    }
  }
  await Promise.all([failures.finish(), out.finish(), changed?.finish(), changes?.finish()]);
  lock.assertOurs();
  await failures.commit();
  await changed?.commit();
  await out.commit();
  // Last, so that changes which nobody got to see are told again.
  await changes?.commit();
}

async function appendChanges(
  writer: TableWriter,
  rows: readonly JoinedRow[],
  changes: Changes,
): Promise<void> {
  const told: JoinedRow[] = [];
  const more: string[][] = [];
  for (const row of rows) {
    const change = changes.find(row);
    if (!change) continue;
    told.push(row);
    more.push([change.kind, change.columns]);
  }
  await writer.append(told, more);
}

interface TableWriter {
  /** @param more what goes into the further columns, for each row */
  append(rows: readonly JoinedRow[], more?: readonly (readonly string[])[]): Promise<void>;
}

/** Writes the header. */
async function beginTable(
  file: OutputFile,
  columns: readonly OutputColumn[],
  { format, extent }: { readonly format: RowFormat; readonly extent: Extent },
  further: readonly string[] = [],
): Promise<TableWriter> {
  const names = [...columns.map(({ name }) => name), ...further];
  const writer = format.createWriter(names, extent);
  const valuesOf = (row: JoinedRow): unknown[] => columns.map((column) => column.valueOf(row));
  await file.write(writer.header);
  return {
    append: async (rows, more) => {
      if (rows.length === 0) return;
      const texts = rows.map((row, at) => {
        const values = valuesOf(row);
        return writer.row(row.raw, row.fields, more ? [...values, ...(more[at] ?? [])] : values);
      });
      await file.write(texts.join(''));
    },
  };
}
