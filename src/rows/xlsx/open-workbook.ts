import type { FileHandle } from 'node:fs/promises';
import { BrandfillError } from '../../common/errors.ts';
import { guessDomainColumn } from '../columns/domain-column.ts';
import { shorten } from '../columns/names.ts';
import { findOtherArchive } from '../other-formats.ts';
import { openSpool, type SpoolOptions, writeAll } from '../spool.ts';
import { addressOfSheetCell } from './cell.ts';
import { columnName, columnOfRef, columnsOf, MOST_COLUMNS } from './cell-ref.ts';
import { cellsFrom, createListRows, type LeftOut, type ListPlace } from './list-rows.ts';
import {
  brokenWorkbook,
  normalizePath,
  openPackage,
  type Package,
  readRelations,
  readWorkbookParts,
  type SheetPart,
  type WorkbookParts,
} from './package.ts';
import { createUnlistedRows, isHiddenRow, type RowLine, writeRowLine } from './row-line.ts';
import { NO_STRINGS, readSharedStrings, type SharedStrings } from './shared-strings.ts';
import {
  createRowCells,
  MOST_OF_FRAME,
  type RowCells,
  readSheet,
  type SheetFrame,
} from './sheet-reader.ts';
import {
  createLongNumbers,
  type LongNumbers,
  type NumberStyle,
  readNumberStyles,
} from './styles.ts';
import { attributeOf, decodeWhole, decodeXml, readXml, utf8Of } from './xml.ts';
import { readTables, type SheetTable } from './xml-edit.ts';

/** A workbook whose list was found and read. */
export interface Workbook {
  readonly pack: Package;
  readonly parts: WorkbookParts;
  /** The sheet of the list. */
  readonly sheet: SheetPart;
  readonly frame: SheetFrame;
  readonly place: ListPlace;
  /** The tables on the sheet of the list. */
  readonly tables: readonly SheetTable[];
  /** Pictures and charts on it. */
  readonly drawings: readonly Drawing[];
  /** Rows of the sheet that are not part of the list; see `withUnlistedRows`. */
  readonly unlisted: FileHandle;
  /** Reads the cells of its rows. */
  readonly rowCells: RowCells;
  /** The texts that cells refer to. */
  readonly strings: SharedStrings;
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** The first rows, with the texts that are looked up. */
  readonly sampleRows: readonly (readonly string[])[];
  readonly found: FoundRows;
  readonly longNumbers: LongNumbers;
  /**
   * Sheets that have a column of domains by name, if this one has none: it may be a cover, or
   * explain the others.
   */
  readonly otherLists: readonly OtherList[];
}

export interface OtherList {
  readonly sheet: string;
  readonly column: string;
}

/** What was found out about the rows of a list while they were read. */
export interface FoundRows {
  readonly rows: number;
  readonly hidden: number;
  /** The last row of the list, as the sheet counts; its header when it has no row. */
  readonly lastRow: number;
  /** Rows of the list that are below a table of its header. */
  readonly belowTables: readonly RowsBelowTable[];
  readonly leftOut: LeftOut | undefined;
  /** Number of formulas without a value, because no program has calculated them. */
  readonly uncalculated: number;
}

export interface OpenWorkbookOptions extends SpoolOptions {
  readonly name: string;
  /** The sheet of the list. @default the first that is visible and not empty */
  readonly sheet: string | undefined;
}

export interface RowsBelowTable {
  readonly table: SheetTable;
  rows: number;
  /** The first of them, as the sheet counts. */
  readonly first: number;
}

const SAMPLE_ROWS = 200;
const SAMPLE_CHARACTERS = 1_000_000;
const MOST_LISTED = 30;
const PEEKED_ROWS = 20;
const WRITE_BYTES = 256 * 1024;

/**
 * Finds the list in a workbook and writes its rows, a line each, into a file without a name.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, empty or would blow up,
 * `INVALID_SETTING` when there is no such sheet
 */
