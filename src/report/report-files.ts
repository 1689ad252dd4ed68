import { extname } from 'node:path';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { lockOutput, type OutputLock } from '../collector/output/output-lock.ts';
import { type OutputPaths, placeOf } from '../collector/output/output-paths.ts';
import { BrandfillError } from '../common/errors.ts';
import type { Source } from '../rows/source.ts';
import { renderReport } from './page.ts';
import type { RunReport } from './run-report.ts';

/** The files of a report, each in the format that its name says. */
export interface ReportFiles {
  /**
   * Writes each file and moves it into its place. A file that cannot be written does not keep the
   * others from being written.
   *
   * @param onFailed called with the reason why a file is missing
   * @returns the files that are in their places
   */
  write(report: RunReport, onFailed: (error: unknown) => void): Promise<readonly string[]>;
  /** Closes the files. Those that were not written leave their places as they were. */
  close(): Promise<void>;
}

/** Other files of the run, which a report must not replace. */
export interface OtherFiles {
  readonly outputs: OutputPaths;
  /** Another file that the run reads. */
  readonly merge?: string | undefined;
  readonly source: Pick<Source, 'file' | 'name'>;
  /** All lists that the run reads. A report is never more open than they are. */
  readonly sources: readonly Pick<Source, 'file'>[];
}

/**
 * Opens the files of a report before any call is made, so that a folder that cannot be written costs
 * nothing.
 *
 * @throws BrandfillError `INVALID_SETTING` when one is another file of the run, `OUTPUT_IN_USE`,
 * `UNWRITABLE_OUTPUT`
 */
export async function openReportFiles(
  paths: readonly string[],
  others: OtherFiles | undefined,
): Promise<ReportFiles> {
  await refuseSamePlaces(paths, others);
  const from = others?.sources.flatMap(({ file }) => file ?? []) ?? [];
  const opened: { readonly path: string; readonly file: OutputFile }[] = [];
  const locks = new Map<string, OutputLock>();
  const close = async (): Promise<void> => {
    try {
      for (const { file } of opened) await file.discard();
    } finally {
      for (const lock of locks.values()) lock.release();
    }
  };
  try {
    for (const path of paths.toSorted()) {
      locks.set(path, await lockOutput(path, { advice: 'choose another --report' }));
    }
    for (const path of paths) opened.push({ path, file: await openOutputFile(path, from) });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    write: async (report, onFailed) => {
      const written: string[] = [];
      for (const { path, file } of opened) {
        try {
          await file.write(textOf(report, path));
          await file.finish();
          locks.get(path)?.assertOurs();
          await file.commit();
          written.push(path);
        } catch (error) {
          onFailed(error);
        }
      }
      return written;
    },
    close,
  };
}

function textOf(report: RunReport, path: string): string {
  const isData = extname(path).toLowerCase() === '.json';
  return isData ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report);
}

async function refuseSamePlaces(
  paths: readonly string[],
  others: OtherFiles | undefined,
): Promise<void> {
  const taken = new Map<string, string>();
  const take = async (path: string | undefined, what: string): Promise<void> => {
    if (path === undefined || path === '-') return;
    taken.set(await placeOf(path), what);
  };
  if (others) {
    const { outputs, merge, source } = others;
    if (source.file) await take(source.name, 'the input');
    await take(merge, 'the earlier output');
    await take(outputs.out, 'where the rows go');
    await take(outputs.failures, 'where the failures go');
    await take(outputs.changes, 'where the changes go');
  }
  for (const path of paths) {
    const place = await placeOf(path);
    const what = taken.get(place);
    if (what !== undefined) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot write the report to ${path}: it is ${what}; choose another --report.`,
      );
    }
    taken.set(place, 'another report');
  }
}
