/** A format of lists. What any page, help or message says of formats follows from these. */
export interface ListFormat {
  readonly kind: 'xlsx' | 'csv' | 'jsonl';
  /** For people, the first one in messages. */
  readonly names: readonly [string, ...string[]];
  /** How names of such files end, the usual one first. Those of text may have `.gz` behind them. */
  readonly endings: readonly [string, ...string[]];
  /** The options about how a list is read that it has, by their keys. */
  readonly options: readonly ReadingOption[];
  /** Whether a list of it is written again as a whole file, and its failures as CSV. */
  readonly isBinary: boolean;
}

export const READING_OPTIONS = ['sheet', 'encoding', 'noHeader', 'skipLines'] as const;
export type ReadingOption = (typeof READING_OPTIONS)[number];

export const LIST_FORMATS: Readonly<Record<ListFormat['kind'], ListFormat>> = {
  xlsx: {
    kind: 'xlsx',
    names: ['XLSX'],
    endings: ['.xlsx', '.xlsm', '.xltx', '.xltm'],
    options: ['sheet'],
    isBinary: true,
  },
  csv: {
    kind: 'csv',
    names: ['CSV', 'TSV'],
    endings: ['.csv', '.tsv', '.tab'],
    options: ['encoding', 'noHeader', 'skipLines'],
    isBinary: false,
  },
  jsonl: {
    kind: 'jsonl',
    names: ['JSONL'],
    endings: ['.jsonl', '.ndjson', '.json'],
    options: ['encoding'],
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
