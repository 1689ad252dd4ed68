import { CsvError, type Options, Parser } from 'csv-parse';
import { objectOf, shorten } from '../columns/names.ts';
import { createBelow, describeAbove, findHeader, type HeadRow } from '../columns/table.ts';
import { normalizeDomain } from '../domain/domain.ts';
import { LIST_FORMATS } from '../list-formats.ts';
import type { CellValue, FormatOptions, RowColumn, RowFormat, ScannedRow } from '../row-format.ts';
import {
  type ByteSource,
  describeText,
  type Source,
  unreadable,
  unreadableLine,
} from '../source.ts';
import {
  type CsvDialect,
  countLines,
  describeDialect,
  detectDialect,
  LINE_END,
  parserOptions,
  readRecords,
  type SampleRecord,
  textsOfRow,
  withoutLineEnd,
} from './csv-dialect.ts';
import { createCellsWriter, fillCsvCell, textOfCell } from './csv-writer.ts';

/** A first line that tells Excel the delimiter. */
const SEP_LINE = /^"?sep=(.)"?(?:\r{0,2}\n|\r)/iu;

/**
 * Detects how a CSV or TSV file is written, and reads its header.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no header or the beginning is broken.
 */
export function openCsv(
  source: Source,
  { noHeader = false, skipLines = 0 }: FormatOptions,
): RowFormat {
  const whole = source.sample.toString('utf8');
  const title = firstLines(whole, skipLines);
  const [sep = '', stated] = SEP_LINE.exec(whole.slice(title.length)) ?? [];
  const text = whole.slice(title.length + sep.length);
  const preferred = /\.(?:tsv|tab)(?:\.gz)?$/i.test(source.name) ? '\t' : undefined;
  const dialect = detectDialect(text, { preferred, stated, far: source.windows ?? [] });
  const { delimiter } = dialect;
  const start = Buffer.byteLength(title + sep);
  const records = readSample(source, dialect, start);
  const heads = headRowsOf(records);
  const found = noHeader || skipLines > 0 ? 0 : findHeader(heads);
  const first = noHeader ? undefined : records[found];
  const names = first?.cells ?? numberedNames(records);
  const near = (noHeader ? records : records.slice(found + 1)).map(({ cells }) => cells);
  const columns = completeHeader(source, names, near);
  const write = createCellsWriter(delimiter, dialect.escape);
  const { startBytes: headerAt = start, endBytes: headBytes = start } = first ?? {};
  const headerRaw = first
    ? source.sample.toString('utf8', headerAt, headBytes)
    : write(names) + (LINE_END.exec(text)?.[0] ?? '');
  const usualEnd = headerRaw.slice(withoutLineEnd(headerRaw).length) || '\n';
  const above = source.sample.toString('utf8', Buffer.byteLength(title), headerAt);
  const line = countLines(source.sample.toString('utf8', 0, headerAt));
  const described = describeText(describeDialect(dialect), source);

  return {
    notation: LIST_FORMATS.csv,
    extension: delimiter === '\t' ? '.tsv' : '.csv',
    description: found === 0 ? described : `${described}, header in line ${line}`,
    columns,
    sampleRows: [...near, ...farRows(source, dialect, columns.length)],
    headBytes,
    isTable: true,
    takenNames: new Set(columns),
    notices: describeAbove(heads, found),
    scan: (input, domainColumn, others = []) => {
      const firstLine = countLines(source.sample.toString('utf8', 0, headBytes));
      const width = columns.length;
      return scanCsv(input, { dialect, domainColumn, others, headBytes, firstLine, width });
    },
    // Rows with too few cells are filled up, so that the added ones line up.
    createWriter: (added, { maxFields, keepsFormulas }) => {
      const width = Math.max(columns.length, maxFields);
      const row = (raw: string, fields: number, values: readonly CellValue[]): string => {
        if (added.length === 0) return raw;
        const own = withoutLineEnd(raw);
        const padding = delimiter.repeat(Math.max(0, width - fields) + 1);
        return own + padding + write(values, keepsFormulas) + (raw.slice(own.length) || usualEnd);
      };
      const mark = source.hasByteOrderMark ? '\uFEFF' : '';
      return { header: mark + above + row(headerRaw, names.length, added), row };
    },
    fillCell: (row, { index }, value, keepsFormulas) =>
      fillCsvCell(row, index, write([value], keepsFormulas), dialect),
    textOf: textOfCell,
    cellOf: (raw, { index }) => textsOfRow(raw, dialect)[index] ?? '',
    toObject: (raw) => objectOf(columns, textsOfRow(raw, dialect), ''),
  };
}

