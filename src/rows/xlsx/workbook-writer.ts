import { PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { BrandfillError } from '../../common/errors.ts';
import type { CellValue, TableOutput, WrittenRow } from '../row-format.ts';
import { createCutter, READ_BYTES } from '../source.ts';
import { columnName, contains, MOST_COLUMNS, type Range } from './cell.ts';
import { type NewCell, putCells, valueXml } from './cell-xml.ts';
import type { OpenedWorkbook, RowLine } from './open-workbook.ts';
import { normalizePath } from './package.ts';
import type { Span } from './sheet-reader.ts';
import { widened } from './tables.ts';
import { withAttribute } from './xml.ts';

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
        `Cannot write ${pack.name} again: its rows can be read, but its part ${path} is damaged; give an --out that ends in .csv, or open it in a spreadsheet program and save it again as XLSX.`,
        { cause: error },
      );
    }
  }
}

/**
 * Begins to write a workbook: all is copied, and cells are put into the rows of its list.
 *
 * @param added names of the added columns
 * @param domainColumn the column that rows are looked up by, from 0, as the sheet counts
 * @param write writes the bytes of the workbook
 */
export function createWorkbookOutput(
  list: OpenedWorkbook,
  added: readonly string[],
  domainColumn: number,
  write: (bytes: Buffer) => Promise<void>,
): TableOutput {
  const { pack, sheet, frame, styles, tables } = list;
  const { prefix } = frame;
  const ours = firstFreeColumn(list, added.length);
  const lastColumn = ours + added.length - 1;
  // Sorting with a table or a filter over the list has to move our cells too.
  const isOfList = (range: Range): boolean =>
    range.firstRow >= list.firstHeaderRow &&
    range.firstRow <= list.headerRow &&
    range.firstColumn <= domainColumn &&
    domainColumn <= range.lastColumn;
  const table = tables.find(isOfList);
  const longer = table && table.lastColumn === ours - 1 ? table.extended(added) : undefined;
  const { dimension, autoFilter } = frame;
  const filter = !table && autoFilter && isOfList(autoFilter) ? autoFilter : undefined;

  async function* partAt(path: string): AsyncGenerator<Buffer | string> {
    if (path === list.workbookPath && filter) {
      yield widenFilterName(await pack.readText(path), sheet.index, lastColumn);
    } else yield* pack.read(path);
  }

  const zip = new ZipFile();
  // As Excel dates parts: the same is written as the same bytes.
  const dated = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };
  const rows = new PassThrough();
  for (const path of pack.paths) {
    const name = normalizePath(path);
    if (path === sheet.path) zip.addReadStream(rows, name, dated);
    else if (path === table?.path && longer !== undefined) {
      zip.addBuffer(Buffer.from(longer), name, dated);
    } else zip.addReadStreamLazy(name, dated, (done) => done(null, Readable.from(partAt(path))));
  }
  zip.end();
  const packed = zip.outputStream as PassThrough;
  zip.on('error', (error) => packed.destroy(error));
  const written = (async () => {
    for await (const chunk of packed) await write(chunk as Buffer);
  })();
  rows.on('error', () => {}); // it is thrown by what waits for `written`
  written.catch((error: Error) => rows.destroy(error));

  const cut = createCutter(pack.read(sheet.path));
  let at = 0;

  async function send(bytes: Buffer): Promise<void> {
    if (rows.destroyed) await written; // says why
    await new Promise<void>((resolve, reject) => {
      rows.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Copies the sheet up to the last of some places, with each of them changed. */
  async function edit(edits: readonly Edit[]): Promise<void> {
    const base = at;
    at = edits.at(-1)?.end ?? at;
    const bytes = await cut(at - base);
    const pieces: Buffer[] = [];
    let done = 0;
    for (const { start, end, edited } of edits) {
      const own = bytes.toString('utf8', start - base, end - base);
      pieces.push(bytes.subarray(done, start - base), Buffer.from(edited(own)));
      done = end - base;
    }
    await send(Buffer.concat(pieces));
  }

  /**
   * A cell takes over the style of the blank one that is there, be it that of its row or column, unless
   * that would show a number otherwise.
   */
  function newCell(column: number, row: number, value: CellValue, ofRow?: number): NewCell {
    const ofColumn = frame.columns.find((range) => contains(range, row, column))?.style;
    return {
      column,
      xml: (style = ofRow ?? ofColumn ?? 0) => {
        const isKept = column < ours || typeof value === 'string' || styles[style]?.isGeneral;
        return valueXml(value, { prefix, column, row, style: isKept ? style : 0 });
      },
    };
  }

  function cellsOf(values: readonly CellValue[]): [number, CellValue][] {
    return values
      .map((value, at): [number, CellValue] => [ours + at, value])
      .filter(([, value]) => value !== undefined && value !== null && value !== '');
  }

  const widen = (tag: string): string => widened(tag, lastColumn);

  function headerEdits(): readonly Edit[] {
    const header = list.head.at(-1);
    if (!header) return [];
    const { number, lastStyle, lastCell } = header;
    const names = added.map((name, at) => {
      const column = ours + at;
      return {
        column,
        xml: () => valueXml(name, { prefix, column, row: number, style: lastStyle }),
      };
    });
    return [{ ...header, edited: (row) => putCells(row, lastCell, names) }];
  }

  function editOf({ raw, cells: values }: WrittenRow): Edit {
    const [number, start, end, lastCell, own, filled = []] = JSON.parse(raw) as RowLine;
    const ofList = filled.map((column): [number, CellValue] => [column, own[column]]);
    const edited = (row: string): string => {
      const style = styleOf(row);
      const cells = [...ofList, ...cellsOf(values)].map(([column, value]) =>
        newCell(column, number, value, style),
      );
      return putCells(row, lastCell, cells);
    };
    return { start, end, edited };
  }

  let begun: Promise<void> | undefined;
  /** Writes what is above the first row of the list. */
  function begin(): Promise<void> {
    const size = dimension ? [{ ...dimension, edited: widen }] : [];
    const hidden = frame.columns.filter(
      (range) => range.isHidden && range.lastColumn >= ours && range.firstColumn <= lastColumn,
    );
    const shown = hidden.map((range) => {
      const edited = (tag: string): string => showColumns(tag, range, [ours, lastColumn]);
      return { start: range.start, end: range.end, edited };
    });
    begun ??= edit([...size, ...shown, ...headerEdits()]);
    return begun;
  }

  return {
    append: async (rows) => {
      await begin();
      await edit(rows.map(editOf));
    },
    finish: async () => {
      await begin();
      if (filter) await edit([{ ...filter, edited: widen }]);
      for (let rest = await cut(READ_BYTES); rest.length > 0; rest = await cut(READ_BYTES)) {
        await send(rest);
      }
      rows.end();
      await written;
      return table && longer === undefined
        ? [
            `The table '${table.name}' could not be extended over the added columns: sorting with it moves its own cells and leaves the added ones where they are.`,
          ]
        : [];
    },
    close: () => {
      rows.destroy();
      packed.destroy();
    },
  };
}

const NAME = /<(?:[\w.-]+:)?definedName\s([^<>]*)>[^<>]*(?=<)/g;
const END_OF_RANGE = /(:\s*\$?)[A-Z]+(\$?\d+\s*)$/;

/** The workbook with the hidden name of a sheet's filter, by which programs sort, as far as a column. */
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
 * The column where ours begin, from 0: right of all that is in the rows of the list or can be seen there.
 * A format that goes on to the end of the sheet leaves no such place; ours then get it too. Nor does a
 * cell at the end of the sheet; ours then go between the list and it.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when there is no place for them
 */
function firstFreeColumn(list: OpenedWorkbook, count: number): number {
  const { frame, styles, tables, firstHeaderRow, lastRow, columns } = list;
  const content = Math.max(list.lastContent, columns.length - 1);
  const isBeside = (range: Range): boolean =>
    range.firstRow <= lastRow && range.lastRow >= firstHeaderRow;
  const taken = [...frame.merges, ...frame.spills, ...tables].filter(isBeside);
  const coloured = frame.columns.filter(
    ({ lastColumn, style = -1 }) => lastColumn < MOST_COLUMNS - 1 && styles[style]?.isVisible,
  );
  let seen = Math.max(content, list.lastVisible);
  for (const { lastColumn } of [...taken, ...coloured]) seen = Math.max(seen, lastColumn);
  const last = [seen, content].find((last) => last + 1 + count <= MOST_COLUMNS);
  if (last !== undefined) return last + 1;
  const used = Uint8Array.from(list.used);
  for (const { firstColumn, lastColumn } of taken) used.fill(1, firstColumn, lastColumn + 1);
  let start = (list.head.at(-1)?.lastContent ?? -1) + 1;
  for (let column = start; column < start + count; column += 1) {
    if (column >= MOST_COLUMNS) throw tooWide(content + 1 + count);
    if (used[column]) start = column + 1;
  }
  return start;
}

function tooWide(columns: number): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write a workbook: a sheet holds ${MOST_COLUMNS} columns, and this one would have ${columns}; choose fewer with --fields, or an --out that ends in .csv.`,
  );
}
