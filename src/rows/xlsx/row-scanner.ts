import { isAscii, isUtf8 } from 'node:buffer';
import { MOST_COLUMNS, MOST_ROWS } from './cell-ref.ts';

/**
 * Finds rows and cells in the bytes of a sheet, as nearly all programs write them. It knows less than
 * XML, but it never takes for a row what an XML reader would read differently or refuse: it says
 * that it does not know, and leaves that to one.
 */
export interface RowScanner {
  /**
   * Looks at the row that begins at a place.
   *
   * @returns where it ends, or `INCOMPLETE` or `UNKNOWN`
   */
  scan(bytes: Buffer, at: number): number;
  /**
   * Looks at the cells of a row from its tag on, up to `to`.
   *
   * @param until ends with the first cell that is not left of this column. @default none
   * @returns whether it knows them all
   */
  scanCells(bytes: Buffer, from: number, to: number, until?: number): boolean;
  /** The row that was looked at last. */
  readonly row: ScannedTag;
  /** The cells that were looked at last. */
  readonly cells: CellTable;
}

export const INCOMPLETE = 0;
export const UNKNOWN = -1;

/** The opening tag of a row. */
export interface ScannedTag {
  /** Undefined when the sheet does not say it. */
  readonly number: number | undefined;
  /** The parts of the tag before and behind its number, without the hint which cells are filled. */
  readonly before: string;
  readonly behind: string;
  /** Where its cells begin and end. */
  readonly from: number;
  readonly to: number;
}

/** The types of cells; the number of a type is its place here. */
export const CELL_TYPES = ['n', 's', 'str', 'inlineStr', 'b', 'e', 'd'] as const;
export const SHARED = 1;

