/**
 * The ends of a line. The three characters together come from files that were saved as text twice.
 */
export type LineEnd = '\n' | '\r\n' | '\r' | '\r\r\n';

/** Longer ones first. */
const LINE_ENDS: readonly LineEnd[] = ['\r\r\n', '\r\n', '\n', '\r'];
const USUAL_LINE_ENDS: readonly LineEnd[] = ['\r\n', '\n'];

/** How a CSV file is written. */
export interface CsvDialect {
  readonly delimiter: string;
  /** The quote around a cell that holds a delimiter or a line end; empty without quoting. */
  readonly quote: '"' | "'" | '';
  /** The character before a quote within quotes: another quote, or a backslash. */
  readonly escape: '"' | "'" | '\\' | '';
  /** The end of the first line. */
  readonly lineEnd: LineEnd;
  /** All ends of lines that occur, longer ones first. */
  readonly lineEnds: readonly LineEnd[];
}

/** The dialect of most CSV files. */
export function usualDialect(delimiter: string): CsvDialect {
  return { delimiter, quote: '"', escape: '"', lineEnd: '\n', lineEnds: USUAL_LINE_ENDS };
}

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'pipe',
  ':': 'colon',
  '^': 'caret',
  ' ': 'space',
};

/** For people: `CSV, semicolon-separated`. Usual properties are left out. */
export function describeDialect({ delimiter, quote, escape }: CsvDialect): string {
  const parts = [
    delimiter !== ',' && `${DELIMITER_NAMES[delimiter] ?? `'${delimiter}'`}-separated`,
    quote === "'" && 'in single quotes',
    quote === '' && 'without quotes',
    escape === '\\' && 'with backslashes before quotes',
  ];
  return ['CSV', ...parts.filter((part) => part !== false)].join(', ');
}

/** A row as it is in the list, without its line end. */
export function withoutLineEnd(raw: string, { lineEnds }: Pick<CsvDialect, 'lineEnds'>): string {
  const end = lineEnds.find((lineEnd) => raw.endsWith(lineEnd));
  return end === undefined ? raw : raw.slice(0, -end.length);
}

interface DetectOptions {
  /** The delimiter that the file's name suggests; wins if it occurs in the first line. */
  readonly preferred?: string | undefined;
  /** The delimiter that the file itself declares. */
  readonly stated?: string | undefined;
  /** Whether the sample is the whole file. @default true */
  readonly isWhole?: boolean;
}

type Style = Pick<CsvDialect, 'quote' | 'escape'>;

/** The usual one first. */
const STYLES: readonly Style[] = [
  { quote: '"', escape: '"' },
  { quote: '"', escape: '\\' },
  { quote: "'", escape: "'" },
  { quote: "'", escape: '\\' },
  { quote: '', escape: '' },
];
/** The usual delimiters. */
export const DELIMITERS: readonly string[] = [',', ';', '\t', '|'];
/** These occur in texts so often that every record has to agree on them. */
const RARE_DELIMITERS: readonly string[] = [':', '^'];

/**
 * Detects the dialect of a file from its beginning. The delimiter is the one that splits the most
 * records into the same number of cells; among equals, one that is not the comma of a text, then the
 * one that has more cells in quotes, then the one that makes more cells. The default is double quotes
 * that are doubled within quotes; anything else has to explain the file better.
 *
 * @param sample the beginning; its first records are looked at
 */
export function detectDialect(
  sample: string,
  { preferred, stated, isWhole = true }: DetectOptions = {},
): CsvDialect {
  // A style whose quote or backslash does not occur has nothing to explain.
  const styles = STYLES.filter(
    ({ quote, escape }, at) => at === 0 || (sample.includes(quote) && sample.includes(escape)),
  );
  const read = (delimiter: string): readonly Reading[] =>
    styles
      .map((style) => readBest(sample, { ...style, delimiter }, isWhole))
      .filter((reading, _, [usual = reading]) => isCredible(reading, usual));
  const candidates = (delimiters: readonly string[]): readonly Reading[] =>
    delimiters
      .filter((delimiter) => sample.includes(delimiter))
      .flatMap(read)
      .filter(({ delimiters }) => delimiters > 0);
  if (stated !== undefined) return best(read(stated));

  const found = candidates(DELIMITERS);
  const suggested = found.filter(({ delimiter }) => delimiter === preferred);
  if (suggested.length > 0) return best(suggested);
  if (found.length > 0) return best(found);
  const rare = candidates(RARE_DELIMITERS).filter(
    ({ score, records }) => score === 1 && records >= 3,
  );
  // A list of addresses also has colons.
  return best(rare.length > 0 && !sample.includes('://') ? rare : read(','));
}

/** Lone carriage returns end lines if that makes rows as even, or if nothing else ends lines. */
function readBest(
  sample: string,
  grammar: Omit<CsvGrammar, 'endsAtReturn'>,
  isWhole: boolean,
): Reading {
  const without = measure(sample, { ...grammar, endsAtReturn: false }, isWhole);
  if (!without.hasLoneReturns) return without;
  const withReturns = measure(sample, { ...grammar, endsAtReturn: true }, isWhole);
  const isEven = without.lineEnds.length === 0 || withReturns.score >= without.score;
  return isEven ? withReturns : without;
}

