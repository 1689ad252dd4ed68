import { type CsvDialect, type LineEnd, usualDialect } from './csv-dialect.ts';
import { type CsvGrammar, readShape, type SampleShape } from './csv-shape.ts';

export interface DetectOptions {
  /** The delimiter that the file's name suggests; wins if it occurs in the first line. */
  readonly preferred?: string | undefined;
  /** The delimiter that the file itself declares. */
  readonly told?: string | undefined;
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
  { preferred, told, isWhole = true }: DetectOptions = {},
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
  if (told !== undefined) return toDialect(best(read(told)), told);

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
