import { objectOf, shorten } from '../columns/names.ts';
import { describeAbove, findHeader, type HeadRow } from '../columns/table.ts';
import { LIST_FORMATS } from '../list-formats.ts';
import type { CellValue, FormatOptions, RowFormat } from '../row-format.ts';
import { describeText, type Source, unreadable } from '../source.ts';
import {
  type CsvDialect,
  countLines,
  describeDialect,
  detectDialect,
  LINE_END,
  readRecords,
  type SampleRecord,
  textsOfRow,
  withoutLineEnd,
} from './csv-dialect.ts';
import { scanCsv } from './csv-reader.ts';
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