/** Whether a file may be quoted in a way at all, judged by how it would be in the usual way. */
function isCredible({ quote, delimiter, quoted, records }: Reading, usual: Reading): boolean {
  if (quote === '"') return true;
  // A program that quotes with double quotes does not quote with single ones.
  if (quote === "'") return usual.quoted === 0 && quoted >= Math.max(2, records / 2);
  // In a file without quoting, some quotes stand alone; in a file with quoting, most come in pairs.
  return !',;'.includes(delimiter) && usual.faults >= usual.quoted;
}

function best(readings: readonly Reading[]): CsvDialect {
  const { delimiter, quote, escape, lineEnds } = readings.reduce((a, b) =>
    (b.score - a.score ||
      Number(a.isOfText) - Number(b.isOfText) ||
      b.quoted - a.quoted ||
      b.delimiters - a.delimiters) > 0
      ? b
      : a,
  );
  return {
    delimiter,
    quote,
    escape,
    lineEnd: lineEnds[0] ?? '\n',
    lineEnds: LINE_ENDS.filter((end) => [...USUAL_LINE_ENDS, ...lineEnds].includes(end)),
  };
}

/** A way to read CSV. */
interface CsvGrammar extends Pick<CsvDialect, 'delimiter' | 'quote' | 'escape'> {
  /** Whether a lone carriage return ends a line. */
  readonly endsAtReturn: boolean;
}

/** The result of reading a sample in one way. */
interface Reading extends CsvGrammar {
  readonly records: number;
  /** The share of records that are as long as the header, 0 to 1, less a record for each fault. */
  readonly score: number;
  /** Number of delimiters in the header. */
  readonly delimiters: number;
  /** Whether most delimiters are followed by a space. */
  readonly isOfText: boolean;
  /** Number of cells with correct quotes. */
  readonly quoted: number;
  /** Number of quotes that are never closed, or are closed within a cell. */
  readonly faults: number;
  /** The line ends outside of quotes; the end of the first line comes first. */
  readonly lineEnds: readonly LineEnd[];
  /** Whether there are carriage returns outside of quotes that end no line. */
  readonly hasLoneReturns: boolean;
}

const MOST_RECORDS = 500;
/** What a spreadsheet can hold. A longer cell means a quote that is never closed. */
const LONGEST_CELL = 32_767;

/** Reads a sample in one way, and measures how even its rows are. */
function measure(sample: string, grammar: CsvGrammar, isWhole: boolean): Reading {
  const { delimiter, quote, endsAtReturn } = grammar;
  const counts: number[] = [];
  const lineEnds = new Set<LineEnd>();
  let hasLoneReturns = false;
  let quoted = 0;
  let faults = 0;
  /** Delimiters that a space follows, less those that none follows. */
  let spaced = 0;

  let count = 0;
  let recordStart = 0;
  let cellStart = 0;
  let at = 0;
  while (at < sample.length && counts.length < MOST_RECORDS) {
    const character = sample[at];
    if (character === quote && at === cellStart) {
      const end = endOfQuotes(sample, at, grammar);
      if (end === undefined) {
        if (isWhole || sample.length - at > LONGEST_CELL) faults += 1;
        at = sample.length;
      } else {
        if (isEndOfCell(sample[end], delimiter)) quoted += 1;
        else faults += 1;
        at = end;
      }
    } else if (character === delimiter) {
      count += 1;
      at += 1;
      cellStart = at;
      spaced += sample[at] === ' ' ? 1 : -1;
    } else {
      const lineEnd = lineEndAt(sample, at);
      if (lineEnd === undefined || (lineEnd === '\r' && !endsAtReturn)) {
        hasLoneReturns ||= lineEnd === '\r';
        at += 1;
      } else {
        lineEnds.add(lineEnd);
        if (at > recordStart) counts.push(count);
        count = 0;
        at += lineEnd.length;
        recordStart = at;
        cellStart = at;
      }
    }
  }
  // Otherwise the sample may cut its last line short.
  if (isWhole && at > recordStart) counts.push(count);
  const records = counts.length;
  const [header = 0] = counts;
  const even = counts.filter((count) => count === header).length;
  return {
    ...grammar,
    records,
    score: (even - faults) / Math.max(1, records),
    delimiters: header,
    isOfText: spaced > 0,
    quoted,
    faults,
    lineEnds: [...lineEnds],
    hasLoneReturns,
  };
}

/**
 * Finds the place behind the closing quote for quotes that are opened at a place; undefined if they
 * are never closed.
 *
 * @param start the place of the opening quote
 */
function endOfQuotes(
  text: string,
  start: number,
  { quote, escape }: CsvGrammar,
): number | undefined {
  for (let at = start + 1; at < text.length; at += 1) {
    const isEscape = text[at] === escape && (escape !== quote || text[at + 1] === quote);
    if (isEscape) at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return undefined;
}

function isEndOfCell(next: string | undefined, delimiter: string): boolean {
  return next === undefined || next === delimiter || next === '\n' || next === '\r';
}

/** The line end at a place; undefined if there is none. */
function lineEndAt(text: string, at: number): LineEnd | undefined {
  if (text[at] !== '\n' && text[at] !== '\r') return undefined; // as most characters
  return LINE_ENDS.find((end) => text.startsWith(end, at));
}
