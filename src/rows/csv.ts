import { CsvError, type InfoRecord, type Options, type Parser, parse } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import { BrandfillError } from '../errors.ts';
import { createCsvFiller, cutCells } from './csv-cells.ts';
import { type CsvDialect, detectDialect } from './csv-dialect.ts';
import { createCsvWriter, textOfCell } from './csv-writer.ts';
import { describeText } from './describe-text.ts';
import { uniqueNames } from './names.ts';
import type { RowColumn, RowFormat, ScannedRow } from './row-format.ts';
import type { Source } from './source.ts';

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'pipe',
};
const SAMPLE_ROWS = 200;
/** A quote that is never closed would swallow the rest of the file; no real row is this long. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/**
 * Finds out how a CSV or TSV file is written and reads its header.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no header or the beginning is broken.
 */
export function openCsv(source: Source, preferredDelimiter?: string): RowFormat {
  const dialect = detectDialect(source.sample.toString('utf8'), preferredDelimiter);
  const { header, rows } = readSample(source, dialect);
  const takenNames = new Set(header.cells);

  return {
    kind: 'csv',
    description: describeText(
      dialect.delimiter === ','
        ? 'CSV'
        : `CSV, ${DELIMITER_NAMES[dialect.delimiter] ?? dialect.delimiter}-separated`,
      source,
    ),
    columns: header.cells,
    sampleRows: rows,
    headBytes: header.endBytes,
    isTable: true,
    takenNames,
    scan: (input, domainColumn, others = []) =>
      scan(input, { dialect, domainColumn, others, skipBytes: header.endBytes }),
    createWriter: (added, { maxFields }) =>
      createCsvWriter({
        dialect,
        headerRaw: source.sample.toString('utf8', header.startBytes, header.endBytes),
        headerFields: header.cells.length,
        width: Math.max(header.cells.length, maxFields),
        added,
        byteOrderMark: source.hasByteOrderMark,
      }),
    createFiller: (columns) => createCsvFiller(columns, dialect),
    ownPart: (raw, { index }) => cutCells(raw, index, dialect.delimiter),
    textOf: textOfCell,
    textsOf: (raw) => parseSync(raw, parserOptions(dialect))[0] ?? [],
    toObject: (raw) => toObject(raw, dialect, header.cells),
  };
}

interface CsvRecord {
  readonly cells: string[];
  readonly startBytes: number;
  readonly endBytes: number;
}

function readSample(
  source: Source,
  dialect: CsvDialect,
): { header: CsvRecord; rows: readonly (readonly string[])[] } {
  const records: CsvRecord[] = [];
  let error: unknown;
  try {
    parseSync(source.sample, {
      ...parserOptions(dialect),
      to: SAMPLE_ROWS + 1,
      on_record: (cells: string[], { bytes }: InfoRecord) => {
        const startBytes = records.at(-1)?.endBytes ?? 0;
        records.push({ cells, startBytes, endBytes: bytes });
        return null;
      },
    });
  } catch (caught) {
    // The sample ends anywhere, within quotes too. What is really broken shows when all is read.
    error = caught;
  }
  const [header, ...rows] = records.filter((record) => !isBlankLine(record));
  if (!header) {
    if (error && !source.isWholeInSample)
      throw refuse(source, `its first row is longer than 256 KB`);
    if (error) throw refuseRow(source, error, 0);
    throw refuse(source, 'it is empty; expected a header and rows');
  }
  return { header, rows: rows.map(({ cells }) => cells) };
}

/** A line end alone. A quoted empty cell (`""`) is a row of one empty cell, and longer. */
function isBlankLine({ cells, startBytes, endBytes }: CsvRecord): boolean {
  return cells.length === 1 && cells[0] === '' && endBytes - startBytes <= 2;
}

interface ScanOptions {
  readonly dialect: CsvDialect;
  readonly domainColumn: RowColumn;
  readonly others: readonly RowColumn[];
  readonly skipBytes: number;
}

