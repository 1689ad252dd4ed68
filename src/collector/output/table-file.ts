import { createCellsWriter } from '../../rows/csv/csv-writer.ts';
import type { Extent, RowFormat, RowWriter, TableOutput } from '../../rows/row-format.ts';
import type { OutputFile } from './output-file.ts';
import { kindOfOutput } from './output-paths.ts';

/** A table to be written. */
export interface TableOptions {
  readonly format: RowFormat;
  readonly extent: Extent;
  /** Names of the added columns. */
  readonly added: readonly string[];
}

/** Begins a table by writing its header, in the format of the file's name. */
export async function beginTable(
  { path, file }: { readonly path: string; readonly file: OutputFile },
  options: TableOptions,
): Promise<TableOutput> {
  const { format, added } = options;
  const kind = kindOfOutput(path, format);
  if (kind === 'xlsx' && format.workbook) {
    return format.workbook.beginOutput(added, (bytes) => file.write(bytes));
  }
  const writer =
    kind === format.kind ? format.createWriter(added, options.extent) : ofWorkbook(options);
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

/** Each line by itself: one text that is put together from thousands of pieces takes twice as long. */
function bytesOf(lines: readonly string[]): Buffer {
  let most = 0;
  for (const { length } of lines) most += length;
  const bytes = Buffer.allocUnsafe(most * 3); // a character takes no more
  let end = 0;
  for (const line of lines) end += bytes.write(line, end);
  return bytes.subarray(0, end);
}

/** Writes the rows of a workbook as CSV, its cells anew. */
function ofWorkbook({ format, extent, added }: TableOptions): RowWriter {
  const width = Math.max(format.columns.length, extent.maxFields);
  const write = createCellsWriter(',');
  const line = (own: readonly string[], values: readonly unknown[]): string => {
    const cells = Array.from({ length: width }, (_, at) => own[at]);
    // The list's own cells are never changed, whatever they begin with.
    return `${write(cells, true)},${write(values, extent.keepsFormulas)}\n`;
  };
  return {
    // Excel takes text without a mark for something else.
    header: `\uFEFF${line(format.columns, added)}`,
    row: (raw, _fields, values) => line(format.textsOf?.(raw) ?? [], values),
  };
}
