import type { InfoRecord } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import { BrandfillError } from '../../common/errors.ts';
import { evidenceOf, guessDomainColumn } from '../columns/domain-column.ts';
import { findHeaderBelowTitle } from '../columns/header-row.ts';
import { uniqueNames } from '../columns/names.ts';
import type { RowFormat, Shift } from '../row-format.ts';
import { describeText, type Source } from '../source.ts';
import {
  type CsvDialect,
  DELIMITERS,
  describeDialect,
  detectDialect,
  usualDialect,
  withoutLineEnd,
} from './csv-dialect.ts';
import {
  type CsvRecord,
  describeFault,
  isBlankRow,
  parserOptions,
  refuseLine,
  scanCsv,
} from './csv-reader.ts';
import {
  type BlankRow,
  cellWriterOf,
  createCsvFiller,
  createCsvWriter,
  createRowCutter,
  textOfCell,
} from './csv-writer.ts';

const SAMPLE_ROWS = 200;

export interface OpenCsvOptions {
  /** The delimiter that the file's name suggests. */
  readonly delimiter?: string | undefined;
  /** Whether the first line is a row; columns are then named by their place. @default false */
  readonly noHeader?: boolean | undefined;
  /** Number of lines above the list. @default 0 */
  readonly skipLines?: number | undefined;
  /** Whether outputs begin with a byte order mark in any case. @default false */
  readonly excel?: boolean | undefined;
}

/**
 * Detects how a CSV or TSV file is written, and reads its header.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no header or the beginning is broken.
 */
export function openCsv(source: Source, options: OpenCsvOptions = {}): RowFormat {
  const { noHeader = false, excel = false, skipLines = 0 } = options;
  const whole = source.sample.toString('utf8');
  const title = firstLines(whole, skipLines);
  if (title === undefined) throw refuseTitle(source, skipLines);
  const titleBytes = Buffer.byteLength(title);
  const text = whole.slice(title.length);
  const [before = '', stated] = SEP_LINE.exec(text) ?? [];
  const dialect = detectDialect(text.slice(before.length), {
    preferred: options.delimiter,
    stated,
    isWhole: source.isWholeInSample,
  });
  const start = titleBytes + Buffer.byteLength(before);
  const records = readSample(source, dialect, { start, noHeader });
  const first = noHeader ? numberedHeader(records, dialect, start) : records[0];
  if (!first) {
    throw refuse(source, `it is empty; expected ${noHeader ? 'rows' : 'a header and rows'}`);
  }
  const sampleRows = records.slice(noHeader ? 0 : 1).map(({ cells }) => cells);
  if (isQuotedAsWhole(first.cells, sampleRows)) throw refuse(source, QUOTED_AS_WHOLE);
  if (areSplitBySpaces(first, sampleRows, source)) throw refuse(source, SPLIT_BY_SPACES);
  const lineOfHeader = noHeader ? undefined : findLineOfHeader(records, { source, dialect, start });
  const startsQuoted = ({ startBytes }: SampleRecord): boolean =>
    dialect.quote !== '' &&
    source.sample.toString('utf8', startBytes, startBytes + 1) === dialect.quote;
  const hasRowNames =
    !noHeader &&
    lineOfHeader === undefined &&
    haveRowNames(first.cells, sampleRows, records.every(startsQuoted));
  const columns = hasRowNames ? ['', ...first.cells] : first.cells;
  const headBytes = first.endBytes;
  const blankRows = noHeader
    ? []
    : blankRowsIn(source.sample, { dialect, start, end: first.startBytes });
  const takenNames = new Set(columns);
  const cutRow = createRowCutter(dialect);
  const headerRaw = first.raw ?? source.sample.toString('utf8', first.startBytes, headBytes);
  const notices = [
    ...(lineOfHeader === undefined ? [] : [describeTitle(lineOfHeader)]),
    ...(hasRowNames ? [ROW_NAMES] : []),
  ];

  return {
    kind: 'csv',
    extension: dialect.delimiter === '\t' ? '.tsv' : '.csv',
    description: describeText(describeDialect(dialect), source),
    columns,
    sampleRows,
    headBytes,
    isTable: true,
    takenNames,
    lineOfHeader,
    notices,
    scan: (input, domainColumn, others = []) =>
      scanCsv(input, {
        dialect,
        domainColumn,
        others,
        titleBytes,
        skipBytes: headBytes,
        width: columns.length,
        titleLines: skipLines,
        findShift: createShiftFinder({
          sampleRows,
          headerFields: noHeader ? undefined : columns.length,
          domainIndex: domainColumn.index,
        }),
      }),
    createWriter: (added, { maxFields }) =>
      createCsvWriter({
        dialect,
        before,
        blankRows,
        headerRaw: hasRowNames ? dialect.delimiter + headerRaw : headerRaw,
        headerFields: columns.length,
        width: Math.max(columns.length, maxFields),
        added,
        byteOrderMark: excel || source.hasByteOrderMark,
      }),
    createFiller: (columns, replaces) => createCsvFiller(columns, dialect, replaces),
    ownPart: (raw, { index }) => cutRow(raw, index),
    textOf: textOfCell,
    textsOf: (raw) => parseSync(raw, parserOptions(dialect))[0] ?? [],
    toObject: createObjectReader(dialect, columns),
  };
}