export async function openWorkbook(
  handle: FileHandle,
  options: OpenWorkbookOptions,
): Promise<{ readonly workbook: Workbook; readonly rows: FileHandle }> {
  const { name, signal } = options;
  let strings = NO_STRINGS;
  try {
    const pack = await openPackage(handle, name);
    await refuseOtherArchives(pack);
    const parts = await readWorkbookParts(pack);
    const { stringsPath, stylesPath } = parts;
    const candidates = chooseSheets(parts, options);
    if (stringsPath !== undefined) {
      strings = await readSharedStrings(pack.read(stringsPath), options);
    }
    const styles =
      stylesPath === undefined
        ? []
        : readNumberStyles(decodeWhole(await pack.readWhole(stylesPath)));
    const context = { strings, styles, ...options };
    for (const [at, sheet] of candidates.entries()) {
      const read = await readList({ pack, parts, sheet }, context);
      if (!read) continue;
      const { workbook, rows } = read;
      if (guessDomainColumn(workbook.columns, workbook.sampleRows)?.by === 'name') return read;
      const others = candidates.slice(at + 1, at + 1 + MOST_LISTED);
      const otherLists = await findLists({ pack, parts, sheets: others }, context);
      return { workbook: { ...workbook, otherLists }, rows };
    }
    const [{ name: first } = { name: '' }, ...others] = candidates;
    const what = others.length > 0 ? 'all of its sheets are' : `its sheet '${shorten(first)}' is`;
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${name}: ${what} empty; expected a header and rows.`,
    );
  } catch (error) {
    await strings.close();
    if (error instanceof BrandfillError || signal.aborted) throw error;
    throw brokenWorkbook(name, error instanceof Error ? error.message : String(error), error);
  }
}

async function refuseOtherArchives(pack: Package): Promise<void> {
  const readMimetype = async (): Promise<string> => String(await pack.readWhole('mimetype'));
  const other = await findOtherArchive(pack.paths.map(normalizePath), readMimetype);
  if (other === undefined) return;
  throw new BrandfillError('UNREADABLE_INPUT', `Cannot read ${pack.name}: it is ${other}.`);
}

/**
 * The sheet that was named; else the visible ones, of which the first that is not empty is taken.
 */
function chooseSheets(
  { sheets }: WorkbookParts,
  { name, sheet: wanted }: OpenWorkbookOptions,
): readonly SheetPart[] {
  if (sheets.length === 0) throw brokenWorkbook(name, 'there is no sheet in it');
  if (wanted === undefined) {
    const visible = sheets.filter(({ isHidden }) => !isHidden);
    return visible.length > 0 ? visible : sheets;
  }
  const folded = wanted.trim().toLowerCase();
  const found =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.trim().toLowerCase() === folded);
  if (found) return [found];
  const names = sheets.map((sheet) => `${shorten(sheet.name)}${sheet.isHidden ? ' (hidden)' : ''}`);
  const more = names.length - MOST_LISTED;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot find the sheet '${wanted}' in ${name}: there are: ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
  );
}

/** Looks into the beginning of other sheets. One that cannot be read has no list. */
async function findLists(
  { pack, parts, sheets }: Omit<SheetToRead, 'sheet'> & { readonly sheets: readonly SheetPart[] },
  { strings, styles }: Pick<ReadOptions, 'strings' | 'styles'>,
): Promise<readonly OtherList[]> {
  const found: OtherList[] = [];
  const context = { strings, styles, links: NO_LINKS, is1904: parts.is1904 };
  for (const { path, name } of sheets) {
    const rowCells = createRowCells(context);
    const unlisted = { add: () => {}, mark: () => '', flush: async () => {} };
    const list = createListRows([], unlisted, rowCells);
    const lines: RowLine[] = [];
    try {
      for await (const rows of readSheet(utf8Of(pack.read(path)), context)) {
        lines.push(...list.add(rows));
        if (lines.length >= PEEKED_ROWS) break;
      }
      lines.push(...list.end());
    } catch {
      continue;
    }
    const columns = list.place?.columns ?? [];
    const cells = lines.map((line) => textsIn(line, rowCells, list.place));
    const column = guessDomainColumn(columns, cells);
    if (column?.by === 'name') found.push({ sheet: name, column: column.name });
  }
  return found;
}

interface SheetToRead {
  readonly pack: Package;
  readonly parts: WorkbookParts;
  readonly sheet: SheetPart;
}

interface ReadOptions extends OpenWorkbookOptions {
  readonly strings: SharedStrings;
  readonly styles: readonly NumberStyle[];
}

/** @returns undefined for an empty sheet */
async function readList(
  { pack, parts, sheet }: SheetToRead,
  { strings, styles, signal, spoolFolder }: ReadOptions,
): Promise<{ readonly workbook: Workbook; readonly rows: FileHandle } | undefined> {
  const links = await readLinks(pack, sheet.path);
  const tables = await readTables(pack, sheet.path);
  const spool = await openSpool(spoolFolder);
  const unlistedSpool = await openSpool(spoolFolder);
  const unlisted = createUnlistedRows(unlistedSpool, spoolFolder);
  const context = { strings, styles, links, is1904: parts.is1904 };
  const rowCells = createRowCells(context);
  const list = createListRows(tables, unlisted, rowCells);
  const count = { rows: 0, hidden: 0, lastRow: 0, uncalculated: 0 };
  const belowTables: RowsBelowTable[] = [];
  const sampleRows: (readonly string[])[] = [];
  let gathered: Buffer[] = [];
  let sizeBytes = 0;
  let sampled = 0;

  async function close(): Promise<void> {
    await spool.close();
    await unlistedSpool.close();
  }

  async function write(lines: readonly RowLine[], isLast: boolean): Promise<void> {
    for (const line of lines) {
      if (sampleRows.length < SAMPLE_ROWS && sampled < SAMPLE_CHARACTERS) {
        sampleRows.push(textsIn(line, rowCells, list.place));
        sampled += line.xml.length;
      }
      countRow(line);
      const bytes = writeRowLine(line);
      gathered.push(bytes);
      sizeBytes += bytes.length;
    }
    await unlisted.flush();
    if (sizeBytes < WRITE_BYTES && !isLast) return;
    await writeAll(spool, Buffer.concat(gathered, sizeBytes), spoolFolder);
    gathered = [];
    sizeBytes = 0;
  }

  function countRow({ number, xml }: RowLine): void {
    count.rows += 1;
    count.lastRow = number;
    if (isHiddenRow(xml.toString('latin1', 0, xml.indexOf('>')))) count.hidden += 1;
    for (const table of tables) {
      if (table.firstRow !== list.place?.header.number || number <= table.lastRow) continue;
      const known = belowTables.find((below) => below.table === table);
      if (known) known.rows += 1;
      else belowTables.push({ table, rows: 1, first: number });
    }
  }

  try {
    const rows = readSheet(utf8Of(pack.read(sheet.path)), context);
    let step = await rows.next();
    for (; !step.done; step = await rows.next()) {
      signal.throwIfAborted();
      for (const { uncalculated } of step.value) count.uncalculated += uncalculated;
      await write(list.add(step.value), false);
    }
    await write(list.end(), true);
    const { place, leftOut } = list;
    if (!place) {
      await close();
      return undefined;
    }
    const { columns } = place;
    const lastRow = Math.max(place.header.number, count.lastRow);
    const found = { ...count, lastRow, belowTables, leftOut };
    const frame = step.value;
    const drawings = await readDrawings(pack, sheet.path, frame);
    const longNumbers = createLongNumbers(styles.length);
    const read = {
      longNumbers,
      otherLists: [],
      frame,
      place,
      tables,
      drawings,
      columns,
      sampleRows,
      found,
      unlisted: unlistedSpool,
      rowCells,
      strings,
    };
    return { workbook: { pack, parts, sheet, ...read }, rows: spool };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The texts of a row that are looked up. */
function textsIn(
  { xml, number }: RowLine,
  rowCells: RowCells,
  place: ListPlace | undefined,
): readonly string[] {
  return cellsFrom(rowCells.read(xml, number), place?.firstColumn ?? 0).map(addressOfSheetCell);
}

/** As many as a sheet may have; one link over many cells counts for each cell. */
const MOST_LINKS = 200_000;
const HYPERLINK = /<(?:[\w.-]+:)?hyperlink(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))+\s*\/?>/g;
const NO_LINKS: ReadonlyMap<string, string> = new Map();

/**
 * Finds the link targets of the cells of a sheet. They are listed behind its rows, so the sheet is
 * read once more, unless it has no links.
 *
 * @returns addresses by the reference of their cell, such as `B5`. Links within the workbook do not
 * count.
 */
export async function readLinks(pack: Package, path: string): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>();
  for (const { id, kind, target, isExternal } of await readRelations(pack, path)) {
    if (kind === 'hyperlink' && isExternal) targets.set(id, target);
  }
  if (targets.size === 0) return NO_LINKS;
  const links = new Map<string, string>();
  for await (const xml of tagsBehindRows(pack, path)) {
    readXml(xml.endsWith('/>') ? xml : `${xml.slice(0, -1)}/>`, {
      open: (tag) => {
        const id = Object.entries(tag.attributes).find(([name]) => name.endsWith(':id'))?.[1];
        const target = id === undefined ? undefined : targets.get(id);
        if (target === undefined || links.size === MOST_LINKS) return;
        for (const place of placesOf(attributeOf(tag, 'ref') ?? '')) {
          if (links.size < MOST_LINKS) links.set(place, target);
        }
      },
    });
  }
  return links;
}

/** The hyperlink elements of a sheet, without reading its cells. */
async function* tagsBehindRows(pack: Package, path: string): AsyncGenerator<string> {
  let rest = '';
  let behind = 0;
  let isBehind = false;
  for await (const chunk of decodeXml(pack.read(path))) {
    rest += chunk;
    if (!isBehind) {
      const end = rest.search(/<\/(?:[\w.-]+:)?sheetData\s*>/);
      if (end === -1) {
        rest = rest.slice(-100);
        continue;
      }
      isBehind = true;
      rest = rest.slice(end);
    }
    behind += chunk.length;
    if (behind > MOST_OF_FRAME) throw new Error('what is around its rows is too long');
    let last = 0;
    for (const found of rest.matchAll(HYPERLINK)) {
      yield found[0];
      last = found.index + found[0].length;
    }
    rest = rest.slice(Math.max(last, rest.length - 65_536));
  }
}

/** `B5`, or all cells of `B5:B9`. */
function placesOf(ref: string): readonly string[] {
  const [first = '', last = first] = ref.split(':');
  const from = { column: columnOfRef(first), row: rowOfRef(first) };
  const to = { column: columnOfRef(last), row: rowOfRef(last) };
  const places: string[] = [];
  if (to.column < Math.max(0, from.column)) return places; // its rows would be counted for nothing
  for (let row = from.row; row <= to.row && places.length < MOST_LINKS; row += 1) {
    for (let column = Math.max(0, from.column); column <= to.column; column += 1) {
      places.push(`${columnName(column)}${row}`);
    }
  }
  return places;
}

function rowOfRef(ref: string): number {
  return Number(/\d+$/.exec(ref)?.[0] ?? 0);
}

/**
 * The cells that a picture or a chart lies over, or that have a comment or a sparkline. Columns count
 * from 0, rows from 1.
 */
interface Drawing {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly lastColumn: number;
}

/** Lengths in drawings are in EMU, 9,525 to a pixel. */
const EMU_PER_PIXEL = 9_525;
const PIXELS_PER_ROW = 20;
const PIXELS_PER_CHARACTER = 7;
const PIXELS_OF_MARGIN = 5;
const USUAL_WIDTH = 8.43;

/**
 * Finds where the drawings of a sheet are. One that cannot be read is where it was, and in nobody's
 * way.
 */
async function readDrawings(
  pack: Package,
  path: string,
  { head, tail }: SheetFrame,
): Promise<readonly Drawing[]> {
  const drawings: Drawing[] = [...tail.matchAll(SPARKLINE)].map(atCell);
  for (const { kind, target } of await readRelations(pack, path)) {
    if (!(kind === 'drawing' || kind === 'comments') || pack.find(target) === undefined) continue;
    const xml = await pack.readWhole(target).then(decodeWhole, () => '');
    try {
      drawings.push(
        ...(kind === 'drawing'
          ? findDrawings(xml, widthsOf(head))
          : [...xml.matchAll(COMMENT)].map(atCell)),
      );
    } catch {}
  }
  return drawings;
}

const SPARKLINE =
  /<(?:[\w.-]+:)?sparkline>\s*(?:<(?:[\w.-]+:)?f>[^<]*<\/[^>]*>\s*)?<(?:[\w.-]+:)?sqref>([A-Z]+\d+)/g;
const COMMENT = /<(?:[\w.-]+:)?comment\s(?:[^>]*?\s)?ref\s*=\s*["']([A-Z]+\d+)/g;

function atCell([, ref = '']: RegExpMatchArray): Drawing {
  const row = rowOfRef(ref);
  return { firstRow: row, lastRow: row, lastColumn: columnOfRef(ref) };
}

interface Anchor {
  readonly kind: string;
  readonly depth: number;
  readonly places: Record<string, number>;
}

/** Anchors name the cells of two corners, or of one and the size, or only a place and the size. */
function findDrawings(xml: string, widthOf: (column: number) => number): readonly Drawing[] {
  const found: Drawing[] = [];
  let anchor: Anchor | undefined;
  let corner = '';
  let text = '';
  let depth = 0;
  if (xml === '') return found;
  readXml(xml, {
    open: (tag) => {
      depth += 1;
      text = '';
      if (/^(?:twoCell|oneCell|absolute)Anchor$/.test(tag.local)) {
        anchor = { kind: tag.local, depth, places: {} };
      } else if (anchor && depth === anchor.depth + 1) {
        corner = tag.local;
        for (const name of ['x', 'y', 'cx', 'cy']) {
          const value = attributeOf(tag, name);
          if (value !== undefined) anchor.places[name] = Number(value);
        }
      }
    },
    text: (more) => {
      text += more;
    },
    close: (local) => {
      if (anchor && depth === anchor.depth + 2 && (corner === 'from' || corner === 'to')) {
        anchor.places[`${corner}.${local}`] = Number(text);
      }
      if (anchor?.depth === depth) {
        found.push(drawingAt(anchor.places, widthOf));
        anchor = undefined;
      }
      depth -= 1;
    },
  });
  return found;
}

function drawingAt(
  places: Readonly<Record<string, number>>,
  widthOf: (column: number) => number,
): Drawing {
  const of = (name: string): number => places[name] ?? 0;
  const firstRow = of('from.row') + Math.floor(of('y') / EMU_PER_PIXEL / PIXELS_PER_ROW);
  if (places['to.col'] !== undefined) {
    // A corner at the very edge of a cell does not lie over it.
    const edge = (name: string, offset: string): number => of(name) - (of(offset) === 0 ? 1 : 0);
    return {
      firstRow: firstRow + 1,
      lastRow: edge('to.row', 'to.rowOff') + 1,
      lastColumn: edge('to.col', 'to.colOff'),
    };
  }
  const heightPixels = (of('from.rowOff') + of('cy')) / EMU_PER_PIXEL;
  let pixels = (of('x') + of('from.colOff') + of('cx')) / EMU_PER_PIXEL;
  let column = of('from.col');
  while (column < MOST_COLUMNS && pixels > widthOf(column)) {
    pixels -= widthOf(column);
    column += 1;
  }
  return {
    firstRow: firstRow + 1,
    lastRow: firstRow + Math.ceil(heightPixels / PIXELS_PER_ROW),
    lastColumn: column,
  };
}

/** The widths of columns in pixels. */
function widthsOf(head: string): (column: number) => number {
  const [, usual] =
    /<(?:[\w.-]+:)?sheetFormatPr\s[^>]*?defaultColWidth\s*=\s*["']([\d.]+)/.exec(head) ?? [];
  const ranges = columnsOf(head);
  return (column) => {
    const own = ranges.find(({ first, last }) => first <= column && column <= last);
    if (own?.isHidden) return 0;
    const characters = Number(own?.width ?? usual ?? USUAL_WIDTH);
    return Math.floor(characters * PIXELS_PER_CHARACTER + PIXELS_OF_MARGIN);
  };
}
