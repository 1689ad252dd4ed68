import { readHyperlink } from '../domain/idioms.ts';
import { type CellContext, type SheetCell, toSheetCell } from './cell.ts';
import { columnName, columnOfRef, MOST_COLUMNS, MOST_ROWS } from './cell-ref.ts';
import type { SharedStrings } from './shared-strings.ts';
import { attributeOf, createXmlReader, unescapeCellText, type XmlTag } from './xml.ts';

/** A row of a sheet: the contents of its cells, and their XML. */
export interface SheetRow {
  /** As the sheet counts, from 1. */
  readonly number: number;
  /** Its opening tag, with its number. */
  readonly tag: string;
  /** In their order. Cells without a value are included if they have a style. */
  readonly cells: readonly ReadCell[];
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
 * @param text the part of the sheet, piece by piece
 * @returns its frame
 * @throws Error when it is damaged
 */
export async function* readSheet(
  text: AsyncIterable<string>,
  options: SheetReaderOptions,
): AsyncGenerator<readonly SheetRow[], SheetFrame> {
  const { handlers, feed, take, frame } = createReader(options);
  const reader = createXmlReader(handlers);
  for await (const chunk of text) {
    feed(chunk);
    reader.write(chunk);
    const rows = take();
    if (rows.length > 0) yield rows;
  }
  reader.end();
  return frame();
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

function createReader({ strings, links, ...context }: SheetReaderOptions) {
  /** The text from position `from` on, in characters of the document. */
  let pending = '';
  let from = 0;
  let head = '';
  let rowsTag = '';
  let prefix = '';
  let tailStart = -1;
  let isInRows = false;
  let rows: SheetRow[] = [];
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
    const told = attributeOf(tag, 'r');
    number = told === undefined ? number + 1 : Number(told);
    if (!Number.isInteger(number) || number < 1 || number > MOST_ROWS) {
      throw new Error(`there is no row ${told ?? number} in a sheet`);
    }
    rowTag = cleanRowTag(textOf(rowStart, end), { number, isNumbered: told !== undefined });
    cells = [];
    nextColumn = 0;
  }

  function openCell(tag: XmlTag, end: number): void {
    const told = tag.attributes['r'];
    const column = told === undefined ? nextColumn : columnOfRef(told);
    if (column < 0 || column >= MOST_COLUMNS) {
      throw new Error(`there is no cell ${told ?? column + 1} in a sheet`);
    }
    nextColumn = column + 1;
    cell = {
      column,
      start: startOfTag(end),
      type: tag.attributes['t'] ?? 'n',
      style: Number(tag.attributes['s'] ?? 0) || 0,
      ref: `${columnName(column)}${number}`,
      hadRef: told !== undefined,
      tagEnd: end,
    };
    value = '';
    formula = '';
    hasFormula = false;
    isPhonetic = false;
  }

  function closeCell(open: OpenCell, end: number): void {
    const { column, type, style, ref } = open;
    const told = hasFormula ? readHyperlink(formula) : undefined;
    const link = links.get(ref) ?? told?.target;
    const text = type === 's' ? findShared(value) : unescapeCellText(value);
    const raw = text === '' && told ? { type: 'str', text: told.text } : { type, text };
    const found = toSheetCell({ ...raw, style, link }, context);
    const xml = cleanCell(textOf(open.start, end), open);
    const isUncalculated = hasFormula && found === null && type !== 'str';
    cells.push({ column, cell: found, style, hasFormula, isUncalculated, xml });
    if (end - rowStart > MOST_OF_ROW) throw new Error(`row ${number} is too long`);
    cell = undefined;
  }

  function findShared(index: string): string {
    if (index.trim() === '') return '';
    const text = strings.find(Number(index));
    if (text === undefined) throw new Error(`a cell of row ${number} refers to no text`);
    return text;
  }

  return {
    feed: (chunk: string): void => {
      // Text that was read is released, except for elements that are still open.
      pending += chunk;
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
          rows.push({ number, tag: rowTag, cells });
          rowTag = undefined;
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

// Rows and cells are copied from sheet to sheet, without the parts that would not fit there.

/** Adds its number to the tag of a row, and removes the hint which of its cells are filled. */
function cleanRowTag(
  tag: string,
  { number, isNumbered }: { readonly number: number; readonly isNumbered: boolean },
): string {
  const open = tag.endsWith('/>') ? `${tag.slice(0, -2)}>` : tag;
  const bare = open.replace(/\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, '');
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
