import { once } from 'node:events';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';

/**
 * Opens the output of an export: standard output, or a file as for the rows of a run.
 *
 * @param path undefined or `-` for standard output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as do all methods of the output
 */
export async function openExportOutput(path: string | undefined): Promise<ExportOutput> {
  if (path === undefined || path === '-') return openStandardOutput();
  return { ...(await openOutputFile(path)), isCut: () => false };
}

export interface ExportOutput extends OutputFile {
  /** Whether its reader, such as `head`, closed it before everything was written. */
  isCut(): boolean;
}

function openStandardOutput(): ExportOutput {
  let isCut = false;
  const noteCut = (error: Error | null | undefined): void => {
    // Standard output itself does not keep its error.
    isCut ||= systemErrorCode(error) === 'EPIPE';
  };
  return {
    isCut: () => isCut,
    write: async (text) => {
      const { stdout } = process;
      // A reader that has read enough closes the pipe, and there is nothing to wait for.
      if (stdout.destroyed || stdout.write(text, noteCut)) return;
      const over = new AbortController();
      const ways = ['drain', 'close'].map((event) => once(stdout, event, { signal: over.signal }));
      await Promise.race(ways).catch(() => {});
      over.abort(); // removes the listener for the other event
    },
    finish: async () => {
      const { stdout } = process;
      const last = await new Promise<Error | null | undefined>((resolve) =>
        stdout.write('', resolve),
      );
      const error = stdout.errored ?? last;
      if (!error || systemErrorCode(error) === 'EPIPE') return;
      throw unwritableStandardOutput(error);
    },
    commit: async () => {},
    discard: async () => {},
  };
}
