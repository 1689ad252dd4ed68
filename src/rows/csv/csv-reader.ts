import { CsvError, type Options, Parser } from 'csv-parse';
import { createBelow } from '../columns/table.ts';
import { normalizeDomain } from '../domain/domain.ts';
import type { RowColumn, ScannedRow } from '../row-format.ts';
import { type ByteSource, unreadableLine } from '../source.ts';
import { type CsvDialect, countLines, LINE_END, parserOptions } from './csv-dialect.ts';

/**
 * Rows are filled up to the longest, so one row of a million cells would make a million of each.
 */
const MOST_FURTHER_CELLS = 16_384;
/** Ctrl-Z, with which DOS ends a file. */
const END_OF_FILE = '\x1a';

interface CsvScanOptions {
  readonly dialect: CsvDialect;
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  /** Bytes before the first row, and the line in which it begins. */
  readonly headBytes: number;
  readonly firstLine: number;
  /** The number of cells that a row should have. */
  readonly width: number;
}

/**
 * Reads all rows of a CSV file once.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line of the first bad row
 */
export async function* scanCsv(
  source: ByteSource,
  options: CsvScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  const { dialect, domainColumn, others, headBytes, firstLine, width } = options;
  let batch: ScannedRow[] = [];
  let startBytes = 0;
  let line = firstLine;
  let linesRead = 0;
  let isApart = false;
  const isBelow = createBelow(domainColumn);

  function onRecord(cells: readonly string[], endBytes: number, lines: number): void {
    const sizeBytes = endBytes - startBytes;
    const ownLine = line;
    line += 1;
    let taken: string | undefined;
    // A line end within quotes may count twice.
    if (lines !== linesRead + 1) {
      line += cells.reduce((sum, cell) => sum + countLines(cell) - 1, 0);
      taken = cells.find((_, index) => hasRows(cells, index, options));
      // Of a text whose quotes are as they should be in a row that fits, nobody can tell.
      if (taken !== undefined && (cells.length !== width || taken.startsWith('"')))
        throw unreadableLine(source, ownLine, TAKES_ROWS);
    }
    linesRead = lines;
    startBytes = endBytes;
    if (cells.length > width + MOST_FURTHER_CELLS) {
      const most = (width + MOST_FURTHER_CELLS).toLocaleString('en-US');
      const why = `it has more than ${most} cells; a line end is probably missing`;
      throw unreadableLine(source, ownLine, why);
    }
    const isEmpty = isEmptyLine(cells, sizeBytes);
    const cell = cells[domainColumn.index] ?? '';
    // A domain spares most rows the look at their other cells.
    const isBlank = !isEmpty && width > 1 && isBlankText(cell) && cells.every(isBlankText);
    const below = isEmpty || isBlank ? undefined : isBelow(cells, isApart);
    isApart = isEmpty || isBlank;
    batch.push({
      cell,
      sizeBytes,
      fields: isEmpty ? 0 : cells.length,
      line: ownLine,
      isBlank,
      below,
      others: others.map(({ index }) => cells[index] ?? ''),
      mayTakeRows: taken !== undefined,
      shifted:
        cells.length > width && domainColumn.index > 0 && !cells.slice(width).every(isBlankText)
          ? 'too_many_cells'
          : undefined,
    });
  }

  const parser = new RecordParser(parserOptions(dialect), onRecord);
  try {
    for await (const chunk of source.read(headBytes)) {
      await parser.feed(chunk);
      yield batch;
      batch = [];
    }
    await parser.finish();
    yield batch;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const isOpen = error.code === 'CSV_QUOTE_NOT_CLOSED';
    throw unreadableLine(source, line, isOpen ? NEVER_CLOSED : TOO_LONG, error);
  } finally {
    parser.destroy();
  }
}

/**
 * Gives each record as soon as it is read, with the numbers of csv-parse's `info` as they are then.
 * With its option `info`, an object for each record halves the speed.
 */
class RecordParser extends Parser {
  readonly #onRecord: (cells: readonly string[], endBytes: number, lines: number) => void;

  constructor(
    options: Options,
    onRecord: (cells: readonly string[], endBytes: number, lines: number) => void,
  ) {
    super(options);
    this.#onRecord = onRecord;
    this.on('error', () => {}); // `feed` and `finish` give it
  }

  override push(record: readonly string[] | null): boolean {
    if (record === null) return super.push(null);
    this.#onRecord(record, this.info.bytes, this.info.lines);
    return true;
  }

  feed(chunk: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  finish(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.once('error', reject);
      this.end(resolve);
    });
  }
}

function isBlankText(cell: string): boolean {
  return cell.trim() === '';
}

/** A line without anything, or the sign that ends a DOS file. A cell of two quotes is a row. */
function isEmptyLine(cells: readonly string[], sizeBytes: number): boolean {
  return cells.length === 1 && ((cells[0] === '' && sizeBytes <= 3) || cells[0] === END_OF_FILE);
}

const NEVER_CLOSED =
  'a quote is opened in this row and never closed; close it, or double it ("") if it is part of the text';
const TOO_LONG =
  'this row does not end within 32 MB; a quote that is opened in it is probably never closed';
const TAKES_ROWS =
  'a quote is opened in this row and closed in a later one, so that it takes in the rows between; close it, or double it ("") if it is part of the text';

/** So much of a cell shows whether there are rows in it, in characters. */
const MOST_LOOKED_AT = 64 * 1024;

/**
 * Whether a quote has taken the rest of a row, and whole rows, into a cell. Then its first line has
 * the cells from there on, its last one those that are missing in front of what follows, and one of
 * its lines is a row of three cells at least, with a domain in its place. A note of several lines
 * has other shapes.
 */
function hasRows(cells: readonly string[], index: number, options: CsvScanOptions): boolean {
  const { dialect, width, domainColumn } = options;
  const lines = (cells[index] ?? '').slice(0, MOST_LOOKED_AT).split(LINE_END);
  const parts = lines.map((line) => line.split(dialect.delimiter));
  const [first = [], last = []] = [parts[0], parts.at(-1)];
  const isCut = first.length === width - index && last.length + cells.length - index - 1 === width;
  if (lines.length === 1 || !isCut) return false;
  return parts.some((row, at) => {
    const before = at === 0 ? index : 0;
    const isWhole = row.length === width - before && row.length > 2;
    return isWhole && 'domain' in normalizeDomain(row[domainColumn.index - before] ?? '');
  });
}
