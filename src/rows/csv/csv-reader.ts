import { CsvError, type Options } from 'csv-parse';
import { BrandfillError } from '../../common/errors.ts';
import { placeOfByte } from '../encoding/utf8.ts';
import type { ByteSource, RowColumn, ScannedRow, Shift } from '../row-format.ts';
import { skip } from '../source.ts';
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
    quote,
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
  /** The text of a cell as it is in the file, quotes and spaces included. */
  rawCell(index: number): string;
  /** The first odd spot in it. */
  oddSpot(): OddSpot | undefined;
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
/** In quotes, with escapes. */
const ESCAPED = 2;
/** In quotes, with text behind the closing one. */
const BEHIND = 3;

/**
 * A spot that other programs may read differently, so that cells may not be where they seem to be:
 * text behind a closing quote, a quote behind a space, a carriage return that does not end a line
 * here.
 */
type OddSpot = 'behind_closing' | 'behind_space' | 'lone_return';

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
  // NaN for none, which no byte is.
  const quote = dialect.quote.charCodeAt(0);
  const escape = dialect.escape.charCodeAt(0);
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
  /** The place behind the latest closing quote; before `cellStart` if the present cell has none. */
  let closedAt = 0;
  let lines = 1;
  let cells = 0;
  const starts: number[] = [];
  const ends: number[] = [];
  const kinds: number[] = [];

  const record: { -readonly [K in keyof CsvRecord]: CsvRecord[K] } = {
    length: 0,
    bytes,
    start: 0,
    endBytes: 0,
    sizeBytes: 0,
    lines: 0,
    cell: (index) => (index < cells ? textOf(index) : ''),
    rawCell: (index) => bytes.toString('utf8', starts[index], ends[index]),
    oddSpot: () => {
      for (let index = 0; index < cells; index += 1) {
        if (kinds[index] === BEHIND) return 'behind_closing';
        const odd = kinds[index] === PLAIN ? oddSpotIn(index) : undefined;
        if (odd) return odd;
      }
      return undefined;
    },
    raw: () => bytes.toString('utf8', recordStart, recordStart + record.sizeBytes),
  };

  function textOf(index: number): string {
    const start = starts[index] ?? 0;
    const end = ends[index] ?? 0;
    if (kinds[index] === PLAIN) return bytes.toString('utf8', start, end);
    if (kinds[index] === QUOTED) return bytes.toString('utf8', start + 1, end - 1);
    return textOfOddCell(bytes.subarray(start, end), quote, escape);
  }

  function oddSpotIn(index: number): OddSpot | undefined {
    const cell = bytes.subarray(starts[index], ends[index]);
    if (cell.includes(CR)) return 'lone_return';
    const isQuote = cell.toString().trimStart().startsWith(dialect.quote);
    return isQuote && dialect.quote !== '' ? 'behind_space' : undefined;
  }

  function endCell(end: number): void {
    starts[cells] = cellStart;
    ends[cells] = end;
    kinds[cells] = closedAt > cellStart && closedAt < end ? BEHIND : kind;
    cells += 1;
    kind = PLAIN;
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
    const next = bytes[place + 1];
    if (endsAtDouble && next === CR && bytes[place + 2] === LF) return 3;
    if (endsAtPair && next === LF) return 2;
    return endsAtReturn ? 1 : 0;
  }

  function isDelimiterAt(place: number): boolean {
    return (
      delimiter.length === 1 || delimiter.equals(bytes.subarray(place, place + delimiter.length))
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
          kind = ESCAPED;
          if (isLineCharacter(bytes[at + 1])) lines += 1;
          at += 2;
          continue;
        }
        if (byte === quote) {
          if (isDoubled && bytes[at + 1] === quote) {
            kind = ESCAPED;
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
    closedAt -= recordStart;
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
      bytes = bytes.subarray(0, length); // What is behind it was read before.
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

/**
 * Splits rows that were read before into their cells, as they are in the file, quotes and spaces
 * included.
 */
export function createRowSplitter(dialect: CsvDialect): (raw: string) => string[] {
  let cells: string[] = [];
  const reader = createCsvReader(dialect, (record) => {
    cells = Array.from({ length: record.length }, (_, index) => record.rawCell(index));
  });
  return (raw) => {
    cells = [''];
    reader.write(Buffer.from(raw));
    reader.end();
    return cells;
  };
}

/** @param cell the bytes of a cell that begins with a quote */
function textOfOddCell(cell: Buffer, quote: number, escape: number): string {
  const content = Buffer.allocUnsafe(cell.length);
  let size = 0;
  let at = 1;
  for (; at < cell.length; at += 1) {
    const byte = cell[at] ?? 0;
    const isEscape = byte === escape && (escape !== quote || cell[at + 1] === quote);
    if (isEscape) at += 1;
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

interface CsvScanOptions {
  readonly dialect: CsvDialect;
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  /** Bytes in lines above the list, which are not CSV. */
  readonly titleBytes: number;
  /** Bytes before the first row. */
  readonly skipBytes: number;
  /** The number of cells that a row should have. */
  readonly width: number;
  /** Says why the cells of a row may not be under their names. Called for each row, in their order. */
  readonly findShift: (row: CsvRecord) => Shift['reason'] | undefined;
  /** The number of lines above the list. */
  readonly titleLines: number;
}

/**
 * Rows are filled up to the longest, so one row of a million cells would make a million of each.
 */
const MOST_FURTHER_CELLS = 16_384;

/**
 * Reads all rows of a CSV file once.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line of the first bad row
 */
export async function* scanCsv(
  source: ByteSource,
  options: CsvScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const { dialect, domainColumn, others, titleBytes, skipBytes, width } = options;
  let batch: ScannedRow[] = [];
  let endBytes = skipBytes;
  let endLines = 0;

  function onRecord(record: CsvRecord): void {
    const spansLines = record.lines > endLines + 1;
    const line = options.titleLines + endLines + 1;
    endLines = record.lines;
    const recordEnd = titleBytes + record.endBytes;
    if (recordEnd <= skipBytes) return;
    const sizeBytes = recordEnd - endBytes;
    const isRagged = record.length !== width;
    if (spansLines || isRagged) {
      if (record.length > width + MOST_FURTHER_CELLS) throw new RowFault(tooManyCells(width));
      const odd = record.oddSpot();
      // In a row with as many cells as expected, a quote within one is text, as most tools read it.
      const isFault =
        isRagged || odd === 'behind_closing' || (odd === 'lone_return' && width === 1);
      if (odd && isFault) throw new RowFault(describeOdd(odd, dialect));
    }
    const isEmpty = record.length === 1 && record.rawCell(0) === '';
    const cell = record.cell(domainColumn.index);
    // A domain spares most rows the look at their other cells.
    const isBlank = !isEmpty && cell.trim() === '' && isBlankRow(record, width);
    const reason = isBlank ? undefined : options.findShift(record);
    batch.push({
      cell,
      sizeBytes,
      bytes: record.bytes,
      start: record.start,
      fields: isEmpty ? 0 : record.length,
      others: others.length > 0 ? others.map(({ index }) => record.cell(index)) : undefined,
      isBlank,
      shifted: reason && { line, reason },
    });
    endBytes = recordEnd;
  }

  const reader = createCsvReader(dialect, onRecord);
  try {
    for await (const chunk of skip(source.read(), titleBytes)) {
      reader.write(chunk);
      if (reader.openCells > width + MOST_FURTHER_CELLS) throw new RowFault(tooManyCells(width));
      yield batch;
      batch = [];
    }
    reader.end();
    yield batch;
  } catch (error) {
    const why = error instanceof RowFault ? error.message : describeFault(error);
    if (why === undefined) throw error;
    throw refuseLine(source, (await placeOfByte(source.read(), endBytes)).line, why);
  }
}

/**
 * Whether a row of a list with several columns has no text: nothing but delimiters, as programs write
 * the empty rows of a form. The only cell of a narrower list may be blank, and is a row all the same.
 */
export function isBlankRow(row: Pick<CsvRecord, 'length' | 'cell'>, width: number): boolean {
  for (let index = 0; index < row.length; index += 1) {
    if (row.cell(index).trim() !== '') return false;
  }
  return width > 1;
}

/** @param line the line in which the unreadable row begins */
export function refuseLine(source: ByteSource, line: number, why: string): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${source.name}: ${why}.`,
  );
}

/** Something is wrong with a row. */
class RowFault extends Error {}

function describeOdd(odd: OddSpot, { quote, escape }: CsvDialect): string {
  const doubled = `(${escape}${quote})`;
  switch (odd) {
    case 'behind_closing':
      return `something follows a closing quote; double a quote ${doubled} that is part of the text`;
    case 'behind_space':
      return `a quote stands in the middle of a cell, behind a space; take the space away, or quote the whole cell and double the quote ${doubled}`;
    case 'lone_return':
      return 'a carriage return stands in it, although other line ends were used so far; save the file with one kind of line ends';
  }
}

function tooManyCells(width: number): string {
  return `it has more than ${(width + MOST_FURTHER_CELLS).toLocaleString('en-US')} cells, and the header ${width.toLocaleString('en-US')}; a line end is probably missing`;
}
