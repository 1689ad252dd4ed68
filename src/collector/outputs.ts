import type { Extent, RowFormat } from '../rows/row-format.ts';
import type { JoinedRow } from './join.ts';
import type { OutputColumn, OutputColumns } from './output-columns.ts';
import { createOutputStream, type OutputFile, openOutputFile } from './output-file.ts';
import type { OutputPaths } from './output-paths.ts';

/** The two files of a run. */
export interface Outputs {
  /** Writes all rows and puts both files in their places. */
  write(rows: AsyncIterable<readonly JoinedRow[]>, layout: OutputLayout): Promise<void>;
  /** Leaves both places as they were, unless all was written. */
  close(): Promise<void>;
}

export interface OutputLayout {
  readonly format: RowFormat;
  readonly extent: Extent;
  readonly columns: OutputColumns;
}

/**
 * Opens both files before any call is made, so that a folder that cannot be written costs nothing.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openOutputs(paths: OutputPaths): Promise<Outputs> {
  const out =
    paths.out === '-'
      ? createOutputStream('standard output', process.stdout)
      : await openOutputFile(paths.out);
  let failures: OutputFile;
  try {
    failures = await openOutputFile(paths.failures);
  } catch (error) {
    await out.discard();
    throw error;
  }
  return {
    write: async (rows, { format, extent, columns }) => {
      const outWriter = createTableWriter(out, columns.out, { format, extent });
      const failuresWriter = createTableWriter(failures, columns.failures, { format, extent });
      await outWriter.begin();
      await failuresWriter.begin();
      for await (const batch of rows) {
        await outWriter.append(batch);
        await failuresWriter.append(batch.filter((row) => row.status !== 'found'));
      }
      await Promise.all([failures.finish(), out.finish()]);
      await failures.commit();
      await out.commit();
    },
    close: async () => {
      await out.discard();
      await failures.discard();
    },
  };
}

interface TableWriter {
  begin(): Promise<void>;
  append(rows: readonly JoinedRow[]): Promise<void>;
}

function createTableWriter(
  file: OutputFile,
  columns: readonly OutputColumn[],
  { format, extent }: { readonly format: RowFormat; readonly extent: Extent },
): TableWriter {
  const writer = format.createWriter(
    columns.map(({ name }) => name),
    extent,
  );
  const toText = (row: JoinedRow): string =>
    writer.row(
      row.raw,
      row.fields,
      columns.map((column) => column.valueOf(row)),
    );
  return {
    begin: () => file.write(writer.header),
    append: async (rows) => {
      if (rows.length > 0) await file.write(rows.map(toText).join(''));
    },
  };
}
