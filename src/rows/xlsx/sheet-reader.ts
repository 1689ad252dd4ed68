import { readHyperlink } from '../domain/idioms.ts';
import { type CellContext, type SheetCell, textOfSheetCell, toSheetCell } from './cell.ts';
import { columnName, columnOfRef, MOST_COLUMNS, MOST_ROWS } from './cell-ref.ts';
import {
  CELL_TYPES,
  type CellTable,
  cleanAttributes,
  createRowScanner,
  digitAt,
  INCOMPLETE,
  isSpace,
  type RowScanner,
  SHARED,
  textBetween,
  UNKNOWN,
} from './row-scanner.ts';
import type { SharedStrings } from './shared-strings.ts';
import {
  attributeOf,
  createXmlReader,
  type ScanEnd,
  type ScannedPart,
  scanXml,
  unescapeCellText,
  type XmlTag,
} from './xml.ts';

/** A row of a sheet. */
export interface SheetRow {
  /** As the sheet counts, from 1. */
  readonly number: number;
  /**
   * Its opening tag and its cells: the tag with its number, the cells with their references, and
   * without what only makes them hard to split.
   */
  readonly xml: Buffer;
  /** Whether any cell has a text that is not blank. */
  readonly hasText: boolean;
  /** The columns of its first and its last cell with content, from 0; -1 when there is none. */
  readonly firstColumn: number;
  readonly lastColumn: number;
  /** The column of its last cell, with content or not; -1 when there is none. */
  readonly lastCell: number;
  /** How many of its formulas have no value, because no program has calculated them. */
  readonly uncalculated: number;
}

export interface ReadCell {
  /** From 0. */
  readonly column: number;
  readonly cell: SheetCell;
  readonly style: number;
  readonly hasFormula: boolean;
  /** Whether it is a formula whose value no program has calculated yet. */
  readonly isUncalculated: boolean;
  /** The XML of the cell, with its reference. */
  readonly xml: string;
}

/** The parts around the rows of a sheet. */
export interface SheetFrame {
  /** Everything before the rows. */
  readonly head: string;
  /** The opening tag of the element around the rows. */
  readonly rowsTag: string;
  /** Everything behind the rows. */
  readonly tail: string;
  /** The namespace prefix of elements; usually empty. */
  readonly prefix: string;
}

export interface SheetReaderOptions extends CellContext {
  readonly strings: SharedStrings;
  /** The targets of hyperlinks, by the references of their cells. */
  readonly links: ReadonlyMap<string, string>;
}

/** Rows and frame are held as they are, so neither may grow without bound. In characters. */
export const MOST_OF_FRAME = 32_000_000;
const MOST_OF_ROW = 4_000_000;

/**
 * Reads the rows of a sheet.
 *
 * @param chunks the part of the sheet in UTF-8, piece by piece
 * @returns its frame
 * @throws Error when it is damaged
 */
export async function* readSheet(
  chunks: AsyncIterable<Buffer>,
  options: SheetReaderOptions,
): AsyncGenerator<readonly SheetRow[], SheetFrame> {
  const reader = createReader(options);
  yield* scanXml(chunks, reader);
  return reader.frame();
}

/** A row as the XML reader sees it. */
interface ParsedRow {
  readonly number: number;
  readonly tag: string;
  readonly cells: readonly ReadCell[];
}

interface OpenCell {
  readonly column: number;
  readonly start: number;
  readonly type: string;
  readonly style: number;
  readonly ref: string;
  readonly hadRef: boolean;
  readonly tagEnd: number;
}

