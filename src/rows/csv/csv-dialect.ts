/**
 * The ends of a line. The three characters together come from files that were saved as text twice.
 */
export type LineEnd = '\n' | '\r\n' | '\r' | '\r\r\n';

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
  return { delimiter, quote: '"', escape: '"', lineEnd: '\n', lineEnds: ['\r\n', '\n'] };
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

const USUAL: Style = { quote: '"', escape: '"' };
const STYLES: readonly Style[] = [
  USUAL,
  { quote: '"', escape: '\\' },
  { quote: "'", escape: "'" },
  { quote: "'", escape: '\\' },
  { quote: '', escape: '' },
];
/** The usual delimiters. */
export const DELIMITERS: readonly string[] = [',', ';', '\t', '|'];
/** These occur in texts so often that every record has to agree on them. */
const RARE_DELIMITERS: readonly string[] = [':', '^'];
const SAMPLE_CHARACTERS = 128 * 1024;

/** A way to read the sample, and its result. */
interface Reading extends CsvGrammar {
  readonly shape: SampleShape;
}

/**
 * Detects the dialect of a file from its beginning. The delimiter is the one that splits the most
 * records into the same number of cells; among equals, the one that has more cells in quotes, then
 * the one that makes more cells. The default is double quotes that are doubled within quotes;
 * anything else has to explain the file better.
 *
 * @param beginning of a file; 128 K characters of it are looked at
 */
export function detectDialect(
  beginning: string,
  { preferred, stated, isWhole = true }: DetectOptions = {},
): CsvDialect {
  const sample = beginning.slice(0, SAMPLE_CHARACTERS);
  const options = { isWhole: isWhole && sample.length === beginning.length };
  const read = (delimiter: string): readonly Reading[] =>
    stylesIn(sample)
      .map((style) => readBest(sample, { ...style, delimiter }, options))
      .filter((reading, _, [usual = reading]) => isCredible(reading, usual));
  const candidates = (delimiters: readonly string[]): readonly Reading[] =>
    delimiters
      .filter((delimiter) => sample.includes(delimiter))
      .flatMap(read)
      .filter(({ shape }) => shape.delimiters > 0);
  if (stated !== undefined) return toDialect(best(read(stated)), stated);

  const found = candidates(DELIMITERS);
  const suggested = found.filter(({ delimiter }) => delimiter === preferred);
  if (suggested.length > 0) return toDialect(best(suggested), ',');
  if (found.length > 0) return toDialect(best(found), ',');
  const rare = candidates(RARE_DELIMITERS).filter(
    ({ shape }) => shape.agreement === 1 && shape.faults === 0 && shape.records >= 3,
  );
  // A list of addresses also has colons.
  if (rare.length > 0 && !sample.includes('://')) return toDialect(best(rare), ',');
  return toDialect(best(read(',')), ',');
}

/** The quoting styles that the sample gives reason to consider; the usual one first. */
function stylesIn(sample: string): readonly Style[] {
  return STYLES.filter((style) => {
    if (style === USUAL) return true;
    if (style.quote === '') return sample.includes('"');
    return sample.includes(style.quote) && (style.escape !== '\\' || sample.includes('\\'));
  });
}

/** Lone carriage returns end lines if that makes rows as even, or if nothing else ends lines. */
function readBest(
  sample: string,
  grammar: Omit<CsvGrammar, 'endsAtReturn'>,
  options: { readonly isWhole: boolean },
): Reading {
  const without = { ...grammar, endsAtReturn: false };
  const shape = readShape(sample, without, options);
  if (shape.loneReturns === 0) return { ...without, shape };
  const withReturns = { ...grammar, endsAtReturn: true };
  const other = readShape(sample, withReturns, options);
  const isEven = shape.lineEnds.length === 0 || scoreOf(other) >= scoreOf(shape);
  return isEven ? { ...withReturns, shape: other } : { ...without, shape };
}

function isCredible({ quote, escape, delimiter, shape }: Reading, usual: Reading): boolean {
  if (quote === '"' && escape === '"') return true;
  const isBetter = scoreOf(shape) > scoreOf(usual.shape);
  if (quote === '"') return isBetter && shape.faults === 0;
  if (quote === '') {
    // In a file without quoting, some quotes stand alone; in a file with quoting, most come in
    // pairs.
    return isBetter && !',;'.includes(delimiter) && usual.shape.faults >= usual.shape.quoted;
  }
  const isUsual = shape.quoted >= Math.max(2, shape.records / 2) && usual.shape.quoted === 0;
  const needsEscape = escape !== '\\' || isBetter;
  return isUsual && needsEscape && shape.faults === 0 && scoreOf(shape) >= scoreOf(usual.shape);
}

/**
 * Chooses among equals: a delimiter that is not the comma of a text, then the one that explains more
 * quotes, then the more frequent one.
 */
function best(readings: readonly Reading[]): Reading | undefined {
  const [first] = readings.toSorted(
    (a, b) =>
      scoreOf(b.shape) - scoreOf(a.shape) ||
      Number(isOfText(a.shape)) - Number(isOfText(b.shape)) ||
      b.shape.quoted - a.shape.quoted ||
      b.shape.delimiters - a.shape.delimiters ||
      Number(b.quote === "'") - Number(a.quote === "'"),
  );
  return first;
}

function scoreOf({ agreement, faults, records }: SampleShape): number {
  return agreement * (1 - Math.min(1, faults / Math.max(1, records)));
}

function isOfText({ spacedShare }: SampleShape): boolean {
  return spacedShare > 0.5;
}

