import type { FileHandle } from 'node:fs/promises';
import type { Extent, RowColumn, RowFormat, RowWriter } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import { openSpool, readFromStart, writeAll } from '../../rows/spool.ts';
import { createSheetOfList, createTextWriter, type TableOptions } from '../../rows/table-writer.ts';
import { createInPlaceWriter, type SheetWriter } from '../../rows/xlsx/sheet-writer.ts';
import type { SheetContent } from '../../rows/xlsx/workbook-writer.ts';
import type { Changes } from '../changes/changes.ts';
import { isListed, type JoinedRow, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import { delimiterOfOutput, kindOfOutput } from './output-kind.ts';
import { lockOutput, type OutputLock } from './output-lock.ts';
import { type OutputPaths, placeOf } from './output-paths.ts';
import type { SheetNames } from './sheet-names.ts';

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

/** All files that a run writes. */
export interface LockedPaths extends OutputPaths {
  /**
   * The file with the last report of the changes, in an existing folder. Undefined without changes.
   */
  readonly manifest?: string | undefined;
}

/**
 * Takes all outputs of a run, or none. Every run takes them in the same order: by their places, and
 * the manifest last. So of two runs that want the same ones, one gets them.
 *
 * @throws BrandfillError `OUTPUT_IN_USE` with the output and its holder, `UNWRITABLE_OUTPUT`
 */
export async function lockOutputs({
  out,
  failures,
  changes,
  manifest,
}: LockedPaths): Promise<OutputLock> {
  const taken: OutputLock[] = [];
  const release = (): void => {
    for (const lock of taken) lock.release();
  };
  try {
    const files = [out, failures, changes].filter((path) => path !== undefined);
    for (const path of await inOrder(files)) taken.push(await lockOutput(path));
    if (manifest !== undefined) {
      taken.push(await lockOutput(manifest, { advice: 'choose another --changes' }));
    }
  } catch (error) {
    release();
    throw error;
  }
  return {
    assertOurs: () => {
      for (const lock of taken) lock.assertOurs();
    },
    release,
  };
}

/** Sorts by real places, which are the same whatever links and folders a run uses. */
async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const placed = await Promise.all(
    paths.map(async (path) => ({ path, place: await placeOf(path) })),
  );
  placed.sort((one, other) => (one.place < other.place ? -1 : 1));
  return placed.map(({ path }) => path);
}

/** A table that is being written. */
interface Table {
  readonly writer: RowWriter;
  write(text: string): Promise<void>;
}

/** A file with one table or, if it is a workbook, with several. */
interface TableFile {
  /**
   * Begins a table by writing its header.
   *
   * @param sheet the name of its sheet in a workbook
   */
  begin(options: TableOptions, sheet: string): Promise<Table>;
  /** Flushes everything to the disk. Nothing after this can fail. */
  finish(): Promise<void>;
  /** Releases temporary files. The file itself belongs to the caller. */
  close(): Promise<void>;
}

interface TableFileOptions {
  readonly path: string;
  readonly file: OutputFile;
  /** Whether all rows of the list go into it. */
  readonly isWhole: boolean;
  /** The folder where sheets are kept until the workbook is made from them. */
  readonly spoolFolder: string;
  readonly onNotice: (message: string) => void;
}

/** Makes a file of tables from an open output, in the format of its name. */
function createTableFile(options: TableFileOptions): TableFile {
  const { path, file } = options;
  let workbook: TableFile | undefined;
  return {
    begin: async (table, sheet) => {
      const kind = kindOfOutput(path, table.format);
      if (kind === 'xlsx') {
        workbook ??= createWorkbookFile(options);
        return await workbook.begin(table, sheet);
      }
      const writer = createTextWriter(kind, table, delimiterOfOutput(path));
      await file.write(writer.header);
      return { writer, write: (text) => file.write(text) };
    },
    finish: async () => {
      await workbook?.finish();
      await file.finish();
    },
    close: async () => {
      await workbook?.close();
    },
  };
}

/** A sheet whose rows are kept on the disk until all are there. */
interface OpenSheet {
  readonly name: string;
  readonly writer: SheetWriter;
  readonly rows: FileHandle;
}

const READ_BYTES = 256 * 1024;
/** Rows come in batches of some two hundred. This much is gathered before it is written. */
const WRITE_CHARACTERS = 256 * 1024;

function createWorkbookFile(options: TableFileOptions): TableFile {
  const { path, file, isWhole, spoolFolder, onNotice } = options;
  const sheets: OpenSheet[] = [];
  const flushes: (() => Promise<void>)[] = [];
  let workbook: TableOptions['format']['workbook'];
  return {
    begin: async (table, name) => {
      const isList = sheets.length === 0 && isWhole;
      workbook = table.format.workbook;
      const writer =
        isList && workbook
          ? createInPlaceWriter(workbook, {
              added: table.added,
              width: Math.max(table.format.columns.length, table.extent.maxFields),
              column: table.column,
            })
          : createSheetOfList(table);
      const rows = await openSpool(spoolFolder);
      sheets.push({ name, writer, rows });
      let text = writer.header;
      const flush = async (): Promise<void> => {
        await writeAll(rows, Buffer.from(text), spoolFolder);
        text = '';
      };
      flushes.push(flush);
      return {
        writer,
        write: async (more) => {
          text += more;
          if (text.length > WRITE_CHARACTERS) await flush();
        },
      };
    },
    finish: async () => {
      const { findLeftBehind, rewriteWorkbook, writeNewWorkbook } = await import(
        '../../rows/xlsx/workbook-writer.ts'
      );
      for (const flush of flushes) await flush();
      const contents = sheets.map(toContent);
      const [list, more] = contents;
      const bytes =
        isWhole && workbook && list
          ? rewriteWorkbook(workbook, list, more)
          : writeNewWorkbook(contents, workbook);
      for await (const chunk of bytes) await file.write(chunk);
      const cut = contents.reduce((sum, { layout }) => sum + layout.cutTexts, 0);
      if (cut > 0) {
        onNotice(
          `${cut} texts in ${path} were longer than the 32,767 characters that a cell can hold: they now end in '…'.`,
        );
      }
      const left = isWhole && workbook && list && findLeftBehind(workbook, list.layout);
      if (left) {
        onNotice(
          `The ${left} in ${path} could not be extended over the added columns: sorting with it moves its own cells and leaves the added ones where they are.`,
        );
      }
    },
    close: async () => {
      for (const { rows } of sheets.splice(0)) await rows.close();
    },
  };
}

function toContent({ name, writer, rows }: OpenSheet): SheetContent {
  return { name, layout: writer.layout, read: () => readFromStart(rows, READ_BYTES) };
}
