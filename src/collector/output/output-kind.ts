import { BrandfillError } from '../../common/errors.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RowFormat, RowKind } from '../../rows/row-format.ts';

const KINDS: Readonly<Record<string, RowKind>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'csv',
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

/** The format that the name of an output stands for; undefined when it stands for none. */
export function kindOfPath(path: string): RowKind | undefined {
  return path === '-' ? undefined : KINDS[extensionOf(path)];
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
  const wanted = kindOfPath(path) ?? kind;
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