const ROW_NAMES =
  'Each row has one cell more than the header, as R writes names of rows: the first column has no name, and the names stand above the columns behind it.';

/**
 * Whether the header lacks the name of its first column. So R writes the numbers or names of rows.
 * If the domains are below their name as it is, texts that were not quoted made the rows longer.
 */
function haveRowNames(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  areQuoted: boolean,
): boolean {
  if (rows.length < 2 || rows.some(({ length }) => length !== names.length + 1)) return false;
  const labels = rows.map(([label = '']) => label);
  const areNumbers = labels.every(
    (label, at) => /^\d+$/.test(label) && (at === 0 || Number(label) > Number(labels[at - 1])),
  );
  const areNames = areQuoted && new Set(labels).size === labels.length;
  if (!(areNumbers || areNames) || rows.every((row) => row.at(-1) === '')) return false;
  const isByName = (columns: readonly string[]): boolean =>
    guessDomainColumn(columns, rows)?.by === 'name';
  return !isByName(names) || isByName(['', ...names]);
}

const QUOTED_AS_WHOLE = `each of its lines is quoted as a whole, so that it has only one cell; take the outer quotes away, and make one quote of two within them (sed -E 's/^"|"(\\r?)$/\\1/g; s/""/"/g' does so)`;

/** Whether the only cell of each row is itself a line of CSV, as long as the header. */
function isQuotedAsWhole(names: readonly string[], rows: readonly (readonly string[])[]): boolean {
  if (rows.length === 0 || rows.some(({ length }) => length > 1)) return false;
  return DELIMITERS.some((delimiter) => {
    const width = names.length > 1 ? names.length : (countCells(names[0] ?? '', delimiter) ?? 0);
    return width > 1 && rows.every(([cell = '']) => countCells(cell, delimiter) === width);
  });
}

const SPLIT_BY_SPACES =
  'its cells are in quotes and separated by spaces, as R writes a table; write it with commas instead (in R: write.csv)';

/** Whether each line is one cell as it is read, but many in quotes with spaces between them. */
function areSplitBySpaces(
  header: SampleRecord,
  rows: readonly (readonly string[])[],
  { sample }: Source,
): boolean {
  const line = sample.toString('utf8', header.startBytes, header.endBytes).trimEnd();
  return header.cells.length === 1 && rows.length > 0 && /^"[^"]*"(?: "[^"]*")+$/.test(line);
}

function countCells(line: string, delimiter: string): number | undefined {
  try {
    return parseSync(line, parserOptions(usualDialect(delimiter)))[0]?.length;
  } catch {
    return undefined; // a quote in a text, which nothing closes
  }
}

/** A first line that tells Excel the delimiter. */
const SEP_LINE = /^"?sep=(.)"?(?:\r\r\n|\r\n|\n|\r)/iu;

interface SampleRecord {
  readonly cells: readonly string[];
  readonly startBytes: number;
  readonly endBytes: number;
  /** The text to write for it, if it is not in the file. */
  readonly raw?: string;
}

interface SampleOptions {
  readonly source: Source;
  readonly dialect: CsvDialect;
  /** The place where the list begins, in bytes. */
  readonly start: number;
}

