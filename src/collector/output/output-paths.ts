import { readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { BrandfillError } from '../../common/errors.ts';
import { isPiped, isSameFile } from '../../common/files.ts';
import { untakenName } from '../../rows/columns/names.ts';
import type { ListInput } from '../../rows/list-input.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RowFormat, RowKind } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import { MOST_ROWS } from '../../rows/xlsx/cell-ref.ts';

/** The output paths of a run. `out` may be `-` for standard output. */
export interface OutputPaths {
  readonly out: string;
  /** Undefined when failures go into a sheet of the workbook `out`. */
  readonly failures: string | undefined;
  /** Undefined without a changes file. */
  readonly changes: string | undefined;
}

export interface OutputPathsOptions {
  readonly input: ListInput;
  readonly out: string | undefined;
  readonly failures: string | undefined;
  readonly changes?: string | undefined;
  readonly source: Source;
  readonly format: RowFormat;
}

/**
 * Names the outputs, beside the input by default. Rows of standard input go to standard output, and
 * their failures to `stdin.failures.<ext>` in the current folder, or beside `out`, as do those of rows
 * that came as objects. The failures of a workbook become a sheet.
 *
 * @throws BrandfillError `INVALID_SETTING` when an output is the input, or its name stands for a
 *   format that the rows cannot be written in; `UNREADABLE_INPUT` when a workbook cannot be written
 *   again
 */
export async function chooseOutputPaths(options: OutputPathsOptions): Promise<OutputPaths> {
  const { input, source, format } = options;
  const name = typeof input !== 'string' ? 'rows' : isPiped(input) ? 'stdin' : input;
  const { stem, extension } = splitExtension(name);
  const ending = extensionBeside(extension, format);
  const out = options.out ?? (isPiped(input) ? '-' : `${stem}.enriched${ending}`);
  const outKind = kindOfOutput(out, format);
  // Failures of a workbook that is written as text are text too.
  const ofText = outKind === format.kind ? ending : splitExtension(out).extension;
  const paths = {
    out,
    failures:
      options.failures ??
      (outKind === 'xlsx' ? undefined : `${await stemOfFailures(stem, options)}.failures${ofText}`),
    changes: options.changes,
  };
  const { failures, changes } = paths;
  if (failures !== undefined) {
    await refuseSamePlace(out, failures, 'choose another --out or --failures');
  }
  if (changes !== undefined) {
    await refuseSamePlace(out, changes, 'choose another --out or --changes');
    if (failures !== undefined) {
      await refuseSamePlace(failures, changes, 'choose another --failures or --changes');
    }
  }
  for (const path of Object.values(paths)) {
    if (path === '-' || path === undefined) continue;
    if (await isInput(path, source)) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot write ${path}: it is the input itself; choose another output.`,
      );
    }
    refuseOtherFormat(path, format, { input: name, isWhole: path === out });
  }
  if (format.workbook && outKind === 'xlsx') {
    const { assertRewritable } = await import('../../rows/xlsx/workbook-writer.ts');
    await assertRewritable(format.workbook);
  }
  return paths;
}

/** A list that is no file has no place of its own, so its failures go beside the output. */
async function stemOfFailures(ofList: string, { input, out }: OutputPathsOptions): Promise<string> {
  const isFile = typeof input === 'string' && !isPiped(input);
  if (isFile || out === undefined || out === '-') return ofList;
  const there = await stat(out).catch(() => undefined);
  if (there && !there.isFile()) return ofList; // such as /dev/null
  return splitExtension(out).stem.replace(/(?<=[^/\\])\.enriched$/, '');
}

export interface MergePathsOptions extends Pick<OutputPathsOptions, 'out' | 'source' | 'format'> {
  /** The failures file that is looked up again. */
  readonly failures: string;
  /** The earlier output. */
  readonly merge: string;
}

/**
 * Names the outputs of a merge. By default both files replace those they are made from.
 *
 * @throws BrandfillError `INVALID_SETTING` when one would replace the other
 */
export async function chooseMergePaths(
  options: MergePathsOptions,
): Promise<OutputPaths & { readonly failures: string }> {
  const { out = options.merge, failures, source, format } = options;
  await refuseSamePlace(out, failures, 'choose another --out or --failures');
  await refuseSamePlace(options.merge, failures, 'choose another --merge or --failures');
  if (out !== '-' && (await isInput(out, source))) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot write ${out}: it is the input itself; choose another output.`,
    );
  }
  for (const path of [out, failures]) {
    refuseUnknownFormat(path, format.kind);
    if (kindOfOutput(path, format) === format.kind) continue;
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot write ${path}: the rows are ${format.kind.toUpperCase()} like the input; give the output a name that ends in .${format.kind}.`,
    );
  }
  return { out, failures, changes: undefined };
}

/** The folder of an output. For standard output, the current folder. */
export function folderOf(path: string): string {
  return path === '-' ? '.' : dirname(path);
}

async function isInput(path: string, { file }: Source): Promise<boolean> {
  return isSameFile(await stat(path).catch(() => undefined), file);
}

async function refuseSamePlace(one: string, other: string, advice: string): Promise<void> {
  if (one === '-' || !(await isSamePlace(one, other))) return;
  throw new BrandfillError('INVALID_SETTING', `Cannot write both outputs to ${one}: ${advice}.`);
}

/** Whether two paths lead to one file, through links of the folder or of the file itself. */
async function isSamePlace(one: string, other: string): Promise<boolean> {
  const places = await Promise.all([one, other].map(placeOf));
  const found = await stat(one).catch(() => undefined);
  const isDevice = found !== undefined && !found.isFile(); // both may go to /dev/null
  return places[0] === places[1] && !isDevice;
}

/** The place that a path leads to, also through links, whether or not there is a file. */
export async function placeOf(path: string): Promise<string> {
  const folder = await realpath(dirname(path)).catch(() => resolve(dirname(path)));
  const place = join(folder, basename(path));
  return await realpath(path).catch(async ({ code }: NodeJS.ErrnoException) => {
    const target = code === 'ENOENT' ? await readlink(place).catch(() => undefined) : undefined;
    // `/dev/stdout` and `>(…)` link to `pipe:[17]`, which is not an existing path but can be
    // opened.
    if (target === undefined || (await isThere(place))) return place;
    return await placeOf(resolve(folder, target));
  });
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** The names of the sheets that Brandfill writes. */
export interface SheetNames {
  readonly list: string;
  readonly failures: string;
  readonly changes: string;
}

const MOST_CHARACTERS = 31;

/**
 * Names the sheets of the tables in a workbook. The list's own sheet keeps its name, and others get
 * a name that is free there.
 *
 * @param input the name of the list
 */
export function nameSheets(input: string, { workbook }: RowFormat): SheetNames {
  const list = workbook?.sheet.name ?? sheetNameOf(input);
  const taken = new Set((workbook?.parts.names ?? [list]).map((name) => name.toLowerCase()));
  const failures = untakenName('failures', (name) => taken.has(name.toLowerCase()));
  return { list, failures, changes: 'changes' };
}

/** The name of a file, as far as it is valid for a sheet. */
function sheetNameOf(input: string): string {
  const { stem } = splitExtension(basename(input));
  const name = stem
    .replaceAll(/[[\]:*?/\\\p{Cc}]/gu, ' ')
    .slice(0, MOST_CHARACTERS)
    .replaceAll(/^[\s']+|[\s']+$/g, '');
  // This sheet name is reserved.
  return name === '' || name.toLowerCase() === 'history' ? 'list' : name;
}

/**
 * Makes sure that the rows of a list fit into the workbooks that are to be written.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function refuseLongSheets(
  { out, failures }: OutputPaths,
  format: RowFormat,
  rows: number,
): void {
  if (rows < MOST_ROWS || format.kind === 'xlsx') return;
  const path = [out, failures].find(
    (path) => path !== undefined && kindOfOutput(path, format) === 'xlsx',
  );
  if (path === undefined) return;
  const most = (MOST_ROWS - 1).toLocaleString('en-US');
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot write ${path}: a sheet holds ${most} rows below its header, and the list has ${rows.toLocaleString('en-US')}; write CSV, or cut the list.`,
  );
}

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
function extensionBeside(own: string, { kind, extension }: RowFormat): string {
  const bare = own.toLowerCase().replace(/\.gz$/, '');
  const isOther = OTHER_WORKBOOKS.has(bare) || OTHER_TABLES.has(bare) || OTHER_PACKING.has(bare);
  const named = KINDS[bare] ?? (kind === 'xlsx' || isOther ? undefined : kind);
  return own !== '' && named === kind ? own : extension;
}

/**
 * Makes sure that the name of an output does not stand for a format or a compression that is not
 * supported.
 *
 * @param kind the format of the rows
 * @throws BrandfillError `INVALID_SETTING`
 */
function refuseUnknownFormat(path: string, kind: RowKind): void {
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
function refuseOtherFormat(
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
