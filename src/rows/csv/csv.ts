import { objectOf, shorten } from '../columns/names.ts';
import type { FormatOptions, TextFormat } from '../row-format.ts';
import { describeText, type Source, unreadable } from '../source.ts';
import {
  type CsvDialect,
  describeDialect,
  detectDialect,
  readRecords,
  type SampleRecord,
  textsOfRow,
} from './csv-dialect.ts';
import { scanCsv } from './csv-reader.ts';
import { createCellsWriter, createCsvWriter, fillCsvCell, textOfCell } from './csv-writer.ts';

export const CSV: TextFormat = {
  kind: 'csv',
  endings: /^\.(?:csv|tsv|tab)(?:\.gz)?$/i,
  recognises: () => true,
  open: openCsv,
};

/** A first line that tells Excel the delimiter. */
const SEP_LINE = /^"?sep=(.)"?(?:\r{0,2}\n|\r)/iu;

/**
 * Detects how a CSV or TSV file is written, and reads its header.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no header or the beginning is broken.
 */
function openCsv(
  source: Source,
  { noHeader = false, skipLines = 0 }: FormatOptions,
): ReturnType<TextFormat['open']> {
  const whole = source.sample.toString('utf8');
  const title = firstLines(whole, skipLines);
  const text = whole.slice(title.length);
  const [sep = '', stated] = SEP_LINE.exec(text) ?? [];
  const preferred = /\.(?:tsv|tab)(?:\.gz)?$/i.test(source.name) ? '\t' : undefined;
  const dialect = detectDialect(text.slice(sep.length), { preferred, stated });
  const start = Buffer.byteLength(title) + Buffer.byteLength(sep);
  const records = readSample(source, dialect, start);
  const first = noHeader ? undefined : records[0];
  const headBytes = first?.endBytes ?? start;
  const names = first?.cells ?? numberedNames(records);
  const below = noHeader ? records : records.slice(1);
  const near = below.map(({ cells }) => cells);
  const columns = completeHeader(source, names, near);
  const write = createCellsWriter(dialect.delimiter);
  const headerRaw =
    first === undefined
      ? write(names) + lineEndOf(text)
      : source.sample.toString('utf8', first.startBytes, headBytes);

  return {
    extension: dialect.delimiter === '\t' ? '.tsv' : '.csv',
    description: describeText(describeDialect(dialect), source),
    columns,
    sampleRows: [...near, ...farRows(source, dialect, columns.length)],
    headBytes,
    isTable: true,
    takenNames: new Set(columns),
    scan: (input, domainColumn, others = []) =>
      scanCsv(input, {
        dialect,
        domainColumn,
        others,
        title: { lines: skipLines, sizeBytes: Buffer.byteLength(title) },
        skipBytes: headBytes,
        width: columns.length,
      }),
    createWriter: (added, { maxFields, keepsFormulas = false }) =>
      createCsvWriter({
        dialect,
        before: source.sample.toString(
          'utf8',
          Buffer.byteLength(title),
          first?.startBytes ?? headBytes,
        ),
        headerRaw,
        headerFields: names.length,
        width: Math.max(columns.length, maxFields),
        added,
        byteOrderMark: source.hasByteOrderMark,
        keepsFormulas,
      }),
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
    `each row has ${more === 1 ? 'one cell' : `${more} cells`} more than the header ('${shorten(names.join(','))}'); add what is missing to its first line (R: write.csv, or col.names = NA), separate it as the rows are, put texts with a delimiter into quotes, or leave a title out with --skip-lines`,
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

/** Some rows from all over a list that is longer than its sample. */
function farRows(
  { windows = [] }: Source,
  dialect: CsvDialect,
  width: number,
): readonly (readonly string[])[] {
  return windows.flatMap((window) => {
    const begin = window.indexOf('\n') + 1;
    const { records } = readRecords(window.subarray(begin), dialect);
    return records.slice(0, -1).flatMap(({ cells }) => (cells.length === width ? [cells] : []));
  });
}

/** Names the columns of a list without a header by their place. */
function numberedNames(records: readonly SampleRecord[]): readonly string[] {
  const width = Math.max(...records.map(({ cells }) => cells.length));
  return Array.from({ length: width }, (_, at) => `column_${at + 1}`);
}

function lineEndOf(text: string): string {
  return /\r{0,2}\n|\r/.exec(text)?.[0] ?? '\n';
}

const LINE_END = /\r{0,2}\n|\r/g;

/** The first lines of a text, line ends included. */
function firstLines(text: string, count: number): string {
  if (count === 0) return '';
  const last = [...text.matchAll(LINE_END)][count - 1];
  return last ? text.slice(0, last.index + last[0].length) : text;
}
