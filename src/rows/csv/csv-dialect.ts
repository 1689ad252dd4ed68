import { type Options, parse } from 'csv-parse/sync';

/** How a CSV file is written. */
export interface CsvDialect {
  readonly delimiter: string;
  /**
   * What stands before a quote within quotes: another one, or as MySQL and Spark write it, a
   * backslash.
   */
  readonly escape: '"' | '\\';
  /** Whether quotes open behind spaces, as in `"1", "Acme, Inc."`. */
  readonly isSpaced: boolean;
  /** All ends of lines that count, longer ones first. */
  readonly lineEnds: readonly string[];
}

/**
 * `\r\r\n` comes from files that were saved as text twice. A lone carriage return ends lines only
 * where nothing else does.
 */
const LINE_ENDS: readonly string[] = ['\r\r\n', '\r\n', '\n'];
const OLD_LINE_ENDS: readonly string[] = [...LINE_ENDS, '\r'];

export const LINE_END = /\r{0,2}\n|\r/;

/** Cuts a row off before its line end. */
export function withoutLineEnd(raw: string): string {
  return raw.replace(/(?:\r{0,2}\n|\r)$/, '');
}

/** The number of lines in a text, as an editor counts. */
export function countLines(text: string): number {
  return text.split(LINE_END).length;
}

/**
 * 32 MB: a quote that is never closed would swallow the rest of the file; no real row is this long.
 */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;

/** How csv-parse reads a dialect: rows may be ragged, and quotes within a cell are text. */
export function parserOptions({ delimiter, escape, isSpaced, lineEnds }: CsvDialect): {
  [K in keyof Options]: Options[K];
} {
  return {
    delimiter,
    escape,
    record_delimiter: [...lineEnds],
    ltrim: isSpaced,
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: MAX_RECORD_BYTES,
  };
}

/** The delimiters that are looked for, and what people call them. */
const DELIMITERS: Readonly<Record<string, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'pipe',
};

/** For people: `CSV, semicolon-separated`. The comma is not mentioned. */
export function describeDialect({ delimiter }: CsvDialect): string {
  return delimiter === ',' ? 'CSV' : `CSV, ${DELIMITERS[delimiter] ?? `'${delimiter}'`}-separated`;
}

interface DialectHints {
  /** The delimiter that the file's name suggests; wins if it makes columns at all. */
  readonly preferred: string | undefined;
  /** The delimiter that the file itself declares. */
  readonly stated: string | undefined;
  /** Pieces from all over it. */
  readonly far: readonly string[];
}

const SAMPLE_CHARACTERS = 64 * 1024;

/**
 * Detects the dialect of a file from its beginning: the one in which most records have the same
 * number of cells. Among equals a delimiter wins that is not the comma of a text, then the one that
 * makes more cells.
 */
export function detectDialect(
  sample: string,
  { preferred, stated, far }: DialectHints,
): CsvDialect {
  const start = sample.slice(0, SAMPLE_CHARACTERS);
  const delimiters = stated === undefined ? Object.keys(DELIMITERS) : [stated];
  const readings = delimiters
    .filter((delimiter) => start.includes(delimiter))
    .map((delimiter) => measure(start, dialectOf(start, delimiter)))
    .filter(({ columns }) => columns > 1);
  const suggested = readings.filter(({ dialect }) => dialect.delimiter === preferred);
  const [best] = (suggested.length > 0 ? suggested : readings).sort(
    (one, other) =>
      other.evenness - one.evenness ||
      Number(one.isOfText) - Number(other.isOfText) ||
      other.columns - one.columns,
  );
  const dialect = best?.dialect ?? dialectOf(start, stated ?? ',');
  const escaped = { ...dialect, escape: '\\' } as const;
  const texts = [start, ...far].filter((text) => text.includes('\\"'));
  const evenness = (one: CsvDialect): number =>
    texts.reduce((sum, text) => sum + measure(text, one).evenness, 0);
  return evenness(escaped) > evenness(dialect) ? escaped : dialect;
}

function dialectOf(sample: string, delimiter: string): CsvDialect {
  return {
    delimiter,
    escape: '"',
    isSpaced: new RegExp(`${delimiter.replace(/\W/, '\\$&')} +"`).test(sample),
    lineEnds: sample.includes('\n') ? LINE_ENDS : OLD_LINE_ENDS,
  };
}

/** How a sample looks when it is read with a delimiter. */
function measure(sample: string, dialect: CsvDialect) {
  const { delimiter } = dialect;
  const { records, isCut } = readRecords(Buffer.from(sample), dialect);
  const counts = records.map(({ cells }) => cells.length).filter((count) => count > 0);
  // The sample may end within a record.
  const whole = counts.length > 2 ? counts.slice(0, -1) : counts;
  const frequencies = new Map<number, number>();
  for (const count of whole) frequencies.set(count, (frequencies.get(count) ?? 0) + 1);
  const [columns = 0, most = 0] = [...frequencies]
    .filter(([count]) => count > 1)
    .reduce((best, one) => (one[1] > (best[1] ?? 0) ? one : best), [] as number[]);
  const texts = sample.split(`${delimiter} `).length;
  return {
    dialect,
    /** The number of cells that most of its records have; 0 where that is one. */
    columns,
    /** The share of records that have the most frequent number of cells, 0 to 1. */
    evenness: (most - Number(isCut)) / Math.max(1, whole.length),
    /** Whether most delimiters are followed by a space that is not in front of a quote. */
    isOfText: !dialect.isSpaced && texts * 2 > sample.split(delimiter).length,
  };
}

/** A record at the beginning of a list. */
export interface SampleRecord {
  readonly cells: readonly string[];
  /** Where it is in the text. */
  readonly startBytes: number;
  readonly endBytes: number;
}

/**
 * Reads the first records of some text, as far as it can be read. Blank lines have no cells.
 *
 * @param start where to begin
 */
export function readRecords(
  bytes: Buffer,
  dialect: CsvDialect,
  start = 0,
): { readonly records: SampleRecord[]; readonly isCut: boolean } {
  const records: SampleRecord[] = [];
  let startBytes = start;
  const onRecord = (read: unknown): null => {
    const { record, info } = read as { record: string[]; info: { bytes: number } };
    const isBlank = record.length === 1 && record[0] === '';
    const endBytes = start + info.bytes;
    records.push({ cells: isBlank ? [] : record, startBytes, endBytes });
    startBytes = endBytes;
    return null;
  };
  try {
    parse(bytes.subarray(start), { ...parserOptions(dialect), info: true, on_record: onRecord });
    return { records, isCut: false };
  } catch {
    return { records, isCut: true }; // A quote is open at its end.
  }
}

/** Splits a row into the texts of its cells. */
export function textsOfRow(raw: string, dialect: CsvDialect): readonly string[] {
  return readRecords(Buffer.from(raw), dialect).records[0]?.cells ?? [];
}

/** Splits a row into its cells as they are written, quotes and spaces included. */
export function cellsOfRow(raw: string, dialect: CsvDialect): string[] {
  const bytes = Buffer.from(withoutLineEnd(raw));
  const cells: string[] = [];
  let start = 0;
  const onCell = (_: string, { bytes: end }: { bytes: number }): string => {
    cells.push(bytes.toString('utf8', start, end));
    start = end + Buffer.byteLength(dialect.delimiter);
    return '';
  };
  parse(bytes, { ...parserOptions(dialect), cast: onCell });
  return cells;
}
