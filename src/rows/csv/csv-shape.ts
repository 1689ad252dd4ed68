import type { CsvDialect, LineEnd } from './csv-dialect.ts';

/** A way to read CSV. */
export interface CsvGrammar extends Pick<CsvDialect, 'delimiter' | 'quote' | 'escape'> {
  /** Whether a lone carriage return ends a line. */
  readonly endsAtReturn: boolean;
}

/** The result of reading a sample in one way. */
export interface SampleShape {
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
export function endOfQuotes(
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
