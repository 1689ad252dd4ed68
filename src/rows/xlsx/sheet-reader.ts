import {
  columnOfRef,
  MOST_COLUMNS,
  MOST_ROWS,
  type Range,
  readRange,
  type SheetCell,
  toSheetCell,
  valueOfCell,
} from './cell.ts';
import type { CellStyle } from './styles.ts';
import { createXmlReader, relationIn, textOf, unescapeCellText, type XmlTag } from './xml.ts';

/**
 * The place of an element or a tag in the bytes of a sheet, with what is in front of it since the
 * tag before.
 */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * A row of a sheet, which is also what is kept of it between the two readings. Columns count from
 * 0.
 */
export interface SheetRow extends Span {
  /** As the sheet counts, from 1. */
  readonly number: number;
  end: number;
  /** The contents of its cells, up to the last one that has any. */
  readonly cells: SheetCell[];
  /** The column of its last cell at all, whether it has content or not; or -1. */
  lastCell: number;
  /** The style of its last cell with content. */
  lastStyle: number;
  /** The columns of cells that were filled in. @default none */
  readonly filled?: readonly number[];
}

/** A row as a line of JSON. */
export function lineOf(row: SheetRow): string {
  return `${JSON.stringify(row)}\n`;
}

export function rowIn(line: string): SheetRow {
  return JSON.parse(line) as SheetRow;
}

/** What is around the rows of a sheet. */
export class SheetFrame {
  /** The namespace prefix of elements, with its colon; usually empty. */
  prefix = '';
  /** Its size and its filter: the range, and where it is said. */
  dimension?: Range & Span;
  autoFilter?: Range & Span;
  readonly columns: SheetColumns[] = [];
  readonly merges: Range[] = [];
  /** Where the values of formulas with several spill. */
  readonly spills: Range[] = [];
  /** By column, whether any cell has content. */
  readonly used = new Uint8Array(MOST_COLUMNS);
  /** The column of the last cell that can be seen, be it by its format alone; or -1. */
  lastVisible = -1;
  /** How many formulas have no value, and how many cells show more than their value is. */
  uncalculated = 0;
  rich = 0;
  /** Ranges of linked cells, with the id of their target. */
  readonly links: { readonly range: Range; readonly id: string | undefined }[] = [];
}

/** Columns with a format of their own, and where that is said. */
export interface SheetColumns extends Range, Span {
  /** For cells that are not there; undefined for none. */
  readonly style: number | undefined;
  readonly isHidden: boolean;
}

export interface SheetOptions {
  /** The texts that cells refer to by number. */
  readonly findText: (index: number) => string | undefined;
  readonly styles: readonly CellStyle[];
  readonly is1904: boolean;
}

/**
 * Reads a sheet, and yields its rows as they come. `frame` is filled meanwhile.
 *
 * @throws Error when it is damaged
 */
export async function* readSheet(
  part: AsyncIterable<Buffer>,
  frame: SheetFrame,
  options: SheetOptions,
): AsyncGenerator<readonly SheetRow[]> {
  let rows: SheetRow[] = [];
  let pending = '';
  let from = 0;
  let fromBytes = 0;
  /** Where a place in the text is in its bytes. Places are asked for in their order. */
  const toBytes = (place: number): number => {
    fromBytes += Buffer.byteLength(pending.slice(0, place - from));
    pending = pending.slice(place - from);
    from = place;
    return fromBytes;
  };
  const add = (row: SheetRow): unknown => rows.push(row);
  const reader = createXmlReader(createHandlers(frame, options, toBytes, add));
  for await (const text of textOf(part)) {
    pending += text;
    reader.write(text);
    toBytes(reader.lastTag);
    if (rows.length > 0) yield rows;
    rows = [];
  }
  reader.end();
}

