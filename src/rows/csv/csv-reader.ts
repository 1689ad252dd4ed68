import { CsvError, type Options } from 'csv-parse';
import type { CsvDialect } from './csv-dialect.ts';

/** 32 MB: a quote that is never closed would swallow the rest of the file; no real row is this long. */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;

/**
 * Options that make csv-parse read a dialect. Rows may be ragged, and quotes within a cell are
 * text.
 */
export function parserOptions({ delimiter, quote, escape, lineEnds }: CsvDialect): Options {
  return {
    delimiter,
    quote: quote === '' ? null : quote,
    escape: escape === '' ? null : escape,
    record_delimiter: [...lineEnds],
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: MAX_RECORD_BYTES,
  };
}

/** A record as it was found. Good until the next one is read. */
export interface CsvRecord {
  /** The number of its cells. */
  readonly length: number;
  /** The text of a cell; empty where there is none. */
  cell(index: number): string;
  /** The record as it is in the file, line end included. */
  raw(): string;
  /** Where its bytes are, from `start` on, until more are written to the reader. */
  readonly bytes: Buffer;
  readonly start: number;
  /** Where it ends, in bytes from the beginning. */
  readonly endBytes: number;
  /** Its length in bytes, line end included. */
  readonly sizeBytes: number;
  /** The number of line ends before it ends, those within its cells included. */
  readonly lines: number;
}

/** Reads CSV piece by piece. */
export interface CsvReader {
  /** Reads on. Calls `onRecord` for all records that end in these bytes. */
  write(bytes: Buffer): void;
  end(): void;
  /** The number of cells read so far of the record that has not ended yet. */
  readonly openCells: number;
}

const LF = 10;
const CR = 13;

/** How a cell was written. */
const PLAIN = 0;
/** In quotes, without a quote or an escape between them. */
const QUOTED = 1;
/** In quotes, with escapes, or with text behind the closing quote. */
const ODD = 2;

/**
 * Finds records and their cells in bytes, and makes text only of cells that are asked for. It reads as
 * csv-parse does with `parserOptions`, to the byte: a property test holds it to that.
 *
 *   start of a cell ─┬─ quote ──► in quotes ─┬─ escape, character ──► in quotes
 *                    │                       ├─ quote, end of cell ─► closed
 *                    │                       └─ quote, other text ──► text (the quotes are part of it)
 *                    └─ other ──► text, up to a delimiter or a line end
 *
 * @param onRecord anything it throws is thrown by `write`
 */