function createReader(options: SheetReaderOptions) {
  /** The text from position `from` on, in characters of the document. */
  let pending = '';
  let from = 0;
  let head = '';
  let rowsTag = '';
  let prefix = '';
  let tailStart = -1;
  let isInRows = false;
  let rows: SheetRow[] = [];
  let lastRow: ParsedRow = { number: 0, tag: '', cells: [] };
  let scanner: RowScanner | undefined;
  let fed = 0;
  /** Where the last row ends that was read here. */
  let rowEnd = -1;
  let number = 0;
  let rowTag: string | undefined;
  let rowStart = 0;
  let cells: ReadCell[] = [];
  let nextColumn = 0;
  let cell: OpenCell | undefined;
  let value = '';
  let formula = '';
  let hasFormula = false;
  let inside: 'value' | 'formula' | 'text' | undefined;
  let isPhonetic = false;

  const textOf = (start: number, end: number): string => pending.slice(start - from, end - from);
  const startOfTag = (end: number): number => from + pending.lastIndexOf('<', end - from - 1);

  function openRows(tag: XmlTag, end: number): void {
    const start = startOfTag(end);
    head = pending.slice(0, start - from);
    rowsTag = textOf(start, end).replace(/\s*\/>$/, '>');
    prefix = tag.prefix;
    isInRows = true;
  }

  function openRow(tag: XmlTag, end: number): void {
    rowStart = startOfTag(end);
    const given = attributeOf(tag, 'r');
    number = given === undefined ? number + 1 : Number(given);
    if (!Number.isInteger(number) || number < 1 || number > MOST_ROWS) {
      throw new Error(`there is no row ${given ?? number} in a sheet`);
    }
    rowTag = cleanRowTag(textOf(rowStart, end), { number, isNumbered: given !== undefined });
    cells = [];
    nextColumn = 0;
  }

  function openCell(tag: XmlTag, end: number): void {
    const given = tag.attributes['r'];
    const column = given === undefined ? nextColumn : columnOfRef(given);
    if (column < 0 || column >= MOST_COLUMNS) {
      throw new Error(`there is no cell ${given ?? column + 1} in a sheet`);
    }
    nextColumn = column + 1;
    cell = {
      column,
      start: startOfTag(end),
      type: tag.attributes['t'] ?? 'n',
      style: Number(tag.attributes['s'] ?? 0) || 0,
      ref: `${columnName(column)}${number}`,
      hadRef: given !== undefined,
      tagEnd: end,
    };
    value = '';
    formula = '';
    hasFormula = false;
    isPhonetic = false;
  }

  function closeCell(open: OpenCell, end: number): void {
    const { column, type, style, ref } = open;
    const raw = { type, style, value, formula: hasFormula ? formula : undefined };
    const xml = cleanCell(textOf(open.start, end), open);
    cells.push({ column, ...toReadCell(raw, { ...options, ref, number }), style, xml });
    if (end - rowStart > MOST_OF_ROW) throw new Error(`row ${number} is too long`);
    cell = undefined;
  }

  return {
    feed: (chunk: string): void => {
      // Text that was read is released, except for elements that are still open.
      pending += chunk;
      fed += chunk.length;
    },
    get place(): ScannedPart<SheetRow>['place'] {
      return isInRows ? 'inside' : tailStart === -1 ? 'before' : 'behind';
    },
    get isBehindItem() {
      return isInRows && rowEnd === fed;
    },
    get closeTag() {
      return `</${prefix}row>`;
    },
    get lastRow() {
      return lastRow;
    },
    scan: (bytes: Buffer, from: number): ScanEnd => {
      scanner ??= createRowScanner(prefix);
      let at = from;
      for (;;) {
        while (isSpace(bytes[at])) at += 1;
        if (at === bytes.length) return { at, isIncomplete: true };
        const end = scanner.scan(bytes, at);
        if (end === INCOMPLETE) return { at, isIncomplete: true };
        const row = end === UNKNOWN ? undefined : toScannedRow(scanner, bytes, number + 1, options);
        if (!row) return { at, isIncomplete: false };
        ({ number } = row);
        rows.push(row);
        at = end;
      }
    },
    handlers: {
      open: (tag: XmlTag, end: number): void => {
        if (!isInRows) {
          if (tag.local === 'sheetData' && tailStart === -1) openRows(tag, end);
        } else if (rowTag === undefined) {
          if (tag.local === 'row') openRow(tag, end);
        } else if (cell === undefined) {
          if (tag.local === 'c') openCell(tag, end);
        } else if (tag.local === 'v') inside = 'value';
        else if (tag.local === 'f') {
          inside = 'formula';
          hasFormula = true;
        } else if (tag.local === 'rPh') isPhonetic = true;
        else if (tag.local === 't' && !isPhonetic) inside = 'text';
      },
      text: (more: string): void => {
        if (inside === 'formula') formula += more;
        else if (inside !== undefined) value += more;
      },
      close: (local: string, end: number): void => {
        if (!isInRows) return;
        inside = undefined;
        if (local === 'rPh') isPhonetic = false;
        else if (local === 'c' && cell) closeCell(cell, end);
        else if (local === 'row' && rowTag !== undefined) {
          lastRow = { number, tag: rowTag, cells };
          rows.push(toParsedRow(lastRow));
          rowTag = undefined;
          rowEnd = end;
        } else if (local === 'sheetData') {
          isInRows = false;
          tailStart = end;
        }
      },
    },
    take: (): readonly SheetRow[] => {
      const keepFrom =
        tailStart !== -1
          ? tailStart
          : rowTag !== undefined
            ? rowStart
            : isInRows
              ? from + Math.max(0, pending.lastIndexOf('<'))
              : from;
      pending = pending.slice(keepFrom - from);
      from = keepFrom;
      if (!isInRows && pending.length > MOST_OF_FRAME)
        throw new Error('what is around its rows is too long');
      const taken = rows;
      rows = [];
      return taken;
    },
    frame: (): SheetFrame => {
      if (tailStart === -1) throw new Error('a sheet has no place for rows');
      return { head, rowsTag, tail: pending.slice(tailStart - from), prefix };
    },
  };
}