/** Reads the first records of a file, without blank lines. */
function readSample(
  source: Source,
  dialect: CsvDialect,
  { start, noHeader }: { readonly start: number; readonly noHeader: boolean },
): readonly SampleRecord[] {
  const { records, endBytes, error } = readRecords({ source, dialect, start });
  const { sample, isWholeInSample } = source;
  const isCut = !isWholeInSample && !/[\r\n]/.test(lastOf(sample));
  const cut = isCut && records.at(-1)?.endBytes === sample.length ? records.pop() : undefined;
  if (records.length > 0) return records;
  const expected = noHeader ? 'rows' : 'a header and rows';
  if (!error && !cut && /[^\r\n]/.test(sample.toString('latin1', start, endBytes))) {
    throw refuse(source, `it begins with nothing but delimiters; expected ${expected}`);
  }
  if (!error && isWholeInSample) return records;
  if (isWholeInSample) {
    const lines = sample.toString('utf8', 0, endBytes).split(/\r\n|\r|\n/).length;
    throw refuseLine(source, lines, describeFault(error) ?? 'it is no CSV');
  }
  throw refuse(
    source,
    `its first ${noHeader ? 'row' : 'line'} is longer than 256 KB; expected ${noHeader ? 'rows' : 'a header'}, and a quote closed where one is opened`,
  );
}

/** The rows of nothing but delimiters above the header. Empty lines are left out. */
function blankRowsIn(
  sample: Buffer,
  {
    dialect,
    start,
    end,
  }: { readonly dialect: CsvDialect; readonly start: number; readonly end: number },
): readonly BlankRow[] {
  const rows: BlankRow[] = [];
  let from = start;
  parseSync(sample.subarray(start, end), {
    ...parserOptions(dialect),
    on_record: (cells: string[], { bytes }: InfoRecord) => {
      const raw = sample.toString('utf8', from, start + bytes);
      from = start + bytes;
      if (withoutLineEnd(raw, dialect) !== '') rows.push({ raw, fields: cells.length });
      return null;
    },
  });
  return rows;
}

/** Reads the records of the sample, up to the first unreadable one. */
function readRecords({ source, dialect, start }: SampleOptions): {
  readonly records: SampleRecord[];
  readonly endBytes: number;
  readonly error: unknown;
} {
  const records: SampleRecord[] = [];
  let endBytes = start;
  let error: unknown;
  try {
    parseSync(source.sample.subarray(start), {
      ...parserOptions(dialect),
      to: SAMPLE_ROWS + 1,
      on_record: (cells: string[], { bytes }: InfoRecord) => {
        const record = { cells, startBytes: endBytes, endBytes: start + bytes };
        endBytes = record.endBytes;
        const raw = source.sample.toString('utf8', record.startBytes, record.endBytes);
        const isBlank =
          withoutLineEnd(raw, dialect) === '' ||
          isBlankRow(
            { length: cells.length, cell: (at) => cells[at] ?? '' },
            records[0]?.cells.length ?? cells.length,
          );
        if (!isBlank) records.push(record);
        return null;
      },
    });
  } catch (caught) {
    // The sample may end within quotes. Real faults show when the whole list is read.
    error = caught;
  }
  return { records, endBytes, error };
}

function lastOf(bytes: Buffer): string {
  return bytes.toString('latin1', bytes.length - 1);
}

/** Names the columns of a list without a header by their place. */
function numberedHeader(
  records: readonly SampleRecord[],
  dialect: CsvDialect,
  endBytes: number,
): SampleRecord | undefined {
  if (records.length === 0) return undefined;
  const width = Math.max(...records.map(({ cells }) => cells.length));
  const cells = Array.from({ length: width }, (_, at) => `column_${at + 1}`);
  const raw = cells.map(cellWriterOf(dialect)).join(dialect.delimiter) + dialect.lineEnd;
  return { cells, raw, startBytes: endBytes, endBytes };
}

function createObjectReader(
  dialect: CsvDialect,
  columns: readonly string[],
): RowFormat['toObject'] {
  const namesByCount = new Map<number, readonly string[]>();
  const namesOf = (count: number): readonly string[] => {
    const known = namesByCount.get(count);
    if (known) return known;
    const further = Math.max(0, count - columns.length);
    const names = uniqueNames([
      ...columns,
      ...Array.from({ length: further }, (_, at) => `column_${columns.length + at + 1}`),
    ]);
    namesByCount.set(count, names);
    return names;
  };
  return (raw) => {
    const [cells = []] = parseSync(raw, parserOptions(dialect));
    return Object.fromEntries(namesOf(cells.length).map((name, at) => [name, cells[at] ?? '']));
  };
}

/** The line of the header, if it seems to be below the first one. */
function findLineOfHeader(
  records: readonly SampleRecord[],
  { source, dialect, start }: SampleOptions,
): number | undefined {
  // A title of one cell does not show the delimiter of the list.
  const isSingle = records[0]?.cells.length === 1;
  const others = isSingle ? DELIMITERS.filter((one) => one !== dialect.delimiter) : [];
  const readWith = (delimiter: string): readonly SampleRecord[] =>
    readRecords({ source, dialect: { ...dialect, delimiter }, start }).records;
  for (const read of [() => records, ...others.map((one) => () => readWith(one))]) {
    const found = read();
    const header = found[findHeaderBelowTitle(found.map(({ cells }) => cells)) ?? -1];
    if (header) return linesIn(source.sample.toString('utf8', 0, header.startBytes));
  }
  return undefined;
}

