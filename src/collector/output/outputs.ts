import type { Extent, RowFormat, TableOutput, WrittenRow } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Parts } from '../../store/parts.ts';
import type { Changes } from '../changes.ts';
import { isListed, type OutputRow } from '../joined-row.ts';
import type { OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import { isBinaryOutput, type OutputPaths } from './output-paths.ts';

export interface OpenOutputsOptions {
  /** What the outputs are made from: they are never more open than that. */
  readonly source: Pick<Source, 'file'>;
  /** Knows the parts of killed runs. */
  readonly parts: Parts;
  readonly onNotice: (message: string) => void;
}

export interface OutputLayout {
  readonly format: RowFormat;
  readonly extent: Extent;
  readonly columns: OutputColumns;
  /** Finds the rows of the changes file, if there is one. */
  readonly changes?: Changes | undefined;
}

type OutputName = keyof OutputPaths;

interface OpenOutput {
  readonly name: OutputName;
  readonly path: string;
  readonly file: OutputFile;
  table?: TableOutput;
}

/**
 * Opens all files before any call is made, so that no call is paid for when a folder cannot be
 * written.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openOutputs(
  paths: OutputPaths,
  { source, parts, onNotice }: OpenOutputsOptions,
) {
  const opened: OpenOutput[] = [];
  const close = async (): Promise<void> => {
    for (const { file, table } of opened) {
      table?.close();
      await file.discard();
    }
    await parts.forget().catch(() => {}); // the next run finds them gone
  };
  try {
    for (const name of ['out', 'failures', 'changes'] as const) {
      const path = paths[name];
      if (path === undefined) continue;
      const file =
        path === '-'
          ? createOutputStream('standard output', process.stdout)
          : await openOutputFile(path, source.file ? [source.file] : []);
      opened.push({ name, path, file });
    }
    await parts.note(opened.flatMap(({ file }) => file.part ?? []));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    /** Leaves all places as they were, unless everything was written. */
    close,
    /** Writes all rows and puts all files in their places. */
    write: async (
      rows: AsyncIterable<readonly OutputRow[]>,
      layout: OutputLayout,
    ): Promise<void> => {
      await writeRows(rows, layout, opened);
      const finish = async ({ path, file, table }: OpenOutput): Promise<void> => {
        for (const notice of (await table?.finish()) ?? []) onNotice(`${path}: ${notice}`);
        await file.finish();
      };
      await Promise.all(opened.map(finish));
      for (const { file } of opened.toReversed()) await file.commit(); // all rows come last
      // Then only, so that changes that were not published are reported again.
      await layout.changes?.commit();
    },
  };
}

async function writeRows(
  rows: AsyncIterable<readonly OutputRow[]>,
  { format, extent, columns, changes }: OutputLayout,
  outputs: readonly OpenOutput[],
): Promise<void> {
  const [all, failures] = [columns.out, columns.failures].map((some) =>
    some.map(({ name }) => name),
  ) as [string[], string[]];
  const added = { out: all, failures, changes: [...all, ...columns.changes] };
  for (const output of outputs) {
    output.table = await beginTable(output, format, added[output.name], extent);
  }
  const nothing = columns.out.map(() => undefined);
  for await (const batch of rows) {
    const made: Record<OutputName, WrittenRow[]> = { out: [], failures: [], changes: [] };
    for (const row of batch) {
      const { raw, fields } = row;
      if (!isListed(row)) {
        made.out.push({ raw, fields, cells: nothing });
        changes?.keep(row);
        continue;
      }
      const cells = columns.out.map((column) => column.valueOf(row));
      made.out.push({ raw, fields, cells });
      if (row.status !== 'found') {
        const reasons = columns.failures.map((column) => column.valueOf(row));
        made.failures.push({ raw, fields, cells: reasons });
      }
      const change = changes?.find(row);
      if (change)
        made.changes.push({ raw, fields, cells: [...cells, change.kind, change.columns] });
    }
    for (const { name, table } of outputs) await table?.append(made[name]);
  }
}

/** Begins a table by writing its header, in the format of the file's name. */
async function beginTable(
  { path, file }: OpenOutput,
  format: RowFormat,
  added: readonly string[],
  extent: Extent,
): Promise<TableOutput> {
  if (format.binary && isBinaryOutput(path, format)) {
    return format.binary.begin(added, (bytes) => file.write(bytes));
  }
  const writer = format.createWriter(added, extent);
  await file.write(writer.header);
  return {
    append: async (rows) => {
      const lines = rows.map(({ raw, fields, cells }) => writer.row(raw, fields, cells));
      if (lines.length > 0) await file.write(bytesOf(lines));
    },
    finish: async () => [],
    close: () => {},
  };
}

/**
 * Each line by itself: one text that is put together from thousands of pieces takes twice as long.
 */
function bytesOf(lines: readonly string[]): Buffer {
  let most = 0;
  for (const { length } of lines) most += length;
  const bytes = Buffer.allocUnsafe(most * 3); // a character takes no more
  let end = 0;
  for (const line of lines) end += bytes.write(line, end);
  return bytes.subarray(0, end);
}
