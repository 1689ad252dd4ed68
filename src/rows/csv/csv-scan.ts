import { BrandfillError } from '../../common/errors.ts';
import { placeOfByte } from '../encoding/utf8.ts';
import type { RowColumn, ScannedRow } from '../row-format.ts';
import type { Source } from '../source.ts';
import { skip } from '../source-bytes.ts';
import { findOddSpot, type OddSpot } from './csv-cells.ts';
import type { CsvDialect } from './csv-dialect.ts';
import { type CsvRecord, createCsvReader, describeFault } from './csv-reader.ts';

export interface CsvScanOptions {
  readonly dialect: CsvDialect;
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  /** Bytes in lines above the list, which are not CSV. */
  readonly titleBytes: number;
  /** Bytes before the first row. */
  readonly skipBytes: number;
  /** The number of cells that a row should have. */
  readonly width: number;
  /** Whether a row has so many cells that they may not be under their names. */
  readonly isShifted: (row: CsvRecord) => boolean;
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
  source: Source,
  options: CsvScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const { dialect, domainColumn, others, titleBytes, skipBytes, width } = options;
  const { quote } = dialect;
  const [delimiter = 0] = Buffer.from(dialect.delimiter);
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
      const odd = findOddSpot(record.raw(), dialect);
      if (odd && isFault(odd, { spansLines, isRagged, isOnlyCell: width === 1 })) {
        throw new RowFault(describeOdd(odd, dialect));
      }
    }
    const fields = isEmptyLine(record) ? 0 : record.length;
    const isNoRow = fields > 0 && isBlankRecord(record, width, delimiter);
    batch.push({
      cell: record.cell(domainColumn.index),
      sizeBytes,
      bytes: record.bytes,
      start: record.start,
      fields,
      others: others.length > 0 ? others.map(({ index }) => record.cell(index)) : undefined,
      isBlank: isNoRow || undefined,
      shiftedInLine: !isNoRow && options.isShifted(record) ? line : undefined,
    });
    endBytes = recordEnd;
  }

  /**
   * Whether a row is only a line end. A quoted empty cell (`""`) is a row of one empty cell, and
   * longer, but not at the very end of the file.
   */
  function isEmptyLine(record: CsvRecord): boolean {
    if (record.length > 1 || !isBlankLine([record.cell(0)], record.sizeBytes, dialect))
      return false;
    return quote === '' || record.raw() !== quote + quote;
  }

  const reader = createCsvReader(dialect, onRecord);
  try {
    for await (const chunk of skip(source.read(), titleBytes)) {
      reader.write(chunk);
      if (reader.openCells > width + MOST_FURTHER_CELLS) throw new RowFault(tooManyCells(width));
      if (batch.length > 0) yield batch;
      batch = [];
    }
    reader.end();
    if (batch.length > 0) yield batch;
  } catch (error) {
    const why = error instanceof RowFault ? error.message : describeFault(error);
    if (why === undefined) throw error;
    throw refuseLine(source, (await placeOfByte(source.read(), endBytes)).line, why);
  }
}

/** Whether a row is only a line end, judged by its length. */
export function isBlankLine(
  cells: readonly string[],
  sizeBytes: number,
  { lineEnds }: CsvDialect,
): boolean {
  return cells.length === 1 && cells[0] === '' && sizeBytes <= (lineEnds[0]?.length ?? 2);
}

/**
 * Whether a row of a list with several columns has no text: nothing but delimiters, as programs write
 * the empty rows of a form. The only cell of a narrower list may be blank, and is a row all the same.
 */
export function isBlankRow(cells: readonly string[], width: number): boolean {
  return width > 1 && cells.every((cell) => cell.trim() === '');
}

function isBlankRecord(record: CsvRecord, width: number, delimiter: number): boolean {
  if (width <= 1) return false;
  const first = record.bytes[record.start] ?? delimiter;
  if (first !== delimiter && isLetterOrDigit(first)) return false;
  for (let index = 0; index < record.length; index += 1) {
    if (record.cell(index).trim() !== '') return false;
  }
  return true;
}

/** Spares most rows the text of their first cell. */
function isLetterOrDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);
}

/** @param line the line in which the unreadable row begins */
export function refuseLine(source: Source, line: number, why: string): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${source.name}: ${why}.`,
  );
}

/** Something is wrong with a row. */
class RowFault extends Error {}

interface RowLook {
  readonly spansLines: boolean;
  readonly isRagged: boolean;
  readonly isOnlyCell: boolean;
}

/** If a row has as many cells as expected, a quote within one is text, as most tools read it. */
function isFault(odd: OddSpot, { spansLines, isRagged, isOnlyCell }: RowLook): boolean {
  switch (odd) {
    case 'behind_closing':
      return spansLines || isRagged;
    case 'behind_space':
      return isRagged && !spansLines;
    case 'lone_return':
      return isRagged || isOnlyCell;
  }
}

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