const LINE_END = /\r\r\n|\r\n|\n|\r/g;

/** The line in which a text ends, from 1. */
function linesIn(text: string): number {
  return text.split(LINE_END).length;
}

/** The first lines of a text, line ends included; undefined when there are fewer. */
function firstLines(text: string, count: number): string | undefined {
  let end = 0;
  const lineEnds = text.matchAll(LINE_END);
  for (let line = 0; line < count; line += 1) {
    const next = lineEnds.next();
    if (next.done) return undefined;
    end = next.value.index + next.value[0].length;
  }
  return text.slice(0, end);
}

function describeTitle(line: number): string {
  return `The header seems to be in line ${line}, below a title: if it is, give --skip-lines ${line - 1}.`;
}

function refuseTitle(source: Source, skipLines: number): BrandfillError {
  const lines = `${skipLines} ${skipLines === 1 ? 'line' : 'lines'}`;
  const why = source.isWholeInSample ? 'it has no more' : 'they are longer than 256 KB';
  return new BrandfillError(
    'INVALID_SETTING',
    `Cannot skip ${lines} of ${source.name}: ${why}; give --skip-lines the number of lines above the header.`,
  );
}

function refuse(source: Source, why: string): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read ${source.name}: ${why}.`);
}

interface ShiftOptions {
  /** The first rows, as cells. */
  readonly sampleRows: readonly (readonly string[])[];
  /** The number of cells that the header has; undefined without a header. */
  readonly headerFields: number | undefined;
  /** The place of the column whose cells must not come from another column. */
  readonly domainIndex: number;
}

/**
 * Tells the rows whose domain may be the cell of another column. Those with more cells than the header:
 * a delimiter within a text was not quoted, and moved all cells behind it. And the rest of a row that
 * a line end within a text has torn: joined with the short rows above it, it is as long as the header,
 * and has an address where the domain then is. Other rows are as long as their header, or shorter where
 * blank cells at the end were left out.
 *
 * Nothing can have moved into the first column. Blank cells at the end are no sign of a shift if
 * most rows have them, or if no column before that of the domain holds addresses.
 */
function createShiftFinder({
  sampleRows,
  headerFields,
  domainIndex,
}: ShiftOptions): (row: Pick<CsvRecord, 'length' | 'cell'>) => Shift['reason'] | undefined {
  if (domainIndex <= 0) return () => undefined;
  const usual = usualFields(sampleRows);
  const fields = headerFields ?? usual ?? Number.POSITIVE_INFINITY;
  let canMistake: boolean | undefined;
  /** Cells of the short rows above, joined; 0 below a whole row. */
  let above = 0;

  function isTorn(row: Pick<CsvRecord, 'length' | 'cell'>): boolean {
    const joined = above === 0 ? row.length : above + row.length - 1;
    const place = domainIndex - above + 1;
    const isRest =
      above > 1 &&
      joined === fields &&
      place >= 0 &&
      domainIndex < row.length &&
      evidenceOf([row.cell(place)]).domains > 0;
    above = joined < fields ? joined : row.length;
    return isRest;
  }

  function isTooLong(row: Pick<CsvRecord, 'length' | 'cell'>): boolean {
    for (let index = fields; index < row.length; index += 1) {
      if (row.cell(index).trim() !== '') return true;
    }
    if (row.length <= (usual ?? fields)) return false;
    canMistake ??= holdAddresses(sampleRows, domainIndex);
    return canMistake;
  }

  return (row) => {
    if (row.length < fields) return isTorn(row) ? 'torn_row' : undefined;
    above = 0;
    return row.length > fields && isTooLong(row) ? 'too_many_cells' : undefined;
  };
}

/** The number of cells that more than half of the rows have. */
function usualFields(rows: readonly (readonly string[])[]): number | undefined {
  const counts = new Map<number, number>();
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  return [...counts].find(([, count]) => count * 2 > rows.length)?.[0];
}

function holdAddresses(rows: readonly (readonly string[])[], columns: number): boolean {
  return Array.from({ length: columns }, (_, at) => rows.map((row) => row[at] ?? '')).some(
    (cells) => evidenceOf(cells).domains > 0,
  );
}
