import type { FileHandle } from 'node:fs/promises';
import { PRIVATE } from '../../common/files.ts';
import type { ByteWriter, Extent, RowColumn, RowFormat, RowWriter } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import { readFromStart } from '../../rows/spool.ts';
import { createSheetOfList, createTextWriter, type TableOptions } from '../../rows/table-writer.ts';
import { withRowsAside } from '../../rows/xlsx/row-line.ts';
import { createInPlaceWriter, type SheetWriter } from '../../rows/xlsx/sheet-writer.ts';
import type { PackedText } from '../../rows/xlsx/zip-writer.ts';
import type { Changes } from '../changes/changes.ts';
import { isListed, type JoinedRow, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile, readAt } from './output-file.ts';
import { delimiterOfOutput, kindOfOutput } from './output-kind.ts';
import { lockOutput, type OutputLock } from './output-lock.ts';
import { type OutputPaths, placeOf, type SheetNames } from './output-paths.ts';

/** The files of a run. */
export interface Outputs {
  /**
   * Begins the output, for rows that can be written before the others. `write` puts those between
   * them, and must then get the same format and columns. Undefined where that cannot be done.
   */
  begin(layout: Pick<OutputLayout, 'format' | 'columns'>): Promise<BegunOutput | undefined>;
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

/** An output whose first rows are written. */
export interface BegunOutput {
  readonly writer: ByteWriter;
  /** @param bytes must not be changed until the next call resolves */
  write(bytes: Uint8Array): Promise<void>;
  /** Takes it all back. `write` of the outputs then writes all rows. */
  readonly undo: () => Promise<void>;
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
    let told: JoinedRow[] = [];
    let more: string[][] = [];
    const append = async (): Promise<void> => {
      await table.append(told, more);
      told = [];
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
          told.push(joined);
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
      taken.push(
        await lockOutput(manifest, { advice: 'choose another --changes', mode: PRIVATE.mode }),
      );
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
  /** @param bytes must not be changed afterwards */
  write(bytes: Buffer): Promise<void>;
  /** Lets the next bytes follow that were written early. */
  goOn(sizeBytes: number): Promise<void>;
}

/** A file with one table or, if it is a workbook, with several. */
interface TableFile {
  /**
   * Begins a table by writing its header.
   *
   * @param sheet the name of its sheet in a workbook
   */
  begin(options: TableOptions, sheet: string): Promise<Table>;
  /** Begins a table for rows that can be written early. Undefined where that cannot be done. */
  beginEarly(layout: Pick<OutputLayout, 'format' | 'columns'>): Promise<BegunOutput | undefined>;
  /** A row that was written early. @param at its place behind the header, in bytes */
  readEarly(at: number, sizeBytes: number): Promise<string>;
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
  let early: EarlyRows | undefined;
  return {
    beginEarly: async ({ format, columns }) => {
      const { setAside, readBack } = file;
      const { header, inBytes: writer } = format.createWriter(
        columns.out.map(({ name }) => name),
        { maxFields: format.columns.length },
      );
      if (!setAside || !readBack || !writer) return undefined;
      const rows = createEarlyRows({ ...file, setAside, readBack }, Buffer.byteLength(header));
      early = rows;
      await rows.write(Buffer.from(header));
      return {
        writer,
        write: rows.write,
        undo: async () => {
          early = undefined;
          await (await setAside()).close();
        },
      };
    },
    begin: async (table, sheet) => {
      const kind = kindOfOutput(path, table.format);
      if (kind === 'xlsx') {
        workbook ??= createWorkbookFile(options);
        return await workbook.begin(table, sheet);
      }
      const writer = createTextWriter(kind, table, delimiterOfOutput(path));
      if (early) {
        await early.goOn(Buffer.byteLength(writer.header));
        return { writer, write: early.insert, goOn: early.goOn };
      }
      await file.write(writer.header);
      return { writer, write: (bytes) => file.write(bytes), goOn: noEarlyRows };
    },
    readEarly: async (at, sizeBytes) => await (early?.read(at, sizeBytes) ?? noEarlyRows()),
    finish: async () => {
      await workbook?.finish();
      await file.finish();
    },
    close: async () => {
      await workbook?.close();
      await early?.close();
    },
  };
}

async function noEarlyRows(): Promise<never> {
  throw new TypeError('no rows were written early');
}

/** Bytes at the beginning of a file, between which others come later. */
interface EarlyRows {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** From now on: the next of these bytes are where they belong. */
  readonly goOn: (sizeBytes: number) => Promise<void>;
  /** Puts more behind them. */
  readonly insert: (bytes: Buffer) => Promise<void>;
  read(at: number, sizeBytes: number): Promise<string>;
  close(): Promise<void>;
}

/** In the first night with a changes file, all rows are told, one after the other. */
const WINDOW_BYTES = 64 * 1024;

/** The file is written once more from its beginning, but only if anything comes in between. */
function createEarlyRows(
  file: Pick<Required<OutputFile>, 'write'> & {
    readonly setAside: () => Promise<FileHandle>;
    readonly readBack: (at: number, sizeBytes: number) => Promise<Buffer>;
  },
  headerBytes: number,
): EarlyRows {
  let sizeBytes = 0;
  let settled = 0;
  let aside: { readonly handle: FileHandle; readonly pieces: AsyncIterator<Buffer> } | undefined;
  let piece: Buffer = Buffer.alloc(0);
  /** What was read last. */
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;

  async function copy(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      if (piece.length === 0) {
        const next = await aside?.pieces.next();
        if (!next || next.done) throw new TypeError('fewer rows were written early');
        piece = next.value;
      }
      const part = piece.subarray(0, left);
      await file.write(part);
      piece = piece.subarray(part.length);
      left -= part.length;
    }
  }

