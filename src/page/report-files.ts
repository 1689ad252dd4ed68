import { extname } from 'node:path';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { type OutputPaths, placeOf } from '../collector/output/output-paths.ts';
import { BrandfillError } from '../common/errors.ts';
import { redactDeep, withoutSecrets } from '../common/secrets.ts';
import type { Source } from '../rows/source.ts';
import type { RunView } from '../watch/run-view.ts';

/** The files of a report: `run.json` is the picture of the run, `run.html` the page with it inside. */
export interface ReportFiles {
  /**
   * Writes each file and moves it into its place. A file that cannot be written does not keep the
   * others from being written.
   *
   * @param onFailed called with the reason why a file is missing
   * @returns the files that are in their places
   */
  write(view: RunView, onFailed: (error: unknown) => void): Promise<string[]>;
  /** Closes the files. Those that were not written leave their places as they were. */
  close(): Promise<void>;
}

/** Other files of the run, which a report must not replace. */
export interface OtherFiles {
  readonly outputs: OutputPaths;
  readonly source: Pick<Source, 'file' | 'name'>;
  /** All lists that the run reads. A report is never more open than they are. */
  readonly sources: readonly Pick<Source, 'file'>[];
}

/**
 * Opens the files of a report before any call is made, so that a folder that cannot be written costs
 * nothing.
 *
 * @throws BrandfillError `INVALID_SETTING` when one is another file of the run, `UNWRITABLE_OUTPUT`
 */
export async function openReportFiles(
  paths: readonly string[],
  others: OtherFiles | undefined,
): Promise<ReportFiles> {
  await refuseSamePlaces(paths, others);
  const from = others?.sources.flatMap(({ file }) => file ?? []) ?? [];
  const opened: { readonly path: string; readonly file: OutputFile }[] = [];
  const close = async (): Promise<void> => {
    for (const { file } of opened) await file.discard();
  };
  try {
    for (const path of paths) opened.push({ path, file: await openOutputFile(path, from) });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    write: async (view, onFailed) => {
      const written: string[] = [];
      for (const { path, file } of opened) {
        try {
          await file.write(await textOf(redactDeep(view, withoutSecrets), path));
          await file.finish();
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

async function textOf(view: RunView, path: string): Promise<string> {
  if (extname(path).toLowerCase() === '.json') return `${JSON.stringify(view, null, 2)}\n`;
  const { readAssets, reportPage } = await import('./assets.ts');
  return await reportPage(view, await readAssets());
}

async function refuseSamePlaces(
  paths: readonly string[],
  others: OtherFiles | undefined,
): Promise<void> {
  const taken = new Map<string, string>();
  const { outputs, source } = others ?? {};
  const known: readonly (readonly [string | undefined, string])[] = [
    [source?.file ? source.name : undefined, 'the input'],
    [outputs?.out, 'where the rows go'],
    [outputs?.failures, 'where the failures go'],
    [outputs?.changes, 'where the changes go'],
  ];
  for (const [path, what] of known) {
    if (path !== undefined && path !== '-') taken.set(await placeOf(path), what);
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