function toDialect(reading: Reading | undefined, delimiter: string): CsvDialect {
  if (!reading) return usualDialect(delimiter);
  const { quote, escape, endsAtReturn, shape } = reading;
  const seen = new Set(shape.lineEnds);
  const lineEnds: readonly LineEnd[] = [
    ...(seen.has('\r\r\n') ? (['\r\r\n'] as const) : []),
    '\r\n',
    '\n',
    ...(endsAtReturn ? (['\r'] as const) : []),
  ];
  const style = { quote, escape } as Style;
  return { delimiter: reading.delimiter, ...style, lineEnd: shape.lineEnds[0] ?? '\n', lineEnds };
}

/** A way to read CSV. */
interface CsvGrammar extends Pick<CsvDialect, 'delimiter' | 'quote' | 'escape'> {
  /** Whether a lone carriage return ends a line. */
  readonly endsAtReturn: boolean;
}

/** The result of reading a sample in one way. */
interface SampleShape {
  readonly records: number;
  /** Number of delimiters in the header. */
  readonly delimiters: number;
  /** The share of records that have as many, 0 to 1. */
  readonly agreement: number;
  /** Number of cells with correct quotes. */
  readonly quoted: number;
  /** Number of quotes that are never closed, or are closed within a cell. */
  readonly faults: number;
  /** The share of delimiters followed by a space, 0 to 1. */
  readonly spacedShare: number;
  /** The line ends outside of quotes; the end of the first line comes first. */
  readonly lineEnds: readonly LineEnd[];
  /** Number of carriage returns outside of quotes that end no line. */
  readonly loneReturns: number;
}

const MOST_RECORDS = 500;
/** More lines within quotes mean a quote that is never closed. */
const MOST_LINES_IN_QUOTES = 50;

/** Reads a sample in one way, and measures how even its rows are. */
export function readShape(
  sample: string,
  grammar: CsvGrammar,
  { isWhole }: { readonly isWhole: boolean },
): SampleShape {
  const { delimiter, quote, escape } = grammar;
  const counts: number[] = [];
  const lineEnds = new Set<LineEnd>();
  let quoted = 0;
  let faults = 0;
  let spaced = 0;
  let delimiters = 0;
  let loneReturns = 0;

  let count = 0;
  let isBlank = true;
  let atStart = true;
  let at = 0;
  while (at < sample.length && counts.length < MOST_RECORDS) {
    const character = sample[at] ?? '';
    if (atStart && quote !== '' && character === quote) {
      const end = endOfQuotes(sample, at, { quote, escape });
      isBlank = false;
      atStart = false;
      if (end === -1) {
        const lines = sample.slice(at).split('\n').length;
        if (isWhole || lines > MOST_LINES_IN_QUOTES) faults += 1;
        at = sample.length;
        break;
      }
      if (isEndOfCell(sample, end, grammar)) quoted += 1;
      else faults += 1;
      at = end;
      continue;
    }
    if (character === delimiter) {
      count += 1;
      delimiters += 1;
      if (sample[at + 1] === ' ') spaced += 1;
      atStart = true;
      isBlank = false;
      at += 1;
      continue;
    }
    const lineEnd = lineEndAt(sample, at, grammar.endsAtReturn);
    if (lineEnd === undefined) {
      if (character === '\r') loneReturns += 1;
      isBlank = false;
      atStart = false;
      at += 1;
      continue;
    }
    lineEnds.add(lineEnd);
    if (!isBlank) counts.push(count);
    count = 0;
    isBlank = true;
    atStart = true;
    at += lineEnd.length;
  }
  // The sample may cut its last line short, so that line says little, unless it is the only one.
  if (!isBlank && (counts.length === 0 || (isWhole && at >= sample.length))) counts.push(count);
  const [header = 0] = counts;
  return {
    records: counts.length,
    delimiters: header,
    agreement: counts.length === 0 ? 0 : counts.filter((n) => n === header).length / counts.length,
    quoted,
    faults,
    spacedShare: delimiters === 0 ? 0 : spaced / delimiters,
    lineEnds: [...lineEnds],
    loneReturns,
  };
}

/**
 * Finds the place behind the closing quote for quotes that are opened at a place; -1 if they are
 * never closed.
 *
 * @param start the place of the opening quote
 */
function endOfQuotes(
  text: string,
  start: number,
  { quote, escape }: Pick<CsvDialect, 'quote' | 'escape'>,
): number {
  if (escape !== quote) return endOfEscaped(text, start, { quote, escape });
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf(quote, at);
    if (at === -1) return -1;
    if (text[at + 1] !== quote) return at + 1;
  }
}

/** Goes from character to character: to search for the quote from each escape is quadratic. */
function endOfEscaped(
  text: string,
  start: number,
  { quote, escape }: Pick<CsvDialect, 'quote' | 'escape'>,
): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === escape) at += 1;
    else if (character === quote) return at + 1;
  }
  return -1;
}

function isEndOfCell(text: string, at: number, { delimiter }: CsvGrammar): boolean {
  const next = text[at];
  return next === undefined || next === delimiter || next === '\n' || next === '\r';
}

/** The line end at a place; undefined if there is none. */
function lineEndAt(text: string, at: number, endsAtReturn: boolean): LineEnd | undefined {
  const character = text[at];
  if (character === '\n') return '\n';
  if (character !== '\r') return undefined;
  if (text[at + 1] === '\n') return '\r\n';
  if (text[at + 1] === '\r' && text[at + 2] === '\n') return '\r\r\n';
  return endsAtReturn ? '\r' : undefined;
}
