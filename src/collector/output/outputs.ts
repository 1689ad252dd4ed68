import type { Extent, RowColumn, RowFormat } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Changes } from '../changes/changes.ts';
import { isListed, type JoinedRow, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import { type LockedPaths, lockOutputs, type OutputLock } from './output-lock.ts';
import { kindOfOutput, type SheetNames } from './output-paths.ts';
import {
  type BegunOutput,
  createTableFile,
  type EarlyLayout,
  type TableFile,
} from './table-file.ts';

/** The files of a run. */
export interface Outputs {
  /**
   * Begins the output, for rows that can be written before the others. `write` puts those between
   * them, and must then get the same format and columns. Undefined where that cannot be done.
   */
  begin(layout: EarlyLayout): Promise<BegunOutput | undefined>;
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
      begin: async (layout) => {
        const isAlike = (path = ''): boolean =>
          kindOfOutput(path, layout.format) === layout.format.kind;
        if (!isAlike(paths.out) || !isAlike(paths.changes)) return undefined;
        return await out.table.beginEarly(layout);
      },
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
  const reportChanges =
    changes &&
    changesTable &&
    createChangeReporter({ changes, table: changesTable, out: out.table, format, columns });
  for await (const batch of rows) {
    await outTable.append(batch);
    const listed = batch.filter(isListed);
    await failuresTable.append(listed.filter((row) => row.status !== 'found'));
    await reportChanges?.(batch);
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

interface ReporterOptions extends Pick<OutputLayout, 'format' | 'columns'> {
  readonly changes: Changes;
  readonly table: TableAppender;
  /** The output, in which written rows are. */
  readonly out: Pick<TableFile, 'readEarly'>;
}

/** Creates a function that writes those rows of a batch into the changes file that have a change. */
function createChangeReporter({
  changes,
  table,
  out,
  format,
  columns,
}: ReporterOptions): (rows: readonly OutputRow[]) => Promise<void> {
  const width = format.columns.length + columns.out.length;
  const behind = format.createWriter(columns.changes, { maxFields: width });
  let at = 0;
  return async (rows) => {
    let reported: JoinedRow[] = [];
    let more: string[][] = [];
    const append = async (): Promise<void> => {
      await table.append(reported, more);
      reported = [];
      more = [];
    };
    for (const row of rows) {
      if (row.status === 'blank') continue;
      const isWritten = row.status === 'written';
      const joined = isWritten ? row.row : row;
      const change = joined && changes.find(joined);
      if (joined && change) {
        const cells = [change.kind, change.columns];
        if (isWritten) {
          await append();
          const whole = await out.readEarly(at, row.sizeBytes);
          await table.write(behind.row(whole, width, cells));
        } else {
          reported.push(joined);
          more.push(cells);
        }
      }
      if (isWritten) at += row.sizeBytes;
    }
    await append();
    await changes.flush();
  };
}

interface TableAppender {
  /** @param more the values of the further columns, for each row */
  append(rows: readonly OutputRow[], more?: readonly (readonly string[])[]): Promise<void>;
  /** Appends a row that is written already. */
  write(text: string): Promise<void>;
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
  const gathered = createRowBytes();
  const writeGathered = async (): Promise<void> => {
    for (const bytes of gathered.take()) await table.write(bytes);
  };
  return {
    append: async (rows, more) => {
      for (const [at, row] of rows.entries()) {
        if (isListed(row)) {
          const values = valuesOf(row);
          const cells = more ? [...values, ...(more[at] ?? [])] : values;
          gathered.add(table.writer.row(row.raw, row.fields, cells));
        } else if (row.status === 'blank') {
          gathered.add(table.writer.blank?.(row.raw, row.fields) ?? '');
        } else {
          await writeGathered();
          await table.goOn(row.sizeBytes);
        }
      }
      await writeGathered();
    },
    write: (text) => table.write(Buffer.from(text)),
  };
}

/**
 * Rows as bytes. Each becomes bytes by itself: a text of many rows, put together from thousands of
 * pieces, takes twice as long.
 */
interface RowBytes {
  add(row: string): void;
  /** What was added since the last time. */
  take(): readonly Buffer[];
}

const BLOCK_BYTES = 256 * 1024;
const MOST_BYTES_OF_CHARACTER = 3;

function createRowBytes(): RowBytes {
  let full: Buffer[] = [];
  let block = Buffer.alloc(0);
  let start = 0;
  let end = 0;
  return {
    add: (row) => {
      const most = row.length * MOST_BYTES_OF_CHARACTER;
      if (end + most > block.length) {
        full.push(block.subarray(start, end));
        block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
        start = 0;
        end = 0;
      }
      end += block.write(row, end);
    },
    take: () => {
      const taken = [...full, block.subarray(start, end)].filter(({ length }) => length > 0);
      full = [];
      start = end;
      return taken;
    },
  };
}
