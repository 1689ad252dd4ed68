import { BrandfillError } from '../common/errors.ts';
import { openCsv } from './csv/csv.ts';
import { openJsonl } from './jsonl.ts';
import { findOtherText } from './other-formats.ts';
import type { RowFormat } from './row-format.ts';
import type { Source } from './source.ts';

export interface OpenRowsOptions {
  /** The prefix of the names of our own columns. */
  readonly prefix: string;
  /** Whether the first line of CSV is a row. @default false */
  readonly noHeader?: boolean | undefined;
  /** Number of lines above the list, in CSV. @default 0 */
  readonly skipLines?: number | undefined;
  /** Whether outputs are to be CSV that Excel opens correctly. @default false */
  readonly excel?: boolean | undefined;
}

/**
 * Detects the format of a list, by the name of its file or else by its first character, and opens
 * it.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is neither CSV nor JSONL nor a workbook,
 * `INVALID_SETTING` when options are for CSV and it is another format.
 */
export function openRows(source: Source, options: OpenRowsOptions): RowFormat {
  if (source.openSheet) {
    if (options.noHeader) throw pointless('--no-header', source, 'a workbook');
    if (options.skipLines) {
      throw pointless(
        '--skip-lines',
        source,
        'a workbook, of which titles are left out by themselves',
      );
    }
    return source.openSheet();
  }
  if (source.isOfObjects) return openObjects(source, options);
  const other = findOtherText(source.sample);
  if (other !== undefined) {
    throw new BrandfillError('UNREADABLE_INPUT', `Cannot read ${source.name}: it is ${other}.`);
  }
  const extension = extensionOf(source.name);
  const isCsvByName = CSV_EXTENSIONS.has(extension);
  if (isArray(source.sample)) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${source.name}: it is a JSON array; expected one JSON object per line (jq -c '.[]' makes it so).`,
    );
  }
  if (JSONL_EXTENSIONS.has(extension)) return openObjects(source, options);
  if (isCsvByName && startsWithObject(source.sample)) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${source.name}: its lines are JSON objects; give it a name that ends in .jsonl, not in .${extension}.`,
    );
  }
  if (!isCsvByName && startsWithBrace(source.sample)) return openObjects(source, options);
  return openCsv(source, {
    ...options,
    delimiter: TAB_EXTENSIONS.has(extension) ? '\t' : undefined,
  });
}

function openObjects(
  source: Source,
  { prefix, noHeader, skipLines, excel }: OpenRowsOptions,
): RowFormat {
  if (noHeader) throw pointless('--no-header', source, 'JSONL');
  if (skipLines) throw pointless('--skip-lines', source, 'JSONL');
  if (excel) throw pointless('--excel', source, 'JSONL');
  return openJsonl(source, prefix);
}

function pointless(option: string, { name }: Source, kind: string): BrandfillError {
  return new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${option} for ${name}: it is for CSV, and this is ${kind}; leave it out.`,
  );
}

/**
 * Splits a file's name in front of its extension, which may be double: `list.csv.gz` is `list` and
 * `.csv.gz`.
 */
export function splitExtension(path: string): {
  readonly stem: string;
  readonly extension: string;
} {
  const extension = /\.[a-z0-9]+(\.gz)?$/i.exec(path.replace(/^.*[\\/]\.?/, ''))?.[0] ?? '';
  return { stem: path.slice(0, path.length - extension.length), extension };
}

const JSONL_EXTENSIONS: ReadonlySet<string> = new Set(['jsonl', 'ndjson']);
const CSV_EXTENSIONS: ReadonlySet<string> = new Set(['csv', 'tsv', 'tab']);
const TAB_EXTENSIONS: ReadonlySet<string> = new Set(['tsv', 'tab']);

function extensionOf(name: string): string {
  return splitExtension(name).extension.toLowerCase().replace(/^\./, '').replace(/\.gz$/, '');
}

function startsWithBrace(sample: Buffer): boolean {
  return /^\s*\{/.test(startOf(sample));
}

/** Whether the list is a JSON array. The first column of CSV may be called `[id]`. */
function isArray(sample: Buffer): boolean {
  return /^\s*\[\s*(?:[[{"\]]|-?\d|null|true|false)/.test(startOf(sample));
}

function startOf(sample: Buffer): string {
  return sample.toString('utf8', 0, 1_024);
}

/** Whether the whole first line is an object: the first column of CSV may be called `{id}`. */
function startsWithObject(sample: Buffer): boolean {
  if (!startsWithBrace(sample)) return false;
  const [line = ''] = sample.toString('utf8').trimStart().split('\n', 1);
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
