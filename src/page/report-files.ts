import { extname } from 'node:path';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import type { FileAccess } from '../common/files.ts';
import type { Closable } from '../common/lifetime.ts';
import { redactDeep, withoutSecrets } from '../common/secrets.ts';
import type { RunView } from '../watch/run-view.ts';

/**
 * The files of a report: `run.json` is the picture of the run, `run.html` the page with it inside.
 */
export class ReportFiles implements Closable {
  readonly #paths: readonly string[];
  readonly #onFailed: (error: unknown) => void;
  #opened: { readonly path: string; readonly file: OutputFile }[] | undefined;

  /** @param onFailed called with the reason why a file is missing */
  constructor(paths: readonly string[], onFailed: (error: unknown) => void) {
    this.#paths = paths;
    this.#onFailed = onFailed;
  }

  /**
   * Opens the files before any call is made, so that a folder that cannot be written costs nothing.
   *
   * @param from the lists that the run reads: a report is never more open than they are
   * @throws BrandfillError `UNWRITABLE_OUTPUT`
   */
  async open(from: readonly FileAccess[]): Promise<void> {
    this.#opened = [];
    for (const path of this.#paths)
      this.#opened.push({ path, file: await openOutputFile(path, from) });
  }

  /**
   * Writes each file and moves it into its place. A file that cannot be written does not keep the
   * others from being written.
   *
   * @returns the files that are in their places
   */
  async write(view: RunView): Promise<string[]> {
    const written: string[] = [];
    const orFailed = (work: () => Promise<void>): Promise<void> => work().catch(this.#onFailed);
    if (!this.#opened) await orFailed(() => this.open([]));
    for (const { path, file } of this.#opened ?? []) {
      await orFailed(async () => {
        await file.write(await textOf(redactDeep(view, withoutSecrets), path));
        await file.finish();
        await file.commit();
        written.push(path);
      });
    }
    return written;
  }

  /** Closes the files. Those that were not written leave their places as they were. */
  async close(): Promise<void> {
    for (const { file } of this.#opened ?? []) await file.discard();
  }
}

async function textOf(view: RunView, path: string): Promise<string> {
  if (extname(path).toLowerCase() === '.json') return `${JSON.stringify(view, null, 2)}\n`;
  const { readAssets, reportPage } = await import('./assets.ts');
  return await reportPage(view, await readAssets());
}