  return {
    write: async (bytes) => {
      sizeBytes += bytes.length;
      await file.write(bytes);
    },
    goOn: async (count) => {
      settled += count;
      if (aside) await copy(count);
    },
    insert: async (bytes) => {
      if (!aside && settled < sizeBytes) {
        const handle = await file.setAside();
        aside = { handle, pieces: readFromStart(handle, READ_BYTES) };
        await copy(settled);
      }
      await file.write(bytes);
    },
    read: async (from, count) => {
      const at = headerBytes + from;
      if (at < windowAt || at + count > windowAt + window.length) {
        const most = Math.min(sizeBytes - at, Math.max(count, WINDOW_BYTES));
        window = aside ? await readAt(aside.handle, at, most) : await file.readBack(at, most);
        windowAt = at;
      }
      return window.toString('utf8', at - windowAt, at - windowAt + count);
    },
    close: async () => {
      await aside?.handle.close();
      aside = undefined;
    },
  };
}

/** A sheet whose rows are kept, packed, until all are there. */
interface OpenSheet {
  readonly name: string;
  readonly writer: SheetWriter;
  readonly rows: PackedText;
}

const READ_BYTES = 256 * 1024;

function createWorkbookFile(options: TableFileOptions): TableFile {
  const { path, file, isWhole, spoolFolder, onNotice } = options;
  const sheets: OpenSheet[] = [];
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
      const { createPackedText } = await import('../../rows/xlsx/zip-writer.ts');
      const rows = await createPackedText(spoolFolder);
      sheets.push({ name, writer, rows });
      const aside = isList ? workbook?.aside : undefined;
      const write = async (bytes: Buffer): Promise<void> => {
        if (aside) for await (const piece of withRowsAside(bytes, aside)) await rows.write(piece);
        else await rows.write(bytes);
      };
      await write(Buffer.from(writer.header));
      return { writer, write, goOn: noEarlyRows };
    },
    beginEarly: async () => undefined,
    readEarly: noEarlyRows,
    finish: async () => {
      const { findLeftBehind, rewriteWorkbook, writeNewWorkbook } = await import(
        '../../rows/xlsx/workbook-writer.ts'
      );
      const contents = sheets.map(({ name, writer, rows }) => ({
        name,
        layout: writer.layout,
        rows,
      }));
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