export function createCsvReader(
  dialect: CsvDialect,
  onRecord: (record: CsvRecord) => void,
): CsvReader {
  const delimiter = Buffer.from(dialect.delimiter);
  const firstOfDelimiter = delimiter[0] ?? 0;
  const quote = dialect.quote === '' ? -1 : dialect.quote.charCodeAt(0);
  const escape = dialect.escape === '' ? -1 : dialect.escape.charCodeAt(0);
  const isDoubled = escape === quote;
  const [endsAtDouble, endsAtPair, endsAtReturn, endsAtFeed] = (
    ['\r\r\n', '\r\n', '\r', '\n'] as const
  ).map((lineEnd) => dialect.lineEnds.includes(lineEnd));

  /** Bytes that are not read yet, and those of the record that has not ended. */
  let bytes: Buffer = Buffer.alloc(0);
  let length = 0;
  /** The place of the first of these bytes in the file. */
  let offset = 0;
  let at = 0;
  let recordStart = 0;
  let cellStart = 0;
  let isQuoting = false;
  /** How the present cell is written so far. */
  let kind = PLAIN;
  /** The place behind the closing quote of the present cell; -1 while it has none. */
  let closedAt = -1;
  let lines = 1;
  let cells = 0;
  let starts = new Int32Array(64);
  let ends = new Int32Array(64);
  let kinds = new Uint8Array(64);

  const record: { -readonly [K in keyof CsvRecord]: CsvRecord[K] } = {
    length: 0,
    bytes,
    start: 0,
    endBytes: 0,
    sizeBytes: 0,
    lines: 0,
    cell: (index) => (index >= 0 && index < cells ? textOf(index) : ''),
    raw: () => bytes.toString('utf8', recordStart, recordStart + record.sizeBytes),
  };

  function textOf(index: number): string {
    const start = starts[index] ?? 0;
    const end = ends[index] ?? 0;
    if (kinds[index] === PLAIN) return bytes.toString('utf8', start, end);
    if (kinds[index] === QUOTED) return bytes.toString('utf8', start + 1, end - 1);
    return textOfOddCell(bytes.subarray(start, end), quote, escape);
  }

  function endCell(end: number): void {
    if (cells === starts.length) {
      starts = grown(starts, new Int32Array(2 * cells));
      ends = grown(ends, new Int32Array(2 * cells));
      kinds = grown(kinds, new Uint8Array(2 * cells));
    }
    starts[cells] = cellStart;
    ends[cells] = end;
    kinds[cells] = kind === QUOTED && closedAt !== end ? ODD : kind;
    cells += 1;
    kind = PLAIN;
    closedAt = -1;
  }

  function endRecord(end: number, next: number): void {
    endCell(end);
    record.length = cells;
    record.bytes = bytes;
    record.start = recordStart;
    record.endBytes = offset + next;
    record.sizeBytes = next - recordStart;
    record.lines = lines;
    onRecord(record);
    cells = 0;
    recordStart = next;
    cellStart = next;
  }

  /** The length of the line end at a place; 0 if there is none. */
  function lineEndAt(place: number): number {
    if (bytes[place] === LF) return endsAtFeed ? 1 : 0;
    const next = place + 1 < length ? bytes[place + 1] : undefined;
    if (endsAtDouble && next === CR && place + 2 < length && bytes[place + 2] === LF) return 3;
    if (endsAtPair && next === LF) return 2;
    return endsAtReturn ? 1 : 0;
  }

  function isDelimiterAt(place: number): boolean {
    if (delimiter.length === 1) return true;
    return (
      bytes.compare(
        delimiter,
        0,
        delimiter.length,
        place,
        Math.min(length, place + delimiter.length),
      ) === 0
    );
  }

  /** Reads all bytes but the last ones, to which more bytes may give another meaning. */
  function read(isLast: boolean): void {
    // A line end has up to three bytes.
    const sure = isLast ? length : length - Math.max(3, delimiter.length);
    while (at < sure) {
      const byte = bytes[at] ?? 0;
      if (isQuoting) {
        if (byte === escape && !isDoubled) {
          kind = ODD;
          if (isLineCharacter(bytes[at + 1])) lines += 1;
          at += 2;
          continue;
        }
        if (byte === quote) {
          if (isDoubled && at + 1 < length && bytes[at + 1] === quote) {
            kind = ODD;
            at += 2;
            continue;
          }
          isQuoting = false;
          at += 1;
          closedAt = at;
          continue;
        }
        if (byte === LF || byte === CR) lines += 1;
        at += 1;
        continue;
      }
      if (byte === firstOfDelimiter && isDelimiterAt(at)) {
        endCell(at);
        at += delimiter.length;
        cellStart = at;
        continue;
      }
      if (byte === LF || byte === CR) {
        const size = lineEndAt(at);
        if (size > 0) {
          const end = at;
          at += size;
          endRecord(end, at);
        } else at += 1;
        lines += 1;
        continue;
      }
      if (byte === quote && at === cellStart) {
        isQuoting = true;
        kind = QUOTED;
      }
      at += 1;
    }
  }

  /** Drops what was read, and keeps the record that has not ended. */
  function makeRoom(more: number): void {
    const kept = length - recordStart;
    const target = kept + more <= bytes.length ? bytes : Buffer.allocUnsafe(2 * (kept + more));
    bytes.copy(target, 0, recordStart, length);
    for (let index = 0; index < cells; index += 1) {
      starts[index] = (starts[index] ?? 0) - recordStart;
      ends[index] = (ends[index] ?? 0) - recordStart;
    }
    bytes = target;
    offset += recordStart;
    at -= recordStart;
    cellStart -= recordStart;
    if (closedAt >= 0) closedAt -= recordStart;
    length = kept;
    recordStart = 0;
  }

  return {
    write: (chunk) => {
      makeRoom(chunk.length);
      chunk.copy(bytes, length);
      length += chunk.length;
      read(false);
      if (length - recordStart > MAX_RECORD_BYTES) throw new CsvFault(FAULTS.CSV_MAX_RECORD_SIZE);
    },
    end: () => {
      read(true);
      if (isQuoting) throw new CsvFault(FAULTS.CSV_QUOTE_NOT_CLOSED);
      if (length === recordStart) return;
      // csv-parse counts a line when it reads on.
      if (isLineCharacter(bytes[length - 1])) lines -= 1;
      endRecord(length, length);
    },
    get openCells() {
      return cells;
    },
  };
}

function isLineCharacter(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

function grown<T extends Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** @param cell the bytes of a cell that begins with a quote */
function textOfOddCell(cell: Buffer, quote: number, escape: number): string {
  const content = Buffer.allocUnsafe(cell.length);
  let size = 0;
  let at = 1;
  for (; at < cell.length; at += 1) {
    const byte = cell[at] ?? 0;
    const isEscape = byte === escape && (escape === quote ? cell[at + 1] === quote : true);
    if (isEscape && at + 1 < cell.length) at += 1;
    else if (byte === quote) break;
    content[size] = cell[at] ?? 0;
    size += 1;
  }
  const text = content.toString('utf8', 0, size);
  const rest = cell.toString('utf8', at + 1);
  const isClosed = rest === '' || rest.startsWith('\0');
  const mark = isClosed ? '' : String.fromCharCode(quote);
  return mark + text + mark + rest;
}

/** Something is wrong with a record. */
class CsvFault extends Error {}

/** Describes in our words the fault that was found in a row. */
export function describeFault(error: unknown): string | undefined {
  if (error instanceof CsvFault) return error.message;
  if (!(error instanceof CsvError)) return undefined;
  return error.code in FAULTS ? FAULTS[error.code as keyof typeof FAULTS] : error.message;
}

const FAULTS = {
  CSV_QUOTE_NOT_CLOSED:
    'a quote is opened in this row and never closed; close it, or double it ("") if it is part of the text',
  CSV_MAX_RECORD_SIZE:
    'this row does not end within 32 MB; a quote that is opened in it is probably never closed',
};
