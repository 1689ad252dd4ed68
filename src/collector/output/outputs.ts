import type { Extent, RowFormat, TableOutput, WrittenRow } from '../../rows/row-format.ts';
import type { Source } from '../../rows/source.ts';
import type { Parts } from '../../store/parts.ts';
import type { Changes } from '../changes.ts';
import { isListed, type OutputRow } from '../joined-row.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import type { OutputPaths } from './output-paths.ts';
import { beginTable } from './table-file.ts';

/** The files of a run. */
export interface Outputs {
  /** Writes all rows and puts all files in their places. */
  write(rows: AsyncIterable<readonly OutputRow[]>, layout: OutputLayout): Promise<void>;
  /** Leaves all places as they were, unless everything was written. */
  close(): Promise<void>;
}

export interface OpenOutputsOptions {
  /** What the outputs are made from: they are never more open than that. */
  readonly sources: readonly Pick<Source, 'file'>[];
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

/**
 * Opens all files before any call is made, so that no call is paid for when a folder cannot be
 * written.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openOutputs(
  paths: OutputPaths,
  { sources, parts, onNotice }: OpenOutputsOptions,
): Promise<Outputs> {
  const from = sources.flatMap(({ file }) => file ?? []);
  const opened: OpenOutput[] = [];
  const close = async (): Promise<void> => {
    for (const { file, table } of opened) {
      table?.close();
      await file.discard();
    }
    await parts.forget().catch(() => {}); // the next run finds them gone
  };
  const open = async (path: string): Promise<OpenOutput> => {
    const file =
      path === '-'
        ? createOutputStream('standard output', process.stdout)
        : await openOutputFile(path, from);
    const output = { path, file, onNotice };
    opened.push(output);
    return output;
  };
  try {
    const out = await open(paths.out);
    const failures = await open(paths.failures);
    const changed = paths.changes === undefined ? undefined : await open(paths.changes);
    await parts.note(opened.flatMap(({ file }) => file.part ?? []));
    return {
      write: (rows, layout) => write(rows, layout, { out, failures, changed }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenOutput {
  readonly path: string;
  readonly file: OutputFile;
  readonly onNotice: (message: string) => void;
  table?: TableOutput;
}

interface OpenOutputs {
  readonly out: OpenOutput;
  readonly failures: OpenOutput;
  readonly changed: OpenOutput | undefined;
}

async function write(
  rows: AsyncIterable<readonly OutputRow[]>,
  { format, extent, columns, changes }: OutputLayout,
  { out, failures, changed }: OpenOutputs,
): Promise<void> {
  const begin = async (
    output: OpenOutput,
    own: readonly OutputColumn[],
    further: readonly string[] = [],
  ): Promise<TableOutput> => {
    const added = [...own.map(({ name }) => name), ...further];
    const table = await beginTable(output, format, added, extent);
    output.table = table;
    return table;
  };
  const outTable = await begin(out, columns.out);
  const failuresTable = await begin(failures, columns.failures);
  const changesTable = changed && (await begin(changed, columns.out, columns.changes));
  const nothing = columns.out.map(() => undefined);
  for await (const batch of rows) {
    const all: WrittenRow[] = [];
    const failed: WrittenRow[] = [];
    const reported: WrittenRow[] = [];
    for (const row of batch) {
      const { raw, fields } = row;
      if (!isListed(row)) {
        all.push({ raw, fields, cells: nothing });
        changes?.keep(row);
        continue;
      }
      const cells = columns.out.map((column) => column.valueOf(row));
      all.push({ raw, fields, cells });
      if (row.status !== 'found') {
        const reasons = columns.failures.map((column) => column.valueOf(row));
        failed.push({ raw, fields, cells: reasons });
      }
      const change = changes?.find(row);
      if (change) reported.push({ raw, fields, cells: [...cells, change.kind, change.columns] });
    }
    await outTable.append(all);
    await failuresTable.append(failed);
    await changesTable?.append(reported);
  }
  await Promise.all([failures, out, ...(changed ? [changed] : [])].map(finish));
  await failures.file.commit();
  await changed?.file.commit();
  await out.file.commit();
  // Last, so that changes that were not published are reported again.
  await changes?.commit();
}

async function finish({ path, file, table, onNotice }: OpenOutput): Promise<void> {
  for (const notice of (await table?.finish()) ?? []) onNotice(`${path}: ${notice}`);
  await file.finish();
}
