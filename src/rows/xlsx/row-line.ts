import type { FileHandle } from 'node:fs/promises';
import { writeAll } from '../spool.ts';
import type { SheetCell } from './cell.ts';

/**
 * A row of a sheet on its way through a run: a line of the spool, split by characters that XML
 * cannot hold.
 *
 * | part | content |
 * |---|---|
 * | number | as the sheet counts |
 * | fields | how many columns it has, from the first column of the list |
 * | xml | the row as it is in the sheet, without its end |
 * | after | marks of the rows behind it that are not part of the list, which are kept in a file of their own |
 * | filled | JSON: contents of cells that were filled, by their column; mostly missing |
 */
export interface RowLine {
  readonly number: number;
  readonly fields: number;
  readonly xml: Buffer;
  readonly after: string;
}

const CUT = '\x1F';
const END = '\x1E';
export const CUT_BYTE = 0x1f;
export const END_BYTE = 0x1e;

export function writeRowLine({ number, fields, xml, after }: RowLine): Buffer {
  const head = `${number}${CUT}${fields}${CUT}`;
  const tail = `${CUT}${after}${END}`;
  const line = Buffer.allocUnsafe(head.length + xml.length + tail.length);
  line.write(head, 'latin1');
  xml.copy(line, head.length);
  line.write(tail, head.length + xml.length, 'latin1');
  return line;
}

/** A line as text. */
export interface RowText extends Omit<RowLine, 'xml'> {
  readonly xml: string;
  /** The contents of cells that were filled, by their column in the list. */
  readonly filled: ReadonlyMap<number, SheetCell>;
}

const NONE: ReadonlyMap<number, SheetCell> = new Map();

export function readRowText(line: string): RowText {
  const [number = '', fields = '', xml = '', after = '', filled] = line.slice(0, -1).split(CUT);
  return {
    number: Number(number),
    fields: Number(fields),
    xml,
    after,
    filled: filled === undefined ? NONE : new Map(JSON.parse(filled) as [number, SheetCell][]),
  };
}

export function writeRowText({ number, fields, xml, after, filled }: RowText): string {
  return [number, fields, xml, after, JSON.stringify([...filled])].join(CUT) + END;
}

/** @param xml the row as it is in the sheet */
export function isHiddenRow(xml: string): boolean {
  return /^<[^>]*\shidden\s*=\s*["'](?:1|true)["']/.test(xml);
}

/**
 * Rows of a sheet that are not part of the list, in a file of their own, since a sheet may have a
 * million that are empty but for their formats. A mark stands where they go.
 */
export interface UnlistedRows {
  add(xml: string): void;
  /** The mark of what was added since the last one; empty for nothing. */
  mark(): string;
  /** Writes what was added. To be called now and then, and at the end. */
  flush(): Promise<void>;
}

const MARK = '\x1D';
const MARK_BYTE = 0x1d;
const READ_BYTES = 256 * 1024;

/** @param folder where the spool is, for messages */
export function createUnlistedRows(spool: FileHandle, folder: string): UnlistedRows {
  let texts: string[] = [];
  let start = 0;
  let end = 0;
  return {
    add: (xml) => {
      texts.push(xml);
      end += Buffer.byteLength(xml);
    },
    mark: () => {
      const mark = start === end ? '' : `${MARK}${start}-${end}${MARK}`;
      start = end;
      return mark;
    },
    flush: async () => {
      const bytes = Buffer.from(texts.join(''));
      texts = [];
      await writeAll(spool, bytes, folder);
    },
  };
}

/**
 * Puts rows back where their marks are.
 *
 * @param bytes whole rows
 */
export async function* withUnlistedRows(bytes: Buffer, spool: FileHandle): AsyncGenerator<Buffer> {
  let from = 0;
  for (let at = bytes.indexOf(MARK_BYTE); at !== -1; at = bytes.indexOf(MARK_BYTE, from)) {
    if (at > from) yield bytes.subarray(from, at);
    const close = bytes.indexOf(MARK_BYTE, at + 1);
    const [start = 0, end = 0] = bytes
      .toString('latin1', at + 1, close)
      .split('-')
      .map(Number);
    yield* readRange(spool, start, end);
    from = close + 1;
  }
  if (from < bytes.length) yield bytes.subarray(from);
}

async function* readRange(spool: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const wanted = Buffer.alloc(Math.min(READ_BYTES, end - at));
    const { bytesRead } = await spool.read(wanted, 0, wanted.length, at);
    if (bytesRead === 0) throw new Error('rows that were not part of the list are gone');
    yield wanted.subarray(0, bytesRead);
    at += bytesRead;
  }
}
