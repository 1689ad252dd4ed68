import type { Extent, RowFormat, TableOutput } from '../../rows/row-format.ts';
import type { OutputFile } from './output-file.ts';
import { isBinaryOutput } from './output-paths.ts';

/**
 * Begins a table by writing its header, in the format of the file's name.
 *
 * @param added names of the added columns
 */
export async function beginTable(
  { path, file }: { readonly path: string; readonly file: OutputFile },
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

/** Each line by itself: one text that is put together from thousands of pieces takes twice as long. */
function bytesOf(lines: readonly string[]): Buffer {
  let most = 0;
  for (const { length } of lines) most += length;
  const bytes = Buffer.allocUnsafe(most * 3); // a character takes no more
  let end = 0;
  for (const line of lines) end += bytes.write(line, end);
  return bytes.subarray(0, end);
}
