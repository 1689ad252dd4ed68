import type { Extent, RowColumn, RowFormat } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Changes } from '../changes/changes.ts';
import { isListed, type JoinedRow, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import type { OutputLock } from './output-lock.ts';
import { type LockedPaths, lockOutputs } from './output-locks.ts';
import type { SheetNames } from './sheet-names.ts';
import { createTableFile, type TableFile } from './table-file.ts';

/** The files of a run. */
export interface Outputs {
  /** Writes all rows and puts all files in their places. */
  write(rows: AsyncIterable<readonly OutputRow[]>, layout: OutputLayout): Promise<void>;
  /**
   * Has `work` write the files, and puts them in their places. After a crash in between, failures
   * may remain that the output has already, never the other way round.
   */
  writeBy(work: (files: WrittenFiles) => Promise<void>): Promise<void>;
  /** Leaves all places as they were, unless everything was written. */
  close(): Promise<void>;
}

/** The two files of a merge. */
export interface WrittenFiles {
  readonly out: OutputFile;
  readonly failures: OutputFile;
}

export interface OpenOutputsOptions {
  /** What the outputs are made from: they are never more open than that. */
  readonly sources: readonly Pick<Source, 'file'>[];
  /** The folder where the sheets of a workbook are kept until it is complete. */
  readonly spoolFolder: string;
  readonly onNotice: (message: string) => void;
}

export interface OutputLayout {
  readonly format: RowFormat;
  readonly extent: Extent;
  readonly columns: OutputColumns;
  /** Finds the rows of the changes file, if there is one. */
  readonly changes?: Changes | undefined;
  /** The names of the sheets of the list and of its failures in a workbook. */
  readonly sheets: SheetNames;
  /** The column that rows are looked up by. */
  readonly column: RowColumn;
}

/**
 * Opens all files before any call is made. So no call is paid for when a folder cannot be written,
 * or when another run is writing a file. All files are this run's until it is closed.
 *
 * @throws BrandfillError `OUTPUT_IN_USE`, `UNWRITABLE_OUTPUT`
 */
export async function openOutputs(
  paths: LockedPaths,
  { sources, ...options }: OpenOutputsOptions,
): Promise<Outputs> {
  const from = sources.flatMap(({ file }) => file ?? []);
  const lock = await lockOutputs(paths);
  const opened: OpenOutput[] = [];
  const close = async (): Promise<void> => {
    try {
      for (const { file, table } of opened) {
        await table.close();
        await file.discard();
      }
    } finally {
      lock.release();
    }
  };
  const open = async (path: string, isWhole = false): Promise<OpenOutput> => {
    const file =
      path === '-'
        ? createOutputStream('standard output', process.stdout)
        : await openOutputFile(path, from);
    const output = { file, table: createTableFile({ path, file, isWhole, ...options }) };
    opened.push(output);
    return output;
  };
  try {
    const out = await open(paths.out, true);
    const failures = paths.failures === undefined ? undefined : await open(paths.failures);
    const changed = paths.changes === undefined ? undefined : await open(paths.changes);
    return {
      write: (rows, layout) => write(rows, layout, { out, failures, changed, lock }),
      writeBy: async (work) => {
        if (!failures) throw new TypeError('a merge has a failures file');
        await work({ out: out.file, failures: failures.file });
        await Promise.all([failures.file.finish(), out.file.finish()]);
        lock.assertOurs();
        await out.file.commit();
        await failures.file.commit();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenOutput {
  readonly file: OutputFile;
  readonly table: TableFile;
}

interface OpenOutputs {
  readonly out: OpenOutput;
  /** Undefined when failures are a sheet of `out`. */
  readonly failures: OpenOutput | undefined;
  readonly changed: OpenOutput | undefined;
  readonly lock: OutputLock;
}

async function write(
  rows: AsyncIterable<readonly OutputRow[]>,
  { format, extent, columns, changes, sheets, column }: OutputLayout,
  { out, failures, changed, lock }: OpenOutputs,
): Promise<void> {
  const list = { format, extent, column };
  const outTable = await beginTable(out, columns.out, { ...list, sheet: sheets.list });
  const ofFailures = { ...list, sheet: sheets.failures };
  const failuresTable = await beginTable(failures ?? out, columns.failures, ofFailures);
  const ofChanges = { ...list, sheet: sheets.changes };
  const changesTable =
    changed && (await beginTable(changed, columns.out, ofChanges, columns.changes));
  for await (const batch of rows) {
    await outTable.append(batch);
    const listed = batch.filter(isListed);
    await failuresTable.append(listed.filter((row) => row.status !== 'found'));
    if (changes && changesTable) {
      await appendChanges(changesTable, listed, changes);
      await changes.flush();
    }
  }
  await Promise.all([
    failures?.table.finish(),
    out.table.finish(),
    changed?.table.finish(),
    changes?.finish(),
  ]);
  lock.assertOurs();
  await failures?.file.commit();
  await changed?.file.commit();
  await out.file.commit();
  // Last, so that changes that were not published are reported again.
  await changes?.commit();
}

async function appendChanges(
  writer: TableAppender,
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

interface TableAppender {
  /** @param more the values of the further columns, for each row */
  append(rows: readonly OutputRow[], more?: readonly (readonly string[])[]): Promise<void>;
}

interface TableToBegin extends Pick<OutputLayout, 'format' | 'extent' | 'column'> {
  readonly sheet: string;
}

/** Begins a table by writing its header. */
async function beginTable(
  { table: file }: OpenOutput,
  columns: readonly OutputColumn[],
  { sheet, ...list }: TableToBegin,
  further: readonly string[] = [],
): Promise<TableAppender> {
  const added = [...columns.map(({ name }) => name), ...further];
  const table = await file.begin({ ...list, added }, sheet);
  const valuesOf = (row: JoinedRow): unknown[] => columns.map((column) => column.valueOf(row));
  return {
    append: async (rows, more) => {
      if (rows.length === 0) return;
      const texts = rows.map((row, at) => {
        if (!isListed(row)) return table.writer.blank?.(row.raw, row.fields) ?? '';
        const values = valuesOf(row);
        return table.writer.row(
          row.raw,
          row.fields,
          more ? [...values, ...(more[at] ?? [])] : values,
        );
      });
      await table.write(texts.join(''));
    },
  };
}