/** Places of cells in the bytes that were scanned, one array for each property. */
export interface CellTable {
  readonly count: number;
  /** Whether the cells follow each other directly, and each says its place. */
  readonly isTight: boolean;
  /** From 0, ascending. */
  readonly columns: Uint16Array;
  /** Indexes of {@link CELL_TYPES}. */
  readonly types: Uint8Array;
  readonly styles: Uint32Array;
  readonly hasRefs: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly valueStarts: Uint32Array;
  readonly valueEnds: Uint32Array;
  /** 0 where there is no formula. */
  readonly formulaStarts: Uint32Array;
  readonly formulaEnds: Uint32Array;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const AMPERSAND = 0x26;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const BRACKET = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const LETTERS = 26;
const LOWER = { r: 0x72, s: 0x73, t: 0x74 };

/** A longer row is left to the XML reader, which refuses it if it is too long. */
const MOST_OF_ROW = 4_000_000;
const MOST_OF_TEXT = 1_000_000;
const MOST_DIGITS = 9;
const MOST_TAGS = 1_000;

/** @param prefix the namespace prefix of elements, with its colon; usually empty */
export function createRowScanner(prefix: string): RowScanner {
  const OPEN_ROW = Buffer.from(`<${prefix}row`);
  const CLOSE_ROW = Buffer.from(`</${prefix}row>`);
  const OPEN_CELL = Buffer.from(`<${prefix}c`);
  const CLOSE_CELL = Buffer.from(`</${prefix}c>`);
  const OPEN_FORMULA = Buffer.from(`<${prefix}f`);
  const CLOSE_FORMULA = Buffer.from(`</${prefix}f>`);
  const NO_VALUE = Buffer.from(`<${prefix}v/>`);
  const VALUE = [`<${prefix}v>`, `<${prefix}v xml:space="preserve">`].map((tag) =>
    Buffer.from(tag),
  );
  const CLOSE_VALUE = Buffer.from(`</${prefix}v>`);
  const TEXT = [`<${prefix}is><${prefix}t>`, `<${prefix}is><${prefix}t xml:space="preserve">`].map(
    (tag) => Buffer.from(tag),
  );
  const CLOSE_TEXT = Buffer.from(`</${prefix}t></${prefix}is>`);
  const tags = new Map<string, readonly [string, string] | undefined>();
  const row = { number: undefined as number | undefined, before: '', behind: '', from: 0, to: 0 };
  const cells = {
    count: 0,
    isTight: true,
    columns: new Uint16Array(MOST_COLUMNS),
    types: new Uint8Array(MOST_COLUMNS),
    styles: new Uint32Array(MOST_COLUMNS),
    hasRefs: new Uint8Array(MOST_COLUMNS),
    starts: new Uint32Array(MOST_COLUMNS),
    ends: new Uint32Array(MOST_COLUMNS),
    valueStarts: new Uint32Array(MOST_COLUMNS),
    valueEnds: new Uint32Array(MOST_COLUMNS),
    formulaStarts: new Uint32Array(MOST_COLUMNS),
    formulaEnds: new Uint32Array(MOST_COLUMNS),
  };

  /** Each form of a tag is looked at once. @returns its parts, or undefined for an unknown form */
  function partsOf(form: string): readonly [string, string] | undefined {
    if (tags.has(form)) return tags.get(form);
    const names = Array.from(form.matchAll(/([^\s="]+)=/g), ([, name]) => name);
    const isKnown =
      /^(?:\s+[A-Za-z_][\w.:-]*="[^"<&]*"|\0)*\s*$/.test(form) &&
      /^[\t\n\r\x20-\x7E\0]*$/.test(form) &&
      new Set(names).size === names.length &&
      !names.some((name) => name === 'r' || name?.endsWith(':r'));
    const [before = '', behind] = cleanAttributes(form).split('\0');
    const open = `<${prefix}row`;
    const parts =
      behind === undefined ? ([open, before] as const) : ([open + before, behind] as const);
    if (tags.size === MOST_TAGS) tags.clear();
    tags.set(form, isKnown ? parts : undefined);
    return isKnown ? parts : undefined;
  }

  function scan(bytes: Buffer, at: number): number {
    const tagStart = at + OPEN_ROW.length;
    if (tagStart >= bytes.length) return INCOMPLETE;
    if (!isAt(bytes, at, OPEN_ROW)) return UNKNOWN;
    const next = bytes[tagStart];
    if (!isSpace(next) && next !== GREATER && next !== SLASH) return UNKNOWN;
    const tagEnd = bytes.indexOf(GREATER, tagStart);
    if (tagEnd === -1) return bytes.length - at > MOST_OF_ROW ? UNKNOWN : INCOMPLETE;
    const isEmpty = bytes[tagEnd - 1] === SLASH;
    const attributes = bytes.toString('latin1', tagStart, isEmpty ? tagEnd - 1 : tagEnd);
    const numbered = /\sr="([1-9]\d{0,6})"/.exec(attributes);
    const form = numbered
      ? `${attributes.slice(0, numbered.index)}\0${attributes.slice(numbered.index + numbered[0].length)}`
      : attributes;
    const parts = partsOf(form);
    const number = numbered ? Number(numbered[1]) : undefined;
    if (!parts || (number ?? 0) > MOST_ROWS) return UNKNOWN;
    row.number = number;
    [row.before, row.behind] = parts;
    row.from = tagEnd + 1;
    if (isEmpty) {
      row.to = row.from;
      return scanCells(bytes, row.from, row.to) ? row.to : UNKNOWN;
    }
    row.to = bytes.indexOf(CLOSE_ROW, row.from);
    if (row.to === -1) return bytes.length - at > MOST_OF_ROW ? UNKNOWN : INCOMPLETE;
    if (row.to - at > MOST_OF_ROW || !scanCells(bytes, row.from, row.to)) return UNKNOWN;
    return row.to + CLOSE_ROW.length;
  }

  function scanCells(bytes: Buffer, from: number, to: number, until = MOST_COLUMNS): boolean {
    cells.count = 0;
    cells.isTight = true;
    let nextColumn = 0;
    for (let at = from; at < to; ) {
      if (isSpace(bytes[at])) {
        cells.isTight = false;
        at += 1;
        continue;
      }
      at = scanCell(bytes, at, nextColumn);
      if (at === UNKNOWN || at > to) return false;
      nextColumn = (cells.columns[cells.count] ?? 0) + 1;
      cells.count += 1;
      if (nextColumn > until) break;
    }
    return isText(bytes.subarray(from, to));
  }

  /** @returns where it ends, or `UNKNOWN` */
  function scanCell(bytes: Buffer, start: number, leastColumn: number): number {
    const index = cells.count;
    if (!isAt(bytes, start, OPEN_CELL)) return UNKNOWN;
    let at = start + OPEN_CELL.length;
    let column = -1;
    let style = -1;
    let type = -1;
    for (;;) {
      const before = at;
      while (isSpace(bytes[at])) at += 1;
      const name = bytes[at];
      if (name === GREATER || name === SLASH) break;
      if (at === before || bytes[at + 1] !== EQUALS || bytes[at + 2] !== QUOTE) return UNKNOWN;
      at += 3;
      if (name === LOWER.r && column === -1) {
        column = 0;
        for (let letter = letterAt(bytes, at); letter > 0; letter = letterAt(bytes, at)) {
          column = column * LETTERS + letter;
          if (column > MOST_COLUMNS) return UNKNOWN;
          at += 1;
        }
        column -= 1;
        if (column === -1 || digitAt(bytes, at) === -1) return UNKNOWN;
        while (digitAt(bytes, at) !== -1) at += 1;
      } else if (name === LOWER.s && style === -1) {
        style = 0;
        const most = at + MOST_DIGITS;
        for (
          let digit = digitAt(bytes, at);
          digit !== -1 && at < most;
          digit = digitAt(bytes, at)
        ) {
          style = style * 10 + digit;
          at += 1;
        }
      } else if (name === LOWER.t && type === -1) {
        type = typeAt(bytes, at);
        if (type === -1) return UNKNOWN;
        at += CELL_TYPES[type]?.length ?? 0;
      } else {
        return UNKNOWN;
      }
      if (bytes[at] !== QUOTE) return UNKNOWN;
      at += 1;
    }
    const hasRef = column !== -1;
    if (!hasRef) {
      column = leastColumn;
      cells.isTight = false;
    }
    if (column < leastColumn || column >= MOST_COLUMNS) return UNKNOWN;
    cells.columns[index] = column;
    cells.types[index] = type === -1 ? 0 : type;
    cells.styles[index] = style === -1 ? 0 : style;
    cells.hasRefs[index] = hasRef ? 1 : 0;
    cells.starts[index] = start;
    cells.valueStarts[index] = 0;
    cells.valueEnds[index] = 0;
    cells.formulaStarts[index] = 0;
    cells.formulaEnds[index] = 0;
    if (bytes[at] === SLASH) at = bytes[at + 1] === GREATER ? at + 2 : UNKNOWN;
    else at = scanContent(bytes, at + 1, index);
    cells.ends[index] = at;
    return at;
  }

  function scanContent(bytes: Buffer, from: number, index: number): number {
    let hasValue = false;
    for (let at = from; ; ) {
      if (bytes[at] !== LESS) return UNKNOWN;
      if (isAt(bytes, at, CLOSE_CELL)) return at + CLOSE_CELL.length;
      if (isAt(bytes, at, OPEN_FORMULA)) {
        if (cells.formulaStarts[index] !== 0) return UNKNOWN;
        at = scanFormula(bytes, at + OPEN_FORMULA.length, index);
        if (at === UNKNOWN) return UNKNOWN;
        continue;
      }
      if (hasValue) return UNKNOWN;
      hasValue = true;
      if (isAt(bytes, at, NO_VALUE)) {
        at += NO_VALUE.length;
        continue;
      }
      const value = VALUE.find((tag) => isAt(bytes, at, tag));
      const open = value ?? TEXT.find((tag) => isAt(bytes, at, tag));
      if (!open) return UNKNOWN;
      const start = at + open.length;
      const end = endOfText(bytes, start);
      const close = value ? CLOSE_VALUE : CLOSE_TEXT;
      if (end === UNKNOWN || !isAt(bytes, end, close)) return UNKNOWN;
      cells.valueStarts[index] = start;
      cells.valueEnds[index] = end;
      at = end + close.length;
    }
  }

  function scanFormula(bytes: Buffer, from: number, index: number): number {
    const tagEnd = bytes.indexOf(GREATER, from);
    if (tagEnd === -1 || tagEnd - from > MOST_TAGS) return UNKNOWN;
    const isEmpty = bytes[tagEnd - 1] === SLASH;
    const attributes = bytes.toString('latin1', from, isEmpty ? tagEnd - 1 : tagEnd);
    if (!/^(?:\s+[A-Za-z_]\w*="[\x20\x21\x23-\x25\x27-\x3B\x3D-\x7E]*")*\s*$/.test(attributes)) {
      return UNKNOWN;
    }
    const names = Array.from(attributes.matchAll(/(\w+)="/g), ([, name]) => name);
    if (new Set(names).size < names.length) return UNKNOWN;
    const start = tagEnd + 1;
    const end = isEmpty ? start : endOfText(bytes, start);
    if (end === UNKNOWN) return UNKNOWN;
    cells.formulaStarts[index] = start;
    cells.formulaEnds[index] = end;
    if (isEmpty) return end;
    return isAt(bytes, end, CLOSE_FORMULA) ? end + CLOSE_FORMULA.length : UNKNOWN;
  }

  return { scan, scanCells, row, cells };
}

/** Removes the hint which cells of a row are filled, from its attributes. */
export function cleanAttributes(attributes: string): string {
  return attributes.replace(/\sspans\s*=\s*(?:"[^"]*"|'[^']*')/, '');
}

export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === TAB || byte === RETURN;
}

export function isAt(bytes: Buffer, at: number, word: Buffer): boolean {
  for (let offset = 0; offset < word.length; offset += 1) {
    if (bytes[at + offset] !== word[offset]) return false;
  }
  return true;
}

const TYPE_BYTES = CELL_TYPES.map((type) => Buffer.from(`${type}"`));

function typeAt(bytes: Buffer, at: number): number {
  if (bytes[at + 1] === QUOTE && bytes[at] === LOWER.s) return SHARED;
  return TYPE_BYTES.findIndex((type) => isAt(bytes, at, type));
}

/** @returns 1 for A to 26 for Z; 0 for anything else */
function letterAt(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0;
  return byte >= UPPER_A && byte <= UPPER_Z ? byte - UPPER_A + 1 : 0;
}

/** @returns -1 where there is none */
export function digitAt(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0;
  return byte >= ZERO && byte <= NINE ? byte - ZERO : -1;
}

const LONGEST_ENTITY = 10;

function isEntity(bytes: Buffer, at: number): boolean {
  const text = bytes.toString('latin1', at, at + LONGEST_ENTITY);
  const found = /^&(?:amp|lt|gt|quot|apos|#(\d{1,7})|#x([\dA-Fa-f]{1,6}));/.exec(text);
  const [, decimal, hex] = found ?? [];
  if (decimal === undefined && hex === undefined) return found !== null;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  if (code < SPACE) return isSpace(code);
  return (
    code <= 0xd7ff || (code >= 0xe000 && code <= 0xfffd) || (code > 0xffff && code <= 0x10ffff)
  );
}

/**
 * The place of the next tag behind a text; `UNKNOWN` if an XML reader might refuse the text. Its
 * characters beyond ASCII are for `isText`.
 */
export function endOfText(bytes: Buffer, from: number): number {
  const most = Math.min(bytes.length, from + MOST_OF_TEXT);
  for (let at = from; at < most; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === LESS) return at;
    if (byte < SPACE) {
      if (!isSpace(byte)) return UNKNOWN;
    } else if (byte === AMPERSAND) {
      if (!isEntity(bytes, at)) return UNKNOWN;
    } else if (byte === GREATER && bytes[at - 1] === BRACKET) return UNKNOWN;
  }
  return UNKNOWN;
}

/** Whether bytes are UTF-8 without the two characters that XML does not have. */
export function isText(bytes: Buffer): boolean {
  if (isAscii(bytes)) return true;
  return isUtf8(bytes) && !bytes.includes('\uFFFE') && !bytes.includes('\uFFFF');
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** A text as an XML reader would give it, from bytes that were scanned. */
export function textBetween(bytes: Buffer, from: number, to: number): string {
  const raw = bytes.toString('utf8', from, to);
  const text = raw.includes('\r') ? raw.replaceAll(/\r\n?/g, '\n') : raw;
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#x([^;]+)|#([^;]+)|([^;]+));/g, (_, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? '';
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}
