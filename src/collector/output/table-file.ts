import type { FileHandle } from 'node:fs/promises';
import { usualDialect } from '../../rows/csv/csv-dialect.ts';
import { cellWriterOf } from '../../rows/csv/csv-writer.ts';
import type { ByteWriter, RowFormat, RowKind, RowWriter } from '../../rows/row-format.ts';
import { readFromStart } from '../../rows/spool.ts';
import type { OutputColumns } from './output-columns.ts';
import { type OutputFile, readAt } from './output-file.ts';
import { delimiterOfOutput, kindOfOutput } from './output-paths.ts';
import type { TableFileOptions, TableOptions, WorkbookFile } from './workbook-file.ts';

/** What must be known of an output before its rows are written early. */
export interface EarlyLayout {
  readonly format: RowFormat;
  readonly columns: OutputColumns;
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
export interface TableFile {
  /**
   * Begins a table by writing its header.
   *
   * @param sheet the name of its sheet in a workbook
   */
  begin(options: TableOptions, sheet: string): Promise<Table>;
  /** Begins a table for rows that can be written early. Undefined where that cannot be done. */
  beginEarly(layout: EarlyLayout): Promise<BegunOutput | undefined>;
  /** A row that was written early. @param at its place behind the header, in bytes */
  readEarly(at: number, sizeBytes: number): Promise<string>;
  /** Flushes everything to the disk. Nothing after this can fail. */
  finish(): Promise<void>;
  /** Releases temporary files. The file itself belongs to the caller. */
  close(): Promise<void>;
}

/** Makes a file of tables from an open output, in the format of its name. */
export function createTableFile(options: TableFileOptions): TableFile {
  const { path, file } = options;
  let workbook: WorkbookFile | undefined;
  let early: EarlyRows | undefined;
  return {
    beginEarly: async ({ format, columns }) => {
      const { beginAnew, readBack } = file;
      const { header, inBytes: writer } = format.createWriter(
        columns.out.map(({ name }) => name),
        { maxFields: format.columns.length },
      );
      if (!beginAnew || !readBack || !writer) return undefined;
      const rows = createEarlyRows({ ...file, beginAnew, readBack }, Buffer.byteLength(header));
      early = rows;
      await rows.write(Buffer.from(header));
      return {
        writer,
        write: rows.write,
        undo: async () => {
          early = undefined;
          await (await beginAnew()).close();
        },
      };
    },
    begin: async (table, sheet) => {
      const kind = kindOfOutput(path, table.format);
      if (kind === 'xlsx') {
        // Most lists are no workbooks, and need not load this.
        const { createWorkbookFile } = await import('./workbook-file.ts');
        workbook ??= createWorkbookFile(options);
        return { ...(await workbook.begin(table, sheet)), goOn: noEarlyRows };
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

const READ_BYTES = 256 * 1024;
/** In the first night with a changes file, all rows are reported, one after the other. */
const WINDOW_BYTES = 64 * 1024;

/** The file is written once more from its beginning, but only if anything comes in between. */
function createEarlyRows(
  file: Pick<Required<OutputFile>, 'write'> & {
    readonly beginAnew: () => Promise<FileHandle>;
    readonly readBack: (at: number, sizeBytes: number) => Promise<Buffer>;
  },
  headerBytes: number,
): EarlyRows {
  let sizeBytes = 0;
  let settled = 0;
  let earlier: { readonly handle: FileHandle; readonly pieces: AsyncIterator<Buffer> } | undefined;
  let piece: Buffer = Buffer.alloc(0);
  /** What was read last. */
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;

  async function copy(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      if (piece.length === 0) {
        const next = await earlier?.pieces.next();
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
      if (earlier) await copy(count);
    },
    insert: async (bytes) => {
      if (!earlier && settled < sizeBytes) {
        const handle = await file.beginAnew();
        earlier = { handle, pieces: readFromStart(handle, READ_BYTES) };
        await copy(settled);
      }
      await file.write(bytes);
    },
    read: async (from, count) => {
      const at = headerBytes + from;
      if (at < windowAt || at + count > windowAt + window.length) {
        const most = Math.min(sizeBytes - at, Math.max(count, WINDOW_BYTES));
        window = earlier ? await readAt(earlier.handle, at, most) : await file.readBack(at, most);
        windowAt = at;
      }
      return window.toString('utf8', at - windowAt, at - windowAt + count);
    },
    close: async () => {
      await earlier?.handle.close();
      earlier = undefined;
    },
  };
}

/** An output whose first rows are written. */
export interface BegunOutput {
  readonly writer: ByteWriter;
  /** @param bytes must not be changed until the next call resolves */
  write(bytes: Uint8Array): Promise<void>;
  /** Takes it all back. `write` of the outputs then writes all rows. */
  readonly undo: () => Promise<void>;
}

/**
 * Writes the rows of a list as text. In the format of the list they are copied as they are; in
 * another format their cells are written anew.
 *
 * @param delimiter of CSV that is made from another format
 */
function createTextWriter(
  kind: Exclude<RowKind, 'xlsx'>,
  { format, extent, added }: TableOptions,
  delimiter: string,
): RowWriter {
  if (kind === format.kind) return format.createWriter(added, extent);
  if (kind === 'jsonl') return createObjectWriter(format, added);
  const { textsOf } = format;
  if (!textsOf) throw new TypeError(`rows of ${format.kind} are no table`);
  const width = Math.max(format.columns.length, extent.maxFields);
  const toCell = cellWriterOf(usualDialect(delimiter));
  /** The list's own cells are never changed, whatever they begin with. */
  const toOwnCell = (text: string): string =>
    /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
  const line = (own: readonly string[], values: readonly unknown[]): string => {
    const padded = [...own, ...Array.from({ length: Math.max(0, width - own.length) }, () => '')];
    const cells = [...padded.map(toOwnCell), ...values.map(toCell)];
    // An entirely empty line would not be a row.
    return `${cells.length === 1 && cells[0] === '' ? '""' : cells.join(delimiter)}\n`;
  };
  return {
    header: (format.marksText ? '\uFEFF' : '') + line(format.columns, added),
    row: (raw, _fields, values) => line(textsOf(raw), values),
  };
}

function createObjectWriter(format: RowFormat, added: readonly string[]): RowWriter {
  return {
    header: '',
    row: (raw, _fields, values) => {
      const ours = added.map((name, at) => [name, values[at]] as const);
      return `${JSON.stringify({ ...format.toObject(raw), ...Object.fromEntries(ours) })}\n`;
    },
  };
}