function createHandlers(
  frame: SheetFrame,
  { findText, styles, is1904 }: SheetOptions,
  toBytes: (place: number) => number,
  add: (row: SheetRow) => void,
) {
  /** The row and the cell that are open, and what of the cell is read. */
  let row: SheetRow | undefined;
  let cell = newCell();
  let inside: 'value' | 'formula' | undefined;
  let isPhonetic = false;
  let number = 0;

  function openRow({ attributes, start }: XmlTag): SheetRow {
    const { r: given } = attributes;
    number = given === undefined ? number + 1 : Number(given);
    if (!Number.isInteger(number) || number < 1 || number > MOST_ROWS) {
      throw new Error(`there is no row ${given ?? number} in a sheet`);
    }
    return { number, start: toBytes(start), end: 0, cells: [], lastCell: -1, lastStyle: 0 };
  }

  function openCell({ attributes }: XmlTag, lastCell: number): OpenCell {
    const { r: given, t = 'n', s = '0' } = attributes;
    const column = given === undefined ? lastCell + 1 : columnOfRef(given);
    if (column < 0 || column >= MOST_COLUMNS) {
      throw new Error(`there is no cell ${given ?? column + 1} in a sheet`);
    }
    if (t === 'e' && attributes['vm'] !== undefined) frame.rich += 1;
    return newCell(column, t, Number(s));
  }

  function closeCell(row: SheetRow, { column, type, style, value, formula }: OpenCell): void {
    row.lastCell = Math.max(row.lastCell, column);
    const format = styles[style];
    if (format?.isVisible) frame.lastVisible = Math.max(frame.lastVisible, column);
    if (value === '' && formula === undefined) return;
    const text = type === 's' ? sharedText(value) : unescapeCellText(value);
    const kept = toSheetCell({ type, style: format, text, formula }, is1904);
    if (kept === null) return;
    if (formula !== undefined && valueOfCell(kept) === null) frame.uncalculated += 1;
    frame.used[column] = 1;
    while (row.cells.length < column) row.cells.push(null);
    row.cells[column] = kept;
    if (column === row.cells.length - 1) row.lastStyle = style;
  }

  function openFormula({ attributes }: XmlTag): void {
    inside = 'formula';
    cell.formula = '';
    const range = attributes['t'] === 'shared' ? undefined : readRange(attributes['ref']);
    if (range && frame.spills.length < MOST_ROWS) frame.spills.push(range);
  }

  function sharedText(value: string): string {
    const text = value.trim() === '' ? undefined : findText(Number(value));
    if (text === undefined) throw new Error(`a cell of row ${number} refers to no text`);
    return text;
  }

  return {
    open: (tag: XmlTag): void => {
      const { local } = tag;
      if (!row) {
        if (local === 'row' && tag.depth === 2) row = openRow(tag);
        else addToFrame(frame, tag, toBytes);
      } else if (local === 'c') cell = openCell(tag, row.lastCell);
      else if (local === 'f') openFormula(tag);
      else if (local === 'rPh') isPhonetic = true;
      else if (local === 'v' || (local === 't' && !isPhonetic)) inside = 'value';
    },
    text: (more: string): void => {
      if (inside) cell[inside] = (cell[inside] ?? '') + more;
    },
    close: (local: string, end: number): void => {
      if (!row) return;
      inside = undefined;
      if (local === 'c') closeCell(row, cell);
      else if (local === 'rPh') isPhonetic = false;
      else if (local === 'row') {
        row.end = toBytes(end);
        add(row);
        row = undefined;
      }
    },
  };
}

/** Keeps what a tag around the rows says. */
function addToFrame(
  frame: SheetFrame,
  { local, prefix, depth, attributes, start, end }: XmlTag,
  toBytes: (place: number) => number,
): void {
  if (local === 'sheetData' && depth === 1) frame.prefix = prefix;
  if (local === 'col' && depth === 2) {
    const { min, max, style, hidden = '' } = attributes;
    if (frame.columns.length >= MOST_COLUMNS) throw new Error('it has too many columns');
    frame.columns.push({
      firstRow: 1,
      lastRow: MOST_ROWS,
      firstColumn: Number(min) - 1,
      lastColumn: Number(max) - 1,
      style: style === undefined ? undefined : Number(style),
      isHidden: /^(?:1|true)$/.test(hidden),
      start: toBytes(start),
      end: toBytes(end),
    });
  }
  const range = readRange(attributes['ref']);
  if (!range) return;
  if (depth === 1 && (local === 'dimension' || local === 'autoFilter'))
    frame[local] = { ...range, start: toBytes(start), end: toBytes(end) };
  else if (local === 'mergeCell') frame.merges.push(range);
  else if (local === 'hyperlink') frame.links.push({ range, id: relationIn(attributes) });
}

/**
 * A cell that is being read: its column, its type and the place of its style as they are said, its
 * texts.
 */
type OpenCell = ReturnType<typeof newCell>;

function newCell(column = -1, type = 'n', style = 0) {
  return { column, type, style, value: '', formula: undefined as string | undefined };
}

/** The memory that all texts may take. A million rows with three of their own each take 60 MB. */
const MOST_BYTES = 1_000_000_000;

/**
 * Reads the texts that cells refer to by number into bytes: as many texts by themselves would take
 * several times the memory.
 *
 * @param part the part of the workbook that holds them
 * @returns a function that gives a text; undefined when there is none of this number
 * @throws RangeError when they are too large
 */
export async function readSharedStrings(
  part: AsyncIterable<Buffer>,
): Promise<SheetOptions['findText']> {
  let bytes = Buffer.alloc(64 * 1024);
  const ends = [0];
  let end = 0;
  let text = '';
  let isText = false;
  let isPhonetic = false;

  function add(more: string): void {
    if (end > MOST_BYTES) throw new RangeError(`its texts are larger than ${MOST_BYTES / 1e9} GB`);
    const most = end + 3 * more.length;
    if (most > bytes.length) bytes = Buffer.concat([bytes], 2 * most);
    end += bytes.write(more, end);
    ends.push(end);
  }

  const reader = createXmlReader({
    open: ({ local }) => {
      if (local === 'si') text = '';
      if (local === 'rPh') isPhonetic = true;
      isText = local === 't' && !isPhonetic;
    },
    text: (more) => {
      if (isText) text += more;
    },
    close: (local) => {
      isText = false;
      if (local === 'rPh') isPhonetic = false;
      if (local === 'si') add(unescapeCellText(text));
    },
  });
  for await (const chunk of textOf(part)) reader.write(chunk);
  reader.end();
  return (index) => {
    const [from, to] = [ends[index], ends[index + 1]];
    return from === undefined || to === undefined ? undefined : bytes.toString('utf8', from, to);
  };
}
