import { once } from 'node:events';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';

/**
 * Opens the output of an export: standard output, or a file as for the rows of a run.
 *
 * @param path undefined or `-` for standard output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as do all methods of the output
 */
export async function openExportOutput(path: string | undefined): Promise<OutputFile> {
  return path === undefined || path === '-' ? STANDARD_OUTPUT : await openOutputFile(path);
}

const STANDARD_OUTPUT: OutputFile = {
  write: async (text) => {
    const { stdout } = process;
    // A reader that has read enough closes the pipe, and there is nothing to wait for.
    if (stdout.destroyed || stdout.write(text)) return;
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
