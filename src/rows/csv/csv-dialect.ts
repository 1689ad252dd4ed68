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
