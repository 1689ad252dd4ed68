import { PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { BrandfillError } from '../../common/errors.ts';
import { textOfCell } from '../csv/csv-writer.ts';
import { type CellValue, isFilled, type TableOutput, type WrittenRow } from '../row-format.ts';
import { type Cutter, createCutter, READ_BYTES } from '../source.ts';
import {
  columnName,
  columnOfRef,
  contains,
  MOST_CHARACTERS,
  MOST_COLUMNS,
  type Range,
} from './cell.ts';
import type { OpenedWorkbook } from './open-workbook.ts';
import { normalizePath } from './package.ts';
import { rowIn, type SheetFrame, type Span } from './sheet-reader.ts';
import { type SheetTable, widened } from './tables.ts';
import { escapeCellText, withAttribute } from './xml.ts';

/** At least so many are added: domain, status, time, and a value. */
const LEAST_COLUMNS = 4;

/**
 * Makes sure that a workbook can be written again, before anything is paid for.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot
 */
export async function assertRewritable(list: OpenedWorkbook): Promise<void> {
  firstFreeColumn(list, LEAST_COLUMNS);
  const { pack, sheet } = list;
  for (const path of pack.paths) {
    if (path === sheet.path) continue;
    try {
      for await (const _ of pack.read(path));
    } catch (error) {
      throw new BrandfillError(
        'UNREADABLE_INPUT',
        `Cannot write ${pack.name} again: its rows can be read, but its part ${path} is damaged; give an option 'out' that ends in .csv, or open it in a spreadsheet program and save it again as XLSX.`,
        { cause: error },
      );
    }
  }
}

/**
 * A workbook that is being written: all is copied, and cells are put into the rows of its list.
 *
 *   nothing ──▶ what is above the list (begin) ──▶ its rows (append) ──▶ the rest (finish)
 */
export class WorkbookOutput implements TableOutput {
  readonly #list: OpenedWorkbook;
  readonly #added: readonly string[];
  /** The first and the last of the added columns. */
  readonly #first: number;
  readonly #last: number;
  /** The table and the filter over the list: sorting with them has to move our cells too. */
  readonly #table: SheetTable | undefined;
  readonly #filter: SheetFrame['autoFilter'];
  /** The table with our columns; undefined where it cannot have them. */
  readonly #longer: string | undefined;
  /** The bytes of the sheet as it was, how far they are copied, and where they go. */
  readonly #cut: Cutter;
  #at = 0;
  readonly #sheet = new PassThrough();
  readonly #packed: PassThrough;
  readonly #written: Promise<void>;
  #begun: Promise<void> | undefined;

  /**
   * @param added names of the added columns
   * @param domainColumn the column that rows are looked up by, from 0, as the sheet counts
   * @param write writes the bytes of the workbook
   */
  constructor(
    list: OpenedWorkbook,
    added: readonly string[],
    domainColumn: number,
    write: (bytes: Buffer) => Promise<void>,
  ) {
    const { firstHeaderRow, headerRow, frame, pack, sheet } = list;
    const isOfList = (range: Range): boolean =>
      range.firstRow >= firstHeaderRow &&
      range.firstRow <= headerRow &&
      range.firstColumn <= domainColumn &&
      domainColumn <= range.lastColumn;
    this.#list = list;
    this.#added = added;
    this.#first = firstFreeColumn(list, added.length);
    this.#last = this.#first + added.length - 1;
    this.#table = list.tables.find(isOfList);
    this.#filter =
      !this.#table && frame.autoFilter && isOfList(frame.autoFilter) ? frame.autoFilter : undefined;
    this.#longer =
      this.#table?.lastColumn === this.#first - 1 ? this.#table.extended(added) : undefined;
    this.#cut = createCutter(pack.read(sheet.path));
    const packed = this.#pack();
    this.#packed = packed;
    this.#written = (async () => {
      for await (const chunk of packed) await write(chunk as Buffer);
    })();
    this.#sheet.on('error', () => {}); // it is thrown by what waits for `#written`
    this.#written.catch((error: Error) => this.#sheet.destroy(error));
  }

  async append(rows: readonly WrittenRow[]): Promise<void> {
    await this.#begin();
    await this.#edit(rows.map((row) => this.#editOf(row)));
  }

  async finish(): Promise<readonly string[]> {
    await this.#begin();
    if (this.#filter) await this.#edit([{ ...this.#filter, edited: this.#widen }]);
    for (
      let rest = await this.#cut(READ_BYTES);
      rest.length > 0;
      rest = await this.#cut(READ_BYTES)
    )
      await this.#send(rest);
    this.#sheet.end();
    await this.#written;
    return this.#table && this.#longer === undefined
      ? [
          `The table '${this.#table.name}' could not be extended over the added columns: sorting with it moves its own cells and leaves the added ones where they are.`,
        ]
      : [];
  }

  close(): void {
    this.#sheet.destroy();
    this.#packed.destroy();
  }

  #pack(): PassThrough {
    const { pack } = this.#list;
    const zip = new ZipFile();
    // As Excel dates parts: the same is written as the same bytes.
    const dated = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };
    for (const path of pack.paths) {
      zip.addReadStreamLazy(normalizePath(path), dated, (done) =>
        done(null, Readable.from(this.#partAt(path))),
      );
    }
    zip.end();
    const packed = zip.outputStream as PassThrough;
    zip.on('error', (error) => packed.destroy(error));
    return packed;
  }

  async *#partAt(path: string): AsyncGenerator<Buffer | string> {
    const { pack, sheet, workbookPath } = this.#list;
    if (path === sheet.path) yield* this.#sheet as AsyncIterable<Buffer>;
    else if (path === this.#table?.path && this.#longer !== undefined) yield this.#longer;
    else if (path === workbookPath && this.#filter)
      yield widenFilterName(await pack.readText(path), sheet.index, this.#last);
    else yield* pack.read(path);
  }

  /** Writes what is above the first row of the list. */
  #begin(): Promise<void> {
    const { dimension, columns } = this.#list.frame;
    const hidden = columns.filter(
      (range) =>
        range.isHidden && range.lastColumn >= this.#first && range.firstColumn <= this.#last,
    );
    const shown = hidden.map((range): Edit => {
      const edited = (tag: string): string => showColumns(tag, range, [this.#first, this.#last]);
      return { start: range.start, end: range.end, edited };
    });
    const size = dimension ? [{ ...dimension, edited: this.#widen }] : [];
    this.#begun ??= this.#edit([...size, ...shown, ...this.#headerEdits()]);
    return this.#begun;
  }

  /** Copies the sheet up to the last of some places, with each of them changed. */
  async #edit(edits: readonly Edit[]): Promise<void> {
    const base = this.#at;
    this.#at = edits.at(-1)?.end ?? base;
    const bytes = await this.#cut(this.#at - base);
    const pieces: Buffer[] = [];
    let done = 0;
    for (const { start, end, edited } of edits) {
      const own = bytes.toString('utf8', start - base, end - base);
      pieces.push(bytes.subarray(done, start - base), Buffer.from(edited(own)));
      done = end - base;
    }
    await this.#send(Buffer.concat(pieces));
  }

  async #send(bytes: Buffer): Promise<void> {
    if (this.#sheet.destroyed) await this.#written; // says why
    await new Promise<void>((resolve, reject) => {
      this.#sheet.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  readonly #widen = (tag: string): string => widened(tag, this.#last);

  #headerEdits(): readonly Edit[] {
    const { head, frame } = this.#list;
    const header = head.at(-1);
    if (!header) return [];
    const { number: row, lastStyle: style, lastCell } = header;
    const names = this.#added.map((name, at) => {
      const column = this.#first + at;
      return {
        column,
        xml: () => valueXml(name, { prefix: frame.prefix, column, row, style }),
      };
    });
    return [{ ...header, edited: (xml) => putCells(xml, lastCell, names) }];
  }

  #editOf({ raw, cells: values }: WrittenRow): Edit {
    const { number, start, end, lastCell, cells: own, filled = [] } = rowIn(raw);
    const ofList = filled.map((column): [number, CellValue] => [column, own[column]]);
    const ours = values.map((value, at): [number, CellValue] => [this.#first + at, value]);
    const edited = (row: string): string => {
      const style = styleOf(row);
      const cells = [...ofList, ...ours]
        .filter(([, value]) => isFilled(value))
        .map(([column, value]) => this.#newCell(column, number, value, style));
      return putCells(row, lastCell, cells);
    };
    return { start, end, edited };
  }

  /**
   * A cell takes over the style of the blank one that is there, be it that of its row or column,
   * unless that would show a number otherwise.
   */
  #newCell(column: number, row: number, value: CellValue, ofRow: number | undefined): NewCell {
    const { frame, styles } = this.#list;
    const ofColumn = frame.columns.find((range) => contains(range, row, column))?.style;
    return {
      column,
      xml: (style = ofRow ?? ofColumn ?? 0) => {
        const isKept =
          column < this.#first || typeof value === 'string' || styles[style]?.isGeneral;
        const place = { prefix: frame.prefix, column, row, style: isKept ? style : 0 };
        return valueXml(value, place);
      },
    };
  }
}

const NAME = /<(?:[\w.-]+:)?definedName\s([^<>]*)>[^<>]*(?=<)/g;
const END_OF_RANGE = /(:\s*\$?)[A-Z]+(\$?\d+\s*)$/;

/**
 * The workbook with the hidden name of a sheet's filter, by which programs sort, as far as a
 * column.
 */
function widenFilterName(xml: string, sheet: number, lastColumn: number): string {
  return xml.replaceAll(NAME, (name: string, attributes: string) =>
    /\sname\s*=\s*["']_xlnm\._FilterDatabase["']/i.test(` ${attributes}`) &&
    new RegExp(`\\slocalSheetId\\s*=\\s*["']${sheet}["']`).test(` ${attributes}`)
      ? name.replace(END_OF_RANGE, `$1${columnName(lastColumn)}$2`)
      : name,
  );
}

/** A place in the sheet, and what comes there. */
interface Edit extends Span {
  readonly edited: (xml: string) => string;
}

/** The style that a row has for cells that are not there. */
function styleOf(row: string): number | undefined {
  const [tag = ''] = /<(?:[\w.-]+:)?row\b[^<>]*>/.exec(row) ?? [];
  const isOwn = /\scustomFormat="(?:1|true)"/.test(tag);
  const [, style] = (isOwn && /\ss="(\d+)"/.exec(tag)) || [];
  return style === undefined ? undefined : Number(style);
}

/** The tag of hidden columns, cut where some of them are shown. */
function showColumns(
  tag: string,
  { firstColumn, lastColumn }: Range,
  [first, last]: readonly [number, number],
): string {
  if (!tag.endsWith('/>')) return tag;
  const part = (from: number, to: number, isHidden: boolean): string => {
    if (from > to) return '';
    const numbered = withAttribute(withAttribute(tag, 'min', `${from + 1}`), 'max', `${to + 1}`);
    return isHidden ? numbered : withAttribute(numbered, 'hidden', undefined);
  };
  return (
    part(firstColumn, Math.min(lastColumn, first - 1), true) +
    part(Math.max(firstColumn, first), Math.min(lastColumn, last), false) +
    part(Math.max(firstColumn, last + 1), lastColumn, true)
  );
}

/**
 * The column where ours begin, from 0: right of all that is in the rows of the list or can be seen
 * there. Where a format or a cell at the end of the sheet leaves no such place, ours go into the
 * first gap right of the header that is wide enough, and get the format too.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when there is no place for them
 */
function firstFreeColumn(list: OpenedWorkbook, count: number): number {
  const { frame, styles, tables, firstHeaderRow, lastRow, columns, head } = list;
  const isBeside = (range: Range): boolean =>
    range.firstRow <= lastRow && range.lastRow >= firstHeaderRow;
  const taken = [...frame.merges, ...frame.spills, ...tables].filter(isBeside);
  const coloured = frame.columns.filter(
    ({ lastColumn, style = -1 }) => lastColumn < MOST_COLUMNS - 1 && styles[style]?.isVisible,
  );
  const used = Uint8Array.from(frame.used);
  for (const { firstColumn, lastColumn } of taken) used.fill(1, firstColumn, lastColumn + 1);
  const content = Math.max(used.lastIndexOf(1), columns.length - 1);
  let seen = Math.max(content, frame.lastVisible);
  for (const { lastColumn } of coloured) seen = Math.max(seen, lastColumn);
  if (seen + 1 + count <= MOST_COLUMNS) return seen + 1;
  let start = head.at(-1)?.cells.length ?? 0;
  for (let column = start; column < start + count; column += 1) {
    if (column >= MOST_COLUMNS) throw tooWide(content + 1 + count);
    if (used[column]) start = column + 1;
  }
  return start;
}

function tooWide(columns: number): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write a workbook: a sheet holds ${MOST_COLUMNS} columns, and this one would have ${columns}; choose fewer with option 'fields', or an option 'out' that ends in .csv.`,
  );
}

/** The place of a cell. */
interface CellPlace {
  /** The namespace prefix of elements; usually empty. */
  readonly prefix: string;
  /** From 0. */
  readonly column: number;
  /** From 1. */
  readonly row: number;
  readonly style: number;
}

/** Without a format, whole numbers from here on are shown as `4.9E+11`, and later lose digits. */
const FIRST_LONG = 1e11;

/**
 * A cell with an added value: numbers and booleans as such, unless digits would be lost, and the
 * rest as text, which is never a formula. Empty for no value.
 */
function valueXml(value: CellValue, { prefix, column, row, style }: CellPlace): string {
  const isBoolean = typeof value === 'boolean';
  const isLong = Number.isInteger(value) && Math.abs(Number(value)) >= FIRST_LONG;
  const text = isBoolean ? String(Number(value)) : textOfCell(value);
  if (text === '') return '';
  const place = `r="${columnName(column)}${row}"${style === 0 ? '' : ` s="${style}"`}`;
  return isBoolean || (typeof value === 'number' && !isLong)
    ? `<${prefix}c ${place}${isBoolean ? ' t="b"' : ''}><${prefix}v>${text}</${prefix}v></${prefix}c>`
    : `<${prefix}c ${place} t="inlineStr"><${prefix}is><${prefix}t xml:space="preserve">${escapeCellText(cut(text))}</${prefix}t></${prefix}is></${prefix}c>`;
}

/** Does not cut between two surrogates of a character. */
function cut(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A cell that is put into a row. */
interface NewCell {
  readonly column: number;
  /** @param style that of the cell that was there */
  readonly xml: (style?: number) => string;
}

const CELL =
  /<(?:[\w.-]+:)?c((?:\s[^<>]*?)?)(?:\/>|>[^<]*(?:<(?!(?:[\w.-]+:)?c[\s>])[^<]*)*?<\/(?:[\w.-]+:)?c\s*>)/g;
/** The hint which cells of a row are filled, which is optional and no longer right. */
const SPANS = /(<(?:[\w.-]+:)?row\b[^<>]*?)\sspans\s*=\s*(?:"[^"]*"|'[^']*')/;

/**
 * Puts cells into a row, in place of those that are there.
 *
 * @param row the whole row, which has cells
 * @param lastCell the column of the last of them
 * @param cells in the order of their columns
 */
function putCells(row: string, lastCell: number, cells: readonly NewCell[]): string {
  const mayBeThere = cells.some(({ column }) => column <= lastCell);
  let last = -1;
  const found = Array.from(mayBeThere ? row.matchAll(CELL) : [], (match) => {
    const [xml, attributes = ''] = match;
    const ref = /\sr\s*=\s*["']([^"']*)/.exec(attributes)?.[1];
    last = ref === undefined ? last + 1 : columnOfRef(ref);
    const style = Number(/\ss\s*=\s*["'](\d+)/.exec(attributes)?.[1] ?? 0);
    return { column: last, style, start: match.index, end: match.index + xml.length };
  });
  let text = '';
  let at = 0;
  for (const { column, xml } of cells) {
    const next = found.find((cell) => cell.column >= column);
    const there = next?.column === column ? next : undefined;
    const start = next?.start ?? row.lastIndexOf('</');
    text += row.slice(at, start) + xml(there?.style);
    at = there?.end ?? start;
  }
  return (text + row.slice(at)).replace(SPANS, '$1');
}
