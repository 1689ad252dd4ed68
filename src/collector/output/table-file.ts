import type { FileHandle } from 'node:fs/promises';
import type { RowWriter } from '../../rows/row-format.ts';
import { openSpool, readFromStart, writeAll } from '../../rows/spool.ts';
import { createSheetOfList, createTextWriter, type TableOptions } from '../../rows/table-writer.ts';
import { createInPlaceWriter, type SheetWriter } from '../../rows/xlsx/sheet-writer.ts';
import type { SheetContent } from '../../rows/xlsx/workbook-writer.ts';
import type { OutputFile } from './output-file.ts';
import { delimiterOfOutput, kindOfOutput } from './output-kind.ts';

/** A table that is being written. */
export interface Table {
  readonly writer: RowWriter;
  write(text: string): Promise<void>;
}

/** A file with one table or, if it is a workbook, with several. */
export interface TableFile {
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

export interface TableFileOptions {
  readonly path: string;
  readonly file: OutputFile;
  /** Whether all rows of the list go into it. */
  readonly isWhole: boolean;
  /** The folder where sheets are kept until the workbook is made from them. */
  readonly spoolFolder: string;
  readonly onNotice: (message: string) => void;
}

/** Makes a file of tables from an open output, in the format of its name. */
export function createTableFile(options: TableFileOptions): TableFile {
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
