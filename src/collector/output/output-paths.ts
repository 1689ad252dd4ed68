import { readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { BrandfillError } from '../../common/errors.ts';
import { isPiped, isSameFile } from '../../common/files.ts';
import type { ListInput } from '../../rows/list-input.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RowFormat, RowKind } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';

/** The output paths of a run. `out` may be `-` for standard output. */
export interface OutputPaths {
  readonly out: string;
  readonly failures: string;
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
 * their failures to `stdin.failures.<ext>` in the current folder. The failures of an output that has
 * another name are beside it. Those of a workbook are CSV.
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
  const ofFailures = outKind === 'xlsx' ? '.csv' : ofText;
  const paths = {
    out,
    failures: options.failures ?? `${await stemOfFailures(stem, out)}.failures${ofFailures}`,
    changes: options.changes,
  };
  const { failures, changes } = paths;
  await refuseSamePlace(out, failures, 'choose another --out or --failures');
  if (changes !== undefined) {
    await refuseSamePlace(out, changes, 'choose another --out or --changes');
    await refuseSamePlace(failures, changes, 'choose another --failures or --changes');
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
  if (outKind === 'xlsx') await format.workbook?.assertRewritable();
  return paths;
}

/** Failures are beside the output, so that another output does not replace those of the first. */
async function stemOfFailures(ofList: string, out: string): Promise<string> {
  if (out === '-') return ofList;
  const there = await stat(out).catch(() => undefined);
  if (there && !there.isFile()) return ofList; // such as /dev/null
  return splitExtension(out).stem.replace(/(?<=[^/\\])\.enriched$/, '');
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
/** Names that stand for formats and compressions that nothing is written in. */
const OTHERS: ReadonlySet<string> = new Set(
  '.xls .xlsb .ods .numbers .parquet .html .xml .yaml .pdf .zip .bz2 .xz .zst'.split(' '),
);

/**
 * The format in which rows are written: the one that the name of the output stands for, else their
 * own.
 */
export function kindOfOutput(path: string, { kind }: Pick<RowFormat, 'kind'>): RowKind {
  return path === '-' ? kind : (KINDS[extensionOf(path)] ?? kind);
}

/** The delimiter of CSV that is made from a workbook. */
export function delimiterOfOutput(path: string): string {
  return extensionOf(path).startsWith('.t') ? '\t' : ',';
}

/**
 * The extension of outputs beside a list: the list's own, unless it stands for another format than
 * its rows are in, as with text that is called `.xls`.
 */
function extensionBeside(own: string, { kind, extension }: RowFormat): string {
  const bare = own.toLowerCase().replace(/\.gz$/, '');
  const named = KINDS[bare] ?? (kind === 'xlsx' || OTHERS.has(bare) ? undefined : kind);
  return own !== '' && named === kind ? own : extension;
}

/**
 * Makes sure that an output can be written in the format of its name. Only workbooks are converted.
 *
 * @param isWhole whether it gets all rows. A workbook is then written as it was read.
 * @throws BrandfillError `INVALID_SETTING`
 */
function refuseOtherFormat(
  path: string,
  format: RowFormat,
  { input, isWhole }: { readonly input: string; readonly isWhole: boolean },
): void {
  const { kind } = format;
  const extension = extensionOf(path);
  const wanted = OTHERS.has(extension) ? undefined : kindOfOutput(path, format);
  let why: string | undefined;
  if (kind !== 'xlsx') {
    if (wanted !== kind) {
      why = `the rows are ${kind.toUpperCase()} like the input; give the output a name that ends in .${kind}`;
    }
  } else if (!isWhole) {
    if (wanted === undefined || wanted === 'xlsx') {
      why = 'only the output with all rows is a workbook; give this one a name that ends in .csv';
    }
  } else if (wanted === undefined || wanted === 'xlsx') {
    // Programs refuse a workbook whose extension promises macros that are missing, or hides macros.
    const own = extensionBeside(extensionOf(input), format);
    if (splitExtension(path).extension.toLowerCase() !== own) {
      why = `give the output of a workbook a name that ends in ${own}, or in .csv or .jsonl`;
    }
  }
  if (why === undefined) return;
  throw new BrandfillError('INVALID_SETTING', `Cannot write ${path}: ${why}.`);
}

function extensionOf(path: string): string {
  return splitExtension(path).extension.toLowerCase().replace(/\.gz$/, '');
}
