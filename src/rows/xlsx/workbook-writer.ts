import { PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { BrandfillError } from '../../common/errors.ts';
import type { CellValue, TableOutput } from '../row-format.ts';
import { createCutter } from '../source.ts';
import { contains, MOST_COLUMNS, type Range, rangeRef } from './cell.ts';
import { type NewCell, putCells, valueXml } from './cell-xml.ts';
import type { OpenedWorkbook, RowLine } from './open-workbook.ts';
import { normalizePath } from './package.ts';
import type { Span } from './sheet-reader.ts';
import { withAttribute } from './xml.ts';

export interface WorkbookOutputOptions {
  readonly list: OpenedWorkbook;
  /** Names of the added columns. */
  readonly added: readonly string[];
  /** The column that rows are looked up by, from 0, as the sheet counts. */
  readonly domainColumn: number;
  /** Writes the bytes of the workbook. */
  readonly write: (bytes: Buffer) => Promise<void>;
}

/**
 * Makes sure that a workbook can be written again, before anything is paid for.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot
 */
export async function assertRewritable({ pack, sheet }: OpenedWorkbook): Promise<void> {
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

/** Begins to write a workbook: all is copied, and cells are put into the rows of its list. */
export function createWorkbookOutput(options: WorkbookOutputOptions): TableOutput {
  const { list, added, domainColumn, write } = options;
  const { pack, sheet, frame, styles, tables, place } = list;
  const { prefix } = frame;
  const ours = firstFreeColumn(list, added.length);
  const lastColumn = ours + added.length - 1;
  // Sorting with a table or a filter over the list has to move our cells too.
  const isOfList = (range: Range): boolean =>
    range.firstRow >= place.firstHeaderRow &&
    range.firstRow <= place.headerRow &&
    range.firstColumn <= domainColumn &&
    domainColumn <= range.lastColumn;
  const table = tables.find(isOfList);
  const longer = table && table.lastColumn === ours - 1 ? table.extended(added) : undefined;
  const filter = !table && frame.filter && isOfList(frame.filter) ? frame.filter : undefined;

  const zip = new ZipFile();
  const rows = new PassThrough();
  for (const path of pack.paths) {
    const about = { mtime: pack.writtenAt(path), forceDosTimestamp: true };
    const name = normalizePath(path);
    if (path === sheet.path) zip.addReadStream(rows, name, about);
    else if (path === table?.path && longer !== undefined) {
      zip.addBuffer(Buffer.from(longer), name, about);
    } else zip.addReadStreamLazy(name, about, (done) => done(null, Readable.from(pack.read(path))));
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
  let gathered: Buffer[] = [];
  let sizeBytes = 0;

  /** Takes the sheet up to a place. Nearly all of it is there, and needs no turn of the event loop. */
  function take(place: number): Buffer | Promise<Buffer> {
    const length = place - at;
    at = place;
    return cut(length);
  }

  function put(bytes: Buffer): void {
    gathered.push(bytes);
    sizeBytes += bytes.length;
  }

  async function flush(): Promise<void> {
    if (rows.destroyed) await written; // says why
    const bytes = Buffer.concat(gathered, sizeBytes);
    gathered = [];
    sizeBytes = 0;
    await new Promise<void>((resolve, reject) => {
      rows.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
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

  async function editRow(span: Span, edit: (row: Buffer) => readonly Buffer[]): Promise<void> {
    const before = take(span.start);
    put(Buffer.isBuffer(before) ? before : await before);
    const own = take(span.end);
    for (const piece of edit(Buffer.isBuffer(own) ? own : await own)) put(piece);
    if (sizeBytes >= WRITE_BYTES) await flush();
  }

  async function editTag(tag: (Span & Range) | undefined): Promise<void> {
    if (!tag) return;
    const ref = rangeRef({ ...tag, lastColumn: Math.max(tag.lastColumn, lastColumn) });
    await editRow(tag, (bytes) => {
      return [Buffer.from(withAttribute(bytes.toString(), 'ref', ref))];
    });
  }

  /** What is above the first row of the list. */
  async function begin(): Promise<void> {
    await editTag(frame.dimension);
    const header = list.head.at(-1);
    if (!header) return;
    const { number, lastStyle } = header;
    const names = added.map((name, at) => {
      const column = ours + at;
      return {
        column,
        xml: () => valueXml(name, { prefix, column, row: number, style: lastStyle }),
      };
    });
    await editRow(header, (row) => [Buffer.from(withoutSpans(putCells(row.toString(), names)))]);
  }

  let begun: Promise<void> | undefined;
  return {
    append: async (rows) => {
      begun ??= begin();
      await begun;
      for (const { raw, cells: values = [] } of rows) {
        const [number, start, end, lastCell, , filled = []] = JSON.parse(raw) as RowLine;
        const isFast = filled.length === 0 && lastCell < ours;
        await editRow({ start, end }, (row) => {
          const style = styleOf(row);
          const cells = [...filled, ...cellsOf(values)].map(([column, value]) =>
            newCell(column, number, value, style),
          );
          return isFast
            ? withCells(row, cells.map(({ xml }) => xml()).join(''))
            : [Buffer.from(withoutSpans(putCells(row.toString(), cells)))];
        });
      }
    },
    finish: async () => {
      begun ??= begin();
      await begun;
      await editTag(filter);
      for (let rest = await cut(WRITE_BYTES); rest.length > 0; rest = await cut(WRITE_BYTES)) {
        put(rest);
        await flush();
      }
      await flush();
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

/** The opening tag of a row, with what is in front of it. */
function tagOf(row: Buffer): string {
  return row.toString('latin1', 0, row.indexOf('>', row.indexOf('row')) + 1);
}

/** The style that a row has for cells that are not there. */
function styleOf(row: Buffer): number | undefined {
  const [, style] = /\scustomFormat="(?:1|true)"/.test(tagOf(row))
    ? (/\ss="(\d+)"/.exec(tagOf(row)) ?? [])
    : [];
  return style === undefined ? undefined : Number(style);
}

/** Cells at the end of a row. */
function withCells(row: Buffer, xml: string): readonly Buffer[] {
  const close = row.lastIndexOf('</');
  const tag = tagOf(row);
  return [
    Buffer.from(withoutSpans(tag), 'latin1'),
    row.subarray(tag.length, close),
    Buffer.from(xml),
    row.subarray(close),
  ];
}

/** Removes the hint which cells of a row are filled, which is optional and no longer right. */
function withoutSpans(row: string): string {
  return row.replace(/(<(?:[\w.-]+:)?row\b[^>]*?)\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, '$1');
}

/**
 * The column where ours begin, from 0: right of all that is in the rows of the list or can be seen
 * there. A format that goes on to the end of the sheet leaves no such place; ours then get it too.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when there is no place for them
 */
function firstFreeColumn(list: OpenedWorkbook, count: number): number {
  const { place, frame, styles, tables } = list;
  const { firstHeaderRow, lastRow, columns } = place;
  const content = Math.max(place.lastContent, columns.length - 1);
  let seen = Math.max(content, place.lastVisible);
  const coloured = frame.columns.filter(
    ({ lastColumn, style }) => lastColumn < MOST_COLUMNS - 1 && styles[style]?.isVisible,
  );
  for (const range of [...frame.merges, ...tables, ...coloured]) {
    const isBeside = range.firstRow <= lastRow && range.lastRow >= firstHeaderRow;
    if (isBeside) seen = Math.max(seen, range.lastColumn);
  }
  const last = [seen, content].find((last) => last + 1 + count <= MOST_COLUMNS);
  if (last !== undefined) return last + 1;
  throw new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write a workbook: a sheet holds ${MOST_COLUMNS} columns, and this one would have ${content + 1 + count}; choose fewer with --fields, or an --out that ends in .csv.`,
  );
}

const WRITE_BYTES = 256 * 1024;