async function* scan(
  source: Source,
  { dialect, domainColumn, others, skipBytes }: ScanOptions,
): AsyncGenerator<readonly ScannedRow[]> {
  let batch: ScannedRow[] = [];
  let endBytes = skipBytes;
  let lines = 0;
  // The last two bytes read: `""` without a line end is a row, and as short as a line end.
  let readBytes = 0;
  let tail = '';
  const endsInQuotes = (record: CsvRecord): boolean =>
    tail === '""' && record.endBytes === readBytes;
  const parser = parse({
    ...parserOptions(dialect),
    on_record: (cells: string[], info: InfoRecord) => {
      lines = info.lines;
      if (info.bytes <= skipBytes) return null;
      const record = { cells, startBytes: endBytes, endBytes: info.bytes };
      endBytes = info.bytes;
      batch.push({
        cell: cells[domainColumn.index] ?? '',
        sizeBytes: record.endBytes - record.startBytes,
        fields: isBlankLine(record) && !endsInQuotes(record) ? 0 : cells.length,
        others: others.length > 0 ? others.map(({ index }) => cells[index] ?? '') : undefined,
      });
      return null; // nothing goes through the stream: one object at a time would halve the speed
    },
  });
  parser.on('error', () => {}); // reported by the write that met it
  parser.resume();
  try {
    for await (const chunk of source.read()) {
      readBytes += chunk.length;
      tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - 2))).slice(-2);
      await write(parser, chunk);
      if (batch.length > 0) yield batch;
      batch = [];
    }
    await end(parser);
    if (batch.length > 0) yield batch;
  } catch (error) {
    throw error instanceof CsvError ? refuseRow(source, error, lines) : error;
  } finally {
    parser.destroy();
  }
}

function parserOptions({ delimiter, lineEnd }: CsvDialect): Options {
  return {
    delimiter,
    record_delimiter: lineEnd === '\r' ? ['\r'] : ['\r\n', '\n'],
    relax_column_count: true,
    max_record_size: MAX_RECORD_BYTES,
  };
}

function write(parser: Parser, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

function end(parser: Parser): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once('error', reject);
    parser.end(resolve);
  });
}

function toObject(
  raw: string,
  dialect: CsvDialect,
  columns: readonly string[],
): Record<string, unknown> {
  const [cells = []] = parseSync(raw, parserOptions(dialect));
  const names = uniqueNames([
    ...columns,
    ...cells.slice(columns.length).map((_, at) => `column_${columns.length + at + 1}`),
  ]);
  return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']));
}

function refuse(source: Source, why: string): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read ${source.name}: ${why}.`);
}

/** Says in our words what the parser met. `lines` is where the last good row ended. */
function refuseRow(source: Source, error: unknown, lines: number): BrandfillError {
  const code = error instanceof CsvError ? error.code : '';
  const met = error instanceof CsvError ? error['lines'] : undefined;
  const line = OPEN_QUOTE.has(code) || typeof met !== 'number' ? lines + 1 : met;
  const why = FAULTS[code] ?? (error instanceof Error ? error.message : String(error));
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${source.name}: ${why}.`,
    {
      cause: error,
    },
  );
}

/** Met at the end of the file, but at fault is the row that never ended. */
const OPEN_QUOTE: ReadonlySet<string> = new Set(['CSV_QUOTE_NOT_CLOSED', 'CSV_MAX_RECORD_SIZE']);
const NEVER_CLOSED =
  'a quote is opened in this row and never closed; close it, or double it ("") if it is part of the text';
const FAULTS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: NEVER_CLOSED,
  CSV_MAX_RECORD_SIZE: NEVER_CLOSED,
  INVALID_OPENING_QUOTE:
    'a quote stands in the middle of a cell; quote the whole cell and double the quote ("")',
  CSV_INVALID_CLOSING_QUOTE:
    'something follows a closing quote; double a quote ("") that is part of the text',
};
