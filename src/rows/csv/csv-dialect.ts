/** What may end a line. The three together come of files that were saved as text twice. */
export type LineEnd = '\n' | '\r\n' | '\r' | '\r\r\n';

/** How a CSV file is written. */
export interface CsvDialect {
  readonly delimiter: string;
  /** What stands around a cell that holds a delimiter or a line end; empty where nothing does. */
  readonly quote: '"' | "'" | '';
  /** What stands before a quote within quotes: another quote, or a backslash. */
  readonly escape: '"' | "'" | '\\' | '';
  /** What ends a line, of the first line. */
  readonly lineEnd: LineEnd;
  /** All that end a line, longer ones first. */
  readonly lineEnds: readonly LineEnd[];
}

/** How most CSV is written. */
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

/** For people: `CSV, semicolon-separated`. What is usual goes without saying. */
export function describeDialect({ delimiter, quote, escape }: CsvDialect): string {
  const parts = [
    delimiter !== ',' && `${DELIMITER_NAMES[delimiter] ?? `'${delimiter}'`}-separated`,
    quote === "'" && 'in single quotes',
    quote === '' && 'without quotes',
    escape === '\\' && 'with backslashes before quotes',
  ];
  return ['CSV', ...parts.filter((part) => part !== false)].join(', ');
}

/** A row as it stands in the list, but for its line end. */
export function withoutLineEnd(raw: string, { lineEnds }: Pick<CsvDialect, 'lineEnds'>): string {
  const end = lineEnds.find((lineEnd) => raw.endsWith(lineEnd));
  return end === undefined ? raw : raw.slice(0, -end.length);
}
