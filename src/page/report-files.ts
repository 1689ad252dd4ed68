import { extname } from 'node:path';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import type { FileAccess } from '../common/files.ts';
import { redactDeep, withoutSecrets } from '../common/secrets.ts';
import type { RunView } from '../watch/run-view.ts';

/**
 * The files of a report: `run.json` is the picture of the run, `run.html` the page with it inside.
 */
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

/**
 * Opens the files of a report before any call is made, so that a folder that cannot be written
 * costs nothing.
 *
 * @param from the lists that the run reads: a report is never more open than they are
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openReportFiles(
  paths: readonly string[],
  from: readonly FileAccess[],
): Promise<ReportFiles> {
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
