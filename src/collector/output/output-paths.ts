import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { refusal } from '../../common/errors.ts';
import { followOwnLinks, isPiped, isSameFile } from '../../common/files.ts';
import { isEndingOf, type ListFormat, standsForFormat } from '../../rows/list-formats.ts';
import type { ListInput } from '../../rows/open-list.ts';
import { type RowFormat, splitExtension } from '../../rows/row-format.ts';
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
  /** Set for a sample, whose outputs have names of their own. */
  readonly sample?: number | undefined;
  readonly report?: readonly string[] | undefined;
  readonly source: Source;
  readonly format: RowFormat;
}

/**
 * Names the outputs, beside the input by default. Rows of standard input go to standard output, and
 * their failures to `stdin.failures.<ext>` in the current folder. The failures of an output that
 * has another name are beside it. Those of a workbook are CSV.
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
  const ofFailures = failuresEnding(ending, format.notation);
  const isSample = options.sample !== undefined;
  const usual = isSample ? `${stem}.sample${ofFailures}` : `${stem}.enriched${ending}`;
  const own = async (path: string | undefined): Promise<string | undefined> =>
    isSample && path !== undefined ? await pathOfSample(path, format) : path;
  const out = (await own(options.out)) ?? (isPiped(input) ? '-' : usual);
  const paths = {
    out,
    failures:
      (await own(options.failures)) ?? `${await stemOfFailures(stem, out)}.failures${ofFailures}`,
    changes: options.changes,
  };
  const outputs: readonly (readonly [key: string, path: string | undefined])[] = [
    ['out', out],
    ['failures', paths.failures],
    ['changes', paths.changes],
    ...(options.report ?? []).map((path) => ['report', path] as const),
  ];
  const taken = new Map<string, string>();
  for (const [key, path] of outputs) {
    if (path === '-' || path === undefined) continue;
    if (await isInput(path, source)) {
      throw refusal(`Cannot write ${path}: it is the input itself; choose another output.`);
    }
    const place = await followOwnLinks(path).catch(() => path); // refused when it is opened
    const other = taken.get(place);
    if (other !== undefined && !(await isDevice(path))) {
      const advice =
        other === key ? `another option '${key}'` : `another option '${other}' or option '${key}'`;
      throw refusal(`Cannot write both outputs to ${path}: choose ${advice}.`);
    }
    taken.set(place, key);
    if (key !== 'report') refuseOtherFormat(path, format, path === out ? ending : undefined);
  }
  if (isBinaryOutput(out, format)) await format.binary?.assertRewritable();
  return paths;
}

/**
 * A sample is never written in place of all rows. A workbook that lacks most rows would be none.
 */
async function pathOfSample(path: string, { notation }: RowFormat): Promise<string> {
  if (path === '-' || (await isDevice(path))) return path;
  const { stem, extension } = splitExtension(path);
  return `${stem}.sample${failuresEnding(extension, notation)}`;
}

/** Failures are beside the output, so that another output does not replace those of the first. */
async function stemOfFailures(ofList: string, out: string): Promise<string> {
  if (out === '-') return ofList;
  if (await isDevice(out)) return ofList;
  return splitExtension(out).stem.replace(/(?<=[^/\\])\.enriched$/, '');
}

/** The folder of an output. For standard output, the current folder. */
export function folderOf(path: string): string {
  return path === '-' ? '.' : dirname(path);
}

async function isInput(path: string, { file }: Source): Promise<boolean> {
  return isSameFile(await stat(path).catch(() => undefined), file);
}

/** Such as `/dev/null`, where several may go. */
async function isDevice(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile();
}

/**
 * Whether an output is written as a whole file, and not as text: a workbook, unless it is called
 * CSV.
 */
export function isBinaryOutput(path: string, { notation }: Pick<RowFormat, 'notation'>): boolean {
  return notation.isBinary && !/\.csv(?:\.gz)?$/i.test(path);
}

/** The ending of failures: that of the output, but CSV for those of a workbook. */
export function failuresEnding(ofOutput: string, { isBinary }: ListFormat): string {
  return isBinary ? '.csv' : ofOutput;
}

/**
 * The extension of outputs beside a list: the list's own, unless it stands for another format than
 * its rows are in, as with text that is called `.xls`.
 */
export function extensionBeside(own: string, { notation, extension }: RowFormat): string {
  const isFree = !notation.isBinary && own !== '' && !standsForFormat(own);
  return isFree || isEndingOf(notation, own) ? own : extension;
}

/**
 * Makes sure that an output can be written in the format of its name. Only workbooks are converted.
 *
 * @param ofWorkbook the ending of the one with all rows, which is then written as it was read.
 * Programs refuse a workbook whose name promises macros that are missing, or hides macros.
 * @throws BrandfillError `INVALID_SETTING`
 */
function refuseOtherFormat(
  path: string,
  { notation }: RowFormat,
  ofWorkbook: string | undefined,
): void {
  const { extension } = splitExtension(path);
  let why: string | undefined;
  if (!notation.isBinary) {
    if (isEndingOf(notation, extension) || !standsForFormat(extension)) return;
    why = `the rows are ${notation.names[0]} like the input; give the output a name that ends in ${notation.endings[0]}`;
  } else {
    if (!isBinaryOutput(path, { notation }) || extension.toLowerCase() === ofWorkbook) return;
    why =
      ofWorkbook === undefined
        ? 'only the output with all rows is a workbook; give this one a name that ends in .csv'
        : `give the output of a workbook a name that ends in ${ofWorkbook}, or in .csv`;
  }
  throw refusal(`Cannot write ${path}: ${why}.`);
}
