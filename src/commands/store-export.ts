import { once } from 'node:events';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { EXIT, systemErrorCode, unwritableStandardOutput } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { EXPORT_OPTIONS, type StoreOptionNaming } from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { checkOptions, libraryNaming } from '../options/read-options.ts';
import { formatOutcomeLine } from '../store/outcome-line.ts';
import { readEntries } from '../store/upkeep.ts';
import { type RunCommand, say, untilInterrupted } from './command.ts';
import { withOpenedStore } from './opened-store.ts';

/** Which outcomes to export. */
export interface ExportOptions extends Omit<OptionsOf<typeof EXPORT_OPTIONS>, 'out'> {}

/**
 * Passes on the outcomes of a store, each as a line of JSON without a line end. A failure that is
 * newer than the answer of its domain is passed on too.
 *
 * @param write called for each batch of lines, and awaited
 * @returns the number of outcomes
 */
export async function exportStore(
  options: ExportOptions,
  write: (lines: readonly string[]) => Promise<void>,
  naming: StoreOptionNaming = libraryNaming,
): Promise<number> {
  const { out: _, ...declared } = EXPORT_OPTIONS;
  checkOptions(options, { of: 'exportStore', declared, others: {}, describe: naming });
  const task = { options, declared: EXPORT_OPTIONS, naming, isToRead: true };
  return await withOpenedStore(task, async ({ tables, settings: { status }, endpointId }) => {
    let count = 0;
    for (const entries of readEntries(tables, { endpointId, status })) {
      const lines = entries.flatMap(({ endpointId: id, read }) => {
        const outcome = read();
        return outcome ? [formatOutcomeLine(id, outcome)] : [];
      });
      count += lines.length;
      if (lines.length > 0) await write(lines);
    }
    return count;
  });
}

/** `brandfill store export` */
export const runExport: RunCommand = async ({ options: { out, ...options }, context }) =>
  await untilInterrupted(context.endAtOnce, async (signal) => {
    // Nothing is lost by ending at once. The partial file is removed when the process exits, which a
    // signal by itself would skip.
    signal.addEventListener('abort', () => context.endAtOnce(EXIT.interrupted));
    const output = await openExportOutput(out as string | undefined);
    try {
      const write = (lines: readonly string[]) => output.write(`${lines.join('\n')}\n`);
      const outcomes = await exportStore(options, write, flagOf);
      await output.finish();
      await output.commit();
      say(
        output.isCut()
          ? `Not all of ${countOf(outcomes, 'outcome')} exported: whoever read standard output closed it before the end.`
          : `${countOf(outcomes, 'outcome')} exported.`,
      );
      return EXIT.ok;
    } finally {
      await output.discard();
    }
  });

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

interface ExportOutput extends OutputFile {
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
