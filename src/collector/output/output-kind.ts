import { BrandfillError } from '../../common/errors.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RowFormat, RowKind } from '../../rows/row-format.ts';

const KINDS: Readonly<Record<string, RowKind>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
  '.xltx': 'xlsx',
  '.xltm': 'xlsx',
};
const OTHER_WORKBOOKS: ReadonlySet<string> = new Set(['.xls', '.xlsb', '.ods', '.numbers']);
const OTHER_TABLES: ReadonlySet<string> = new Set(
  '.parquet .avro .arrow .feather .orc .sqlite .db .duckdb .html .htm .xml .yaml .yml .pdf .docx'.split(
    ' ',
  ),
);
const OTHER_PACKING: ReadonlySet<string> = new Set(['.zip', '.bz2', '.xz', '.zst', '.7z', '.tgz']);

const TABBED: ReadonlySet<string> = new Set(['.tsv', '.tab']);
/** Names of any text. A workbook becomes tab-separated text by them. */
const TEXTS: ReadonlySet<string> = new Set(['.txt', '.text', '.asc', '.prn']);

/**
 * The format in which rows are written: the one that the name of the output stands for, else their
 * own.
 */
export function kindOfOutput(path: string, { kind }: Pick<RowFormat, 'kind'>): RowKind {
  if (path === '-') return kind;
  const extension = extensionOf(path);
  return KINDS[extension] ?? (kind === 'xlsx' && TEXTS.has(extension) ? 'csv' : kind);
}

/** The delimiter of CSV that is made from a workbook. */
export function delimiterOfOutput(path: string): string {
  const extension = extensionOf(path);
  return TABBED.has(extension) || TEXTS.has(extension) ? '\t' : ',';
}

/**
 * The extension of outputs beside a list: the list's own, unless it stands for another format than
 * its rows are in, as with text that is called `.xls`.
 */
export function extensionBeside(own: string, { kind, extension }: RowFormat): string {
  const bare = own.toLowerCase().replace(/\.gz$/, '');
  const isOther = OTHER_WORKBOOKS.has(bare) || OTHER_TABLES.has(bare) || OTHER_PACKING.has(bare);
  const told = KINDS[bare] ?? (kind === 'xlsx' || isOther ? undefined : kind);
  return own !== '' && told === kind ? own : extension;
}

/**
 * Makes sure that the name of an output does not stand for a format or a compression that is not
 * supported.
 *
 * @param kind the format of the rows
 * @throws BrandfillError `INVALID_SETTING`
 */
export function refuseUnknownFormat(path: string, kind: RowKind): void {
  const extension = extensionOf(path);
  if (OTHER_WORKBOOKS.has(extension)) {
    throw refusal(path, 'workbooks are written as XLSX; give the output a name that ends in .xlsx');
  }
  if (OTHER_PACKING.has(extension)) {
    throw refusal(
      path,
      'outputs are packed with gzip only; give the output a name that ends in .gz',
    );
  }
  if (OTHER_TABLES.has(extension)) throw refusal(path, likeInput(kind));
}

/**
 * Makes sure that an output can be written in the format of its name.
 *
 * @param isWhole whether it gets all rows. A workbook is then written as it was read.
 * @throws BrandfillError `INVALID_SETTING`
 */
export function refuseOtherFormat(
  path: string,
  format: RowFormat,
  { input, isWhole }: { readonly input: string; readonly isWhole: boolean },
): void {
  const { kind, isTable } = format;
  refuseUnknownFormat(path, kind);
  const extension = extensionOf(path);
  const wanted = kindOfOutput(path, format);
  // Only tables are converted from or to workbooks. Other rows keep their format.
  const isConverted = wanted !== kind;
  const isImpossible = isConverted && (!isTable || (wanted !== 'xlsx' && kind !== 'xlsx'));
  if (isImpossible) throw refusal(path, likeInput(kind));
  if (wanted !== 'xlsx') return;
  if (/\.gz$/i.test(path)) {
    throw refusal(path, 'a workbook is compressed already; leave .gz off its name');
  }
  // Programs refuse a workbook whose extension promises macros that are missing, or hides macros.
  const needed = kind === 'xlsx' && isWhole ? extensionOf(input) : '.xlsx';
  if (needed !== extension && KINDS[needed] === 'xlsx' && KINDS[extension] === 'xlsx') {
    throw refusal(path, `give the output a name that ends in ${needed}`);
  }
}

function likeInput(kind: RowKind): string {
  return `the rows are ${kind.toUpperCase()} like the input; give the output a name that ends in .${kind}`;
}

function refusal(path: string, why: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', `Cannot write ${path}: ${why}.`);
}

function extensionOf(path: string): string {
  return splitExtension(path).extension.toLowerCase().replace(/\.gz$/, '');
}