interface RawOfCell {
  readonly type: string;
  readonly style: number;
  readonly value: string;
  /** Undefined for none. */
  readonly formula: string | undefined;
}

/** @param ref the place of the cell @param number its row */
function toReadCell(
  { type, style, value, formula }: RawOfCell,
  { strings, links, ref, number, ...context }: SheetReaderOptions & { ref: string; number: number },
): Pick<ReadCell, 'cell' | 'hasFormula' | 'isUncalculated'> {
  const hasFormula = formula !== undefined;
  const given = hasFormula ? readHyperlink(formula) : undefined;
  const link = links.get(ref) ?? given?.target;
  const text = type === 's' ? findShared(value, strings, number) : unescapeCellText(value);
  const raw = text === '' && given ? { type: 'str', text: given.text } : { type, text };
  const cell = toSheetCell({ ...raw, style, link }, context);
  return { cell, hasFormula, isUncalculated: hasFormula && cell === null && type !== 'str' };
}

function findShared(index: string, strings: SharedStrings, number: number): string {
  if (index.trim() === '') return '';
  const text = strings.find(Number(index));
  if (text === undefined) throw new Error(`a cell of row ${number} refers to no text`);
  return text;
}

function toParsedRow({ number, tag, cells }: ParsedRow): SheetRow {
  const occupied = cells.filter(isOccupied).map(({ column }) => column);
  return {
    number,
    xml: Buffer.from(tag + cells.map(({ xml }) => xml).join('')),
    hasText: cells.some(({ cell }) => textOfSheetCell(cell).trim() !== ''),
    firstColumn: occupied.length === 0 ? -1 : Math.min(...occupied),
    lastColumn: occupied.length === 0 ? -1 : Math.max(...occupied),
    lastCell: cells.reduce((last, { column }) => Math.max(last, column), -1),
    uncalculated: cells.filter(({ isUncalculated }) => isUncalculated).length,
  };
}

/** Whether a cell has content, or would have some if it were calculated. */
export function isOccupied({ cell, hasFormula }: Pick<ReadCell, 'cell' | 'hasFormula'>): boolean {
  return cell !== null || hasFormula;
}

