import type { Extent, RowColumn, RowFormat, RowWriter } from '../../rows/row-format.ts';
import type { SheetCell } from '../../rows/xlsx/cell.ts';
import { columnsOf } from '../../rows/xlsx/cell-ref.ts';
import { withUnlistedRows } from '../../rows/xlsx/row-line.ts';
import {
  createInPlaceWriter,
  createNewSheetWriter,
  type SheetWriter,
} from '../../rows/xlsx/sheet-writer.ts';
import { HEADER_STYLE, LONG_STYLE, styleOfDecimals } from '../../rows/xlsx/styles.ts';
import {
  findLeftBehind,
  rewriteWorkbook,
  writeNewWorkbook,
} from '../../rows/xlsx/workbook-writer.ts';
import { createPackedText, type PackedText } from '../../rows/xlsx/zip-writer.ts';
import type { OutputFile } from './output-file.ts';

/** A table to be written. */
export interface TableOptions {
  readonly format: RowFormat;
  readonly extent: Extent;
  /** Names of the added columns. */
  readonly added: readonly string[];
  /** The column that rows are looked up by. */
  readonly column: Pick<RowColumn, 'index'>;
}

/** What a file of tables is made with. */
export interface TableFileOptions {
  readonly path: string;
  readonly file: OutputFile;
  /** Whether all rows of the list go into it. */
  readonly isWhole: boolean;
  /** The folder where sheets are kept until the workbook is made from them. */
  readonly spoolFolder: string;
  readonly onNotice: (message: string) => void;
}

/** A table that is being written into a workbook. */
interface SheetTable {
  readonly writer: RowWriter;
  /** @param bytes must not be changed afterwards */
  write(bytes: Buffer): Promise<void>;
}

/** A workbook that is being written, with a table in each sheet. */
export interface WorkbookFile {
  /**
   * Begins a table by writing its header.
   *
   * @param name the name of its sheet
   */
  begin(table: TableOptions, name: string): Promise<SheetTable>;
  /** Writes the workbook. The file itself belongs to the caller. */
  finish(): Promise<void>;
  /** Releases temporary files. */
  close(): Promise<void>;
}

/** A sheet whose rows are kept, packed, until all are there. */
interface OpenSheet {
  readonly name: string;
  readonly writer: SheetWriter;
  readonly rows: PackedText;
}

/** Makes a workbook from an open output. */
export function createWorkbookFile({
  path,
  file,
  isWhole,
  spoolFolder,
  onNotice,
}: TableFileOptions): WorkbookFile {
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
      const rows = await createPackedText(spoolFolder);
      sheets.push({ name, writer, rows });
      const unlisted = isList ? workbook?.unlisted : undefined;
      const write = async (bytes: Buffer): Promise<void> => {
        if (unlisted)
          for await (const piece of withUnlistedRows(bytes, unlisted)) await rows.write(piece);
        else await rows.write(bytes);
      };
      await write(Buffer.from(writer.header));
      return { writer, write };
    },
    finish: async () => {
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
/**
 * Writes the rows of a list into a sheet of their own, with the styles of their workbook if there
 * is one. It hides what the list hides.
 */
export function createSheetOfList({
  format,
  extent,
  added,
}: Omit<TableOptions, 'column'>): SheetWriter {
  const { columns, isHidden, textsOf, workbook } = format;
  const cellsOf =
    format.cellsOf ?? (textsOf && ((raw: string) => textsOf(raw).map((text) => cellOfText(text))));
  if (!cellsOf) throw new TypeError(`rows of ${format.kind} are no table`);
  const width = Math.max(columns.length, extent.maxFields);
  const first = workbook?.place.firstColumn ?? 0;
  const styles = new Map(workbook?.place.headerCells.map(({ column, style }) => [column, style]));
  const headerStyles = workbook
    ? format.columns.map((_, at) => styles.get(first + at) ?? 0)
    : [HEADER_STYLE];
  const hidden = new Set<number>();
  for (const range of workbook ? columnsOf(workbook.frame.head) : []) {
    if (!range.isHidden) continue;
    const last = Math.min(range.last - first, width - 1);
    for (let at = Math.max(0, range.first - first); at <= last; at += 1) hidden.add(at);
  }
  const longStyle = workbook?.longNumbers.take ?? (() => LONG_STYLE);
  return createNewSheetWriter({
    columns,
    width,
    added,
    headerStyles,
    cellsOf,
    isHidden,
    hidden,
    longStyle,
  });
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.(\d+))?$/;
/** Sheets do not compute with more digits. */
const MOST_DIGITS = 15;
/** Nor do they show more, unless a format says so. */
const MOST_SHOWN = 11;

/**
 * Converts a text of CSV into a cell of a workbook. It becomes a number if nothing of it gets lost,
 * shown with as many decimals as it has. Everything else stays text, such as `007`, `+49 731 1`,
 * `1e5`, `12,5`, dates, and numbers of more than fifteen digits.
 */
export function cellOfText(text: string): SheetCell {
  if (text === '') return null;
  const found = NUMBER.exec(text);
  const digits = text.replaceAll(/\D/g, '').length;
  if (!found || digits > MOST_DIGITS || Number(text) === 0) {
    return text === '0' ? 0 : text;
  }
  const decimals = found[1]?.length ?? 0;
  if (decimals === 0) return digits > MOST_SHOWN ? ['number', text, LONG_STYLE] : Number(text);
  const style = styleOfDecimals(decimals);
  return style === undefined ? text : ['number', text, style];
}