/**
 * The names of all columns. Rows that end with delimiters have more, without a name.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when all rows have more cells than the header
 */
function completeHeader(
  source: Source,
  names: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const more = (rows[0]?.length ?? 0) - names.length;
  if (more <= 0 || rows.length === 1 || rows.some(({ length }) => length !== names.length + more))
    return names;
  const further = rows.flatMap((row) => row.slice(names.length));
  if (further.every((cell) => cell.trim() === '')) return [...names, ...Array(more).fill('')];
  throw unreadable(
    source.name,
    `each row has ${more === 1 ? 'one cell' : `${more} cells`} more than the header ('${shorten(names.join(','))}'); add what is missing to its first line (R: write.csv, or col.names = NA), separate it as the rows are, put texts with a delimiter into quotes, or leave a title out with option 'skipLines'`,
  );
}

/** Reads the first records of a file, without blank ones. */
function readSample(source: Source, dialect: CsvDialect, start: number): readonly SampleRecord[] {
  const { sample, isWholeInSample } = source;
  const { records, isCut } = readRecords(sample, dialect, start);
  if (!isWholeInSample && records.length > 1) records.pop(); // it may be cut short
  const filled = records.filter(
    ({ cells }) => cells.some((cell) => cell.trim() !== '') || cells.length === 1,
  );
  if (filled.length > 0) return filled;
  throw unreadable(
    source.name,
    isCut || !isWholeInSample
      ? 'its first line does not end, or a quote is opened in it and never closed; expected a header and rows'
      : 'it is empty; expected a header and rows',
  );
}

/** This many rows are searched for the header. */
const ROWS_AT_START = 60;

function headRowsOf(records: readonly SampleRecord[]): readonly HeadRow[] {
  return records.slice(0, ROWS_AT_START).map(({ cells, startBytes }, at) => {
    const filled = cells.filter((cell) => cell.trim() !== '');
    return {
      names: cells,
      addresses: cells,
      filled: filled.length,
      isOfTexts: filled.filter((cell) => /\p{L}/u.test(cell)).length * 2 > filled.length,
      isApart: startBytes > (records[at - 1]?.endBytes ?? startBytes),
    };
  });
}

/** Some rows from all over a list that is longer than its sample. */
function farRows(
  { windows = [] }: Source,
  dialect: CsvDialect,
  width: number,
): readonly (readonly string[])[] {
  return windows.flatMap((window) => {
    const { records } = readRecords(Buffer.from(window), dialect);
    return records.flatMap(({ cells }) => (cells.length === width ? [cells] : []));
  });
}

/** Names the columns of a list without a header by their place. */
function numberedNames(records: readonly SampleRecord[]): readonly string[] {
  const width = Math.max(...records.map(({ cells }) => cells.length));
  return Array.from({ length: width }, (_, at) => `column_${at + 1}`);
}

/** The first lines of a text, line ends included. */
function firstLines(text: string, count: number): string {
  if (count === 0) return '';
  const last = [...text.matchAll(new RegExp(LINE_END, 'g'))][count - 1];
  return last ? text.slice(0, last.index + last[0].length) : text;
}

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
async function* scanCsv(
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
