import {
  columnOfRef,
  MOST_COLUMNS,
  MOST_ROWS,
  type Range,
  readRange,
  type SheetCell,
  textOfSheetCell,
  toSheetCell,
} from './cell.ts';
import type { SharedStrings } from './shared-strings.ts';
import type { CellStyle } from './styles.ts';
import { attributeOf, createXmlReader, textOf, unescapeCellText, type XmlTag } from './xml.ts';

/** The place of an element or a tag in the bytes of a sheet, with what is in front of it since the tag before. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A row of a sheet. Columns count from 0. */
export interface SheetRow extends Span {
  /** As the sheet counts, from 1. */
  readonly number: number;
  /** The contents of its cells, up to the last one that has any. */
  readonly cells: readonly SheetCell[];
  /** Whether any cell has a text that is not blank. */
  readonly hasText: boolean;
  /** The columns of its last cell at all, of the last with content, and of the last to be seen; or -1. */
  readonly lastCell: number;
  readonly lastContent: number;
  readonly lastVisible: number;
  /** The style of its last cell with content. */
  readonly lastStyle: number;
}

/** A range that a sheet says something about, and where it says so. */
interface RangeTag extends Range, Span {}

/** What is around the rows of a sheet. */
export interface SheetFrame {
  /** The namespace prefix of elements, with its colon; usually empty. */
  prefix: string;
  dimension?: RangeTag;
  filter?: RangeTag;
  /** Columns that have a style of their own, for cells that are not there. */
  readonly columns: (Range & { readonly style: number })[];
  readonly merges: Range[];
  /** Ranges of linked cells, with the id of their target. */
  readonly links: { readonly range: Range; readonly id: string }[];
}

export interface SheetOptions {
  /** The texts that cells refer to by number. */
  readonly strings: SharedStrings | undefined;
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
  const reader = createXmlReader(
    createHandlers({ frame, options, toBytes, add: (row) => rows.push(row) }),
  );
  for await (const text of textOf(part)) {
    pending += text;
    reader.write(text);
    toBytes(reader.lastTag);
    if (rows.length > 0) yield rows;
    rows = [];
  }
  reader.end();
}

interface HandlerOptions {
  readonly frame: SheetFrame;
  readonly options: SheetOptions;
  readonly toBytes: (place: number) => number;
  readonly add: (row: SheetRow) => void;
}

function createHandlers({ frame, options, toBytes, add }: HandlerOptions) {
  const { strings, styles, is1904 } = options;
  let rowStart: number | undefined;
  let number = 0;
  let cells: SheetCell[] = [];
  let lastCell = -1;
  let lastContent = -1;
  let lastVisible = -1;
  let lastStyle = 0;
  let hasText = false;
  let type = '';
  let style = 0;
  let column = -1;
  let inside: 'value' | 'formula' | undefined;
  let value = '';
  let formula: string | undefined;
  let isPhonetic = false;

  function openRow(tag: XmlTag): void {
    const { r: given } = tag.attributes;
    number = given === undefined ? number + 1 : Number(given);
    if (!Number.isInteger(number) || number < 1 || number > MOST_ROWS) {
      throw new Error(`there is no row ${given ?? number} in a sheet`);
    }
    rowStart = toBytes(tag.start);
    cells = [];
    lastCell = lastContent = lastVisible = -1;
    lastStyle = 0;
    hasText = false;
  }

  function closeRow(start: number, end: number): void {
    const lasts = { lastCell, lastContent, lastVisible, lastStyle };
    add({ number, start, end: toBytes(end), cells, hasText, ...lasts });
    rowStart = undefined;
  }

  function openCell({ attributes }: XmlTag): void {
    const { r: given, t = 'n', s = '0' } = attributes;
    column = given === undefined ? lastCell + 1 : columnOfRef(given);
    if (column < 0 || column >= MOST_COLUMNS) {
      throw new Error(`there is no cell ${given ?? column + 1} in a sheet`);
    }
    type = t;
    style = Number(s);
    value = '';
    formula = undefined;
    isPhonetic = false;
  }

  function closeCell(): void {
    lastCell = Math.max(lastCell, column);
    const format = styles[style];
    if (format?.isVisible) lastVisible = Math.max(lastVisible, column);
    if (value === '' && formula === undefined) return;
    const text = type === 's' ? sharedText() : unescapeCellText(value);
    const cell = toSheetCell({ type, style: format, text, formula }, is1904);
    if (cell === null) return;
    hasText ||= textOfSheetCell(cell).trim() !== '';
    while (cells.length < column) cells.push(null);
    cells[column] = cell;
    if (column < lastContent) return;
    lastContent = column;
    lastStyle = style;
  }

  function sharedText(): string {
    const text = value.trim() === '' ? '' : strings?.find(Number(value));
    if (text === undefined) throw new Error(`a cell of row ${number} refers to no text`);
    return text;
  }

  /** What is around the rows. */
  function openOther(tag: XmlTag): void {
    const { local, depth, attributes } = tag;
    if (local === 'sheetData' && depth === 1) frame.prefix = tag.prefix;
    if (local === 'col' && attributes['style'] !== undefined) {
      const { min, max, style } = attributes;
      const columns = { firstColumn: Number(min) - 1, lastColumn: Number(max) - 1 };
      frame.columns.push({ firstRow: 1, lastRow: MOST_ROWS, ...columns, style: Number(style) });
    }
    const range = readRange(attributes['ref']);
    if (!range) return;
    if (depth === 1 && (local === 'dimension' || local === 'autoFilter')) {
      const span = { start: toBytes(tag.start), end: toBytes(tag.end) };
      frame[local === 'dimension' ? 'dimension' : 'filter'] = { ...range, ...span };
    } else if (local === 'mergeCell') frame.merges.push(range);
    else if (local === 'hyperlink') {
      const id = attributeOf(tag, 'id');
      if (id !== undefined) frame.links.push({ range, id });
    }
  }

  return {
    open: (tag: XmlTag): void => {
      const { local } = tag;
      if (rowStart === undefined) {
        if (local === 'row' && tag.depth === 2) openRow(tag);
        else openOther(tag);
      } else if (local === 'c') openCell(tag);
      else if (local === 'v') inside = 'value';
      else if (local === 't') inside = isPhonetic ? undefined : 'value';
      else if (local === 'f') {
        inside = 'formula';
        formula = '';
      } else if (local === 'rPh') isPhonetic = true;
    },
    text: (more: string): void => {
      if (inside === 'value') value += more;
      else if (inside === 'formula') formula += more;
    },
    close: (local: string, _: number, end: number): void => {
      if (rowStart === undefined) return;
      inside = undefined;
      if (local === 'c') closeCell();
      else if (local === 'rPh') isPhonetic = false;
      else if (local === 'row') closeRow(rowStart, end);
    },
  };
}
