import { once } from 'node:events';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';

/**
 * Opens where outcomes are exported to: standard output, or a file as the rows of a run have one.
 *
 * @param path undefined or `-` for standard output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`, as all functions of it
 */
export async function openExportOutput(path: string | undefined): Promise<OutputFile> {
  return path === undefined || path === '-' ? STANDARD_OUTPUT : await openOutputFile(path);
}

const STANDARD_OUTPUT: OutputFile = {
  write: async (text) => {
    const { stdout } = process;
    // Whoever has read enough closes it, and then there is nothing to wait for.
    if (stdout.destroyed || stdout.write(text)) return;
    const over = new AbortController();
    const ways = ['drain', 'close'].map((event) => once(stdout, event, { signal: over.signal }));
    await Promise.race(ways).catch(() => {});
    over.abort(); // the other one would be listened for until the end
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
