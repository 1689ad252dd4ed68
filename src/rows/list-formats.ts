/** A format of lists. What any page, help or message says of formats follows from these. */
export interface ListFormat {
  readonly kind: 'xlsx' | 'csv' | 'jsonl';
  /** For people, the first one in messages. */
  readonly names: readonly [string, ...string[]];
  /** How names of such files end, the usual one first. Those of text may have `.gz` behind them. */
  readonly endings: readonly [string, ...string[]];
  /** Whether a list of it is written again as a whole file, and its failures as CSV. */
  readonly isBinary: boolean;
}

/** How a list is to be read. */
export interface ReadingOptions {
  /** The sheet of a workbook that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** The encoding of the list. @default detected */
  readonly encoding?: string | undefined;
  /** Whether the first line is a row. @default false */
  readonly noHeader?: boolean | undefined;
  /** Number of lines above the list. @default 0 */
  readonly skipLines?: number | undefined;
}

/** Which formats have each of them. */
export const READING_OPTIONS: Readonly<
  Record<keyof ReadingOptions, readonly ListFormat['kind'][]>
> = {
  sheet: ['xlsx'],
  encoding: ['csv', 'jsonl'],
  noHeader: ['csv'],
  skipLines: ['csv'],
};

export const LIST_FORMATS: Readonly<Record<ListFormat['kind'], ListFormat>> = {
  xlsx: {
    kind: 'xlsx',
    names: ['XLSX'],
    endings: ['.xlsx', '.xlsm', '.xltx', '.xltm'],
    isBinary: true,
  },
  csv: {
    kind: 'csv',
    names: ['CSV', 'TSV'],
    endings: ['.csv', '.tsv', '.tab'],
    isBinary: false,
  },
  jsonl: {
    kind: 'jsonl',
    names: ['JSONL'],
    endings: ['.jsonl', '.ndjson', '.json'],
    isBinary: false,
  },
};

const ALL = Object.values(LIST_FORMATS);

/** `XLSX, CSV, TSV or JSONL` */
export const FORMAT_NAMES: string = ALL.flatMap(({ names }) => names)
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' or ');

/** What a list may be, for help. */
export const LIST_FILE = `${FORMAT_NAMES} file (text formats also as .gz); - is standard input`;

/** All endings of lists. */
export const ENDINGS: readonly string[] = ALL.flatMap(({ endings }) => endings);

/** Whether a file's extension is one of a format. */
export function isEndingOf({ endings, isBinary }: ListFormat, extension: string): boolean {
  const plain = extension.toLowerCase();
  return endings.includes(isBinary ? plain : plain.replace(/\.gz$/, ''));
}

/** Endings of formats that are none of ours. */
const OTHERS = /^\.(?:xls|xlsb|ods|numbers|parquet|html|xml|yaml|pdf|zip|bz2|xz|zst)(?:\.gz)?$/i;

/** Whether the ending of a name stands for a format, be it one of ours or not. */
export function standsForFormat(extension: string): boolean {
  return OTHERS.test(extension) || ALL.some((format) => isEndingOf(format, extension));
}