/** @returns undefined if a cell of it refers to no text */
function toScannedRow(
  { row, cells }: RowScanner,
  bytes: Buffer,
  nextNumber: number,
  options: SheetReaderOptions,
): SheetRow | undefined {
  const number = row.number ?? nextNumber;
  if (number > MOST_ROWS) return undefined;
  const { strings, links } = options;
  let hasText = false;
  let firstColumn = -1;
  let lastColumn = -1;
  let uncalculated = 0;
  for (let at = 0; at < cells.count; at += 1) {
    const start = cells.valueStarts[at] ?? 0;
    const end = cells.valueEnds[at] ?? 0;
    const isEmpty = start === end;
    const index = cells.types[at] === SHARED && !isEmpty ? indexAt(bytes, start, end) : -1;
    if (index >= strings.count || index === NO_INDEX) return undefined;
    if (isEmpty && cells.formulaStarts[at] === 0 && links.size === 0) continue;
    const first = index === -1 ? bytes[start] : strings.firstByte(index);
    const isFilled = !isEmpty && isPlain(first);
    if (isFilled) hasText = true;
    else {
      const cell = toReadCell(rawOf(cells, at, bytes), {
        ...options,
        number,
        ref: refOf(cells, at, number),
      });
      if (cell.isUncalculated) uncalculated += 1;
      if (!isOccupied(cell)) continue;
      hasText ||= textOfSheetCell(cell.cell).trim() !== '';
    }
    const column = cells.columns[at] ?? 0;
    if (firstColumn === -1) firstColumn = column;
    lastColumn = column;
  }
  const lastCell = cells.count === 0 ? -1 : (cells.columns[cells.count - 1] ?? 0);
  const xml = xmlOfScanned({ row, cells }, bytes, number);
  return { number, xml, hasText, firstColumn, lastColumn, lastCell, uncalculated };
}

const NO_INDEX = -2;

/** The number of a shared text. */
function indexAt(bytes: Buffer, from: number, to: number): number {
  let index = 0;
  for (let at = from; at < to; at += 1) {
    const digit = digitAt(bytes, at);
    if (digit === -1 || at - from > MOST_DIGITS) return NO_INDEX;
    index = index * 10 + digit;
  }
  return index;
}

/** Whether a value that begins with a byte is a text that is not blank, whatever its type is. */
function isPlain(first: number | undefined): boolean {
  return first !== undefined && first > SPACE && first < FIRST_OF_MANY && !ESCAPES.has(first);
}

const MOST_DIGITS = 9;
const SPACE = 0x20;
const FIRST_OF_MANY = 0x80;
/** `&` and `_`. */
const ESCAPES: ReadonlySet<number> = new Set([0x26, 0x5f]);

function rawOf(cells: CellTable, at: number, bytes: Buffer): RawOfCell {
  const { types, styles, valueStarts, valueEnds, formulaStarts, formulaEnds } = cells;
  const formulaStart = formulaStarts[at] ?? 0;
  return {
    type: CELL_TYPES[types[at] ?? 0] ?? 'n',
    style: styles[at] ?? 0,
    value: textBetween(bytes, valueStarts[at] ?? 0, valueEnds[at] ?? 0),
    formula:
      formulaStart === 0 ? undefined : textBetween(bytes, formulaStart, formulaEnds[at] ?? 0),
  };
}

function refOf({ columns }: CellTable, at: number, number: number): string {
  return `${columnName(columns[at] ?? 0)}${number}`;
}

function xmlOfScanned(
  { row, cells }: Pick<RowScanner, 'row' | 'cells'>,
  bytes: Buffer,
  number: number,
): Buffer {
  const tag = `${row.before} r="${number}"${row.behind}>`;
  if (!cells.isTight) return Buffer.from(tag + cellsXml(cells, bytes, number).join(''));
  const xml = Buffer.allocUnsafe(tag.length + row.to - row.from);
  xml.write(tag, 'latin1');
  bytes.copy(xml, tag.length, row.from, row.to);
  return xml;
}

/** The cells with their references, and nothing between them. */
function cellsXml(cells: CellTable, bytes: Buffer, number: number): readonly string[] {
  return Array.from({ length: cells.count }, (_, at) => {
    const xml = bytes.toString('utf8', cells.starts[at], cells.ends[at]);
    return cleanCell(xml, { ref: refOf(cells, at, number), hadRef: cells.hasRefs[at] === 1 });
  });
}

