import { BrandfillError } from '../common/errors.ts';
import { openCsv } from './csv/csv.ts';
import { openJsonl } from './jsonl.ts';
import { findOtherText } from './other-formats.ts';
import type { RowFormat } from './row-format.ts';
import { type Source, unreadable } from './source.ts';

export interface OpenRowsOptions {
  /** The prefix of the names of our own columns. */
  readonly prefix: string;
  /** Whether the first line of CSV is a row. @default false */
  readonly noHeader?: boolean | undefined;
  /** Number of lines above the list, in CSV. @default 0 */
  readonly skipLines?: number | undefined;
}

/**
 * Detects the format of a list, by the name of its file or else by its first character, and opens
 * it.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is neither CSV nor JSONL nor a workbook,
 * `INVALID_SETTING` when options are for CSV and it is another format.
 */
export function openRows(source: Source, options: OpenRowsOptions): RowFormat {
  const { noHeader, skipLines } = options;
  if (source.openSheet) {
    const titles = 'a workbook, of which titles are left out by themselves';
    refuseForCsv(source, 'a workbook', { '--no-header': noHeader });
    refuseForCsv(source, titles, { '--skip-lines': skipLines });
    return source.openSheet();
  }
  if (source.isOfObjects || isJsonl(source)) {
    const given = { '--no-header': noHeader, '--skip-lines': skipLines };
    refuseForCsv(source, 'JSONL', given);
    return openJsonl(source, options.prefix);
  }
  const isOfTabs = /^\.(?:tsv|tab)\b/i.test(splitExtension(source.name).extension);
  return openCsv(source, { ...options, delimiter: isOfTabs ? '\t' : undefined });
}

function refuseForCsv(
  { name }: Source,
  kind: string,
  given: Readonly<Record<string, unknown>>,
): void {
  const option = Object.keys(given).find((key) => given[key]);
  if (option === undefined) return;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${option} for ${name}: it is for CSV, and this is ${kind}; leave it out.`,
  );
}

/** Whether a list is JSONL: by its name, else by its first line. */
function isJsonl({ name, sample }: Source): boolean {
  const other = findOtherText(sample);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
  const start = sample.toString('utf8').trimStart();
  // The first column of CSV may be called `[id]`.
  if (/^\[\s*(?:[[{"\]]|-?\d|null|true|false)/.test(start)) {
    throw unreadable(
      name,
      "it is a JSON array; expected one JSON object per line (jq -c '.[]' makes it so)",
    );
  }
  const { extension } = splitExtension(name);
  if (/^\.(?:jsonl|ndjson)\b/i.test(extension)) return true;
  if (!start.startsWith('{')) return false;
  if (!/^\.(?:csv|tsv|tab)\b/i.test(extension)) return true;
  try {
    JSON.parse(start.split('\n', 1).join());
    return true; // and not `{id}`, the first column of CSV
  } catch {
    return false;
  }
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