/** Reads the cells of rows that were found in a sheet. */
export interface RowCells {
  /** @param xml the row, as it was found */
  read(xml: Buffer, number: number): readonly ReadCell[];
  /** Its content in one column; null where it has none. */
  cellAt(xml: Buffer, number: number, column: number): SheetCell;
  /** The row without its cells from a column on. */
  upTo(xml: Buffer, column: number): Buffer;
}

export function createRowCells(options: SheetReaderOptions): RowCells {
  const scanners = new Map<string, RowScanner>();

  /** @returns undefined if the scanner does not know all cells of a row */
  function scan(xml: Buffer, until?: number): CellTable | undefined {
    const tagEnd = xml.indexOf('>');
    const [, prefix = ''] = /^<([^\s/>]*:)?row/.exec(xml.toString('latin1', 0, tagEnd)) ?? [];
    const scanner = scanners.get(prefix) ?? createRowScanner(prefix);
    scanners.set(prefix, scanner);
    return scanner.scanCells(xml, tagEnd + 1, xml.length, until) ? scanner.cells : undefined;
  }

  function parse(xml: Buffer): ParsedRow {
    const reader = createReader(options);
    const text = xml.toString();
    const whole = `<sheetData>${text}</${nameOf(text)}>`;
    reader.feed(whole);
    createXmlReader(reader.handlers).write(whole);
    return reader.lastRow;
  }

  return {
    read: (xml, number) => {
      const cells = scan(xml);
      if (!cells) return parse(xml).cells;
      return Array.from({ length: cells.count }, (_, at) => {
        const raw = rawOf(cells, at, xml);
        const read = toReadCell(raw, { ...options, number, ref: refOf(cells, at, number) });
        const text = xml.toString('utf8', cells.starts[at], cells.ends[at]);
        return { column: cells.columns[at] ?? 0, ...read, style: raw.style, xml: text };
      });
    },
    cellAt: (xml, number, column) => {
      const cells = scan(xml, column);
      if (!cells) return parse(xml).cells.findLast((cell) => cell.column === column)?.cell ?? null;
      const at = cells.columns.subarray(0, cells.count).indexOf(column);
      if (at === -1) return null;
      return toReadCell(rawOf(cells, at, xml), {
        ...options,
        number,
        ref: refOf(cells, at, number),
      }).cell;
    },
    upTo: (xml, column) => {
      const cells = scan(xml, column);
      if (!cells) {
        const { tag, cells: parsed } = parse(xml);
        return Buffer.from(
          tag + parsed.map((cell) => (cell.column < column ? cell.xml : '')).join(''),
        );
      }
      const at = cells.columns.subarray(0, cells.count).findIndex((found) => found >= column);
      return at === -1 ? xml : xml.subarray(0, cells.starts[at]);
    },
  };
}

// Rows and cells are copied from sheet to sheet, without the parts that would not fit there.

/** `x:row` of `<x:row r="5">`. */
export function nameOf(tag: string): string {
  return /^<([^\s/>]+)/.exec(tag)?.[1] ?? 'row';
}

/** Adds its number to the tag of a row, and removes the hint which of its cells are filled. */
function cleanRowTag(
  tag: string,
  { number, isNumbered }: { readonly number: number; readonly isNumbered: boolean },
): string {
  const open = tag.endsWith('/>') ? `${tag.slice(0, -2)}>` : tag;
  const bare = cleanAttributes(open);
  return isNumbered ? bare : bare.replace(/^<[^\s>]+/, (name) => `${name} r="${number}"`);
}

/** Adds its reference to a cell, and removes whatever only makes cells hard to split. */
export function cleanCell(
  xml: string,
  { ref, hadRef }: { readonly ref: string; readonly hadRef: boolean },
): string {
  const placed = hadRef ? xml : xml.replace(/^<[^\s/>]+/, (name) => `${name} r="${ref}"`);
  return placed.includes('<!') ? withoutComments(placed) : placed;
}

function withoutComments(xml: string): string {
  // Both in one pass: what looks like a comment within CDATA is text.
  return xml.replaceAll(/<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, text = '') =>
    String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  );
}
