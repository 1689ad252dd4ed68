import type { DomainColumn } from '../../src/rows/columns/domain-column.ts';
import { openText as openInFormat } from '../../src/rows/open-list.ts';
import type { FormatOptions, RowFormat, ScannedRow } from '../../src/rows/row-format.ts';
import type { Source } from '../../src/rows/source.ts';

/** A list in memory that is read in pieces of a given size. */
export function sourceOf(
  content: string | Buffer,
  { name = 'list.csv', chunkBytes = 7, isWholeInSample = true } = {},
): Source {
  const bytes = Buffer.from(content);
  return {
    name,
    hasByteOrderMark: false,
    encoding: 'UTF-8',
    sample: bytes,
    isWholeInSample,
    file: undefined,
    read: (start = 0) => piecesOf(bytes.subarray(start), chunkBytes),
    assertUnchanged: async () => {},
  };
}

/** Opens a text in its format. */
export function openText(source: Source, options: Partial<FormatOptions> = {}): RowFormat {
  return openInFormat(source, { prefix: 'brand_', ...options });
}

/** Bytes, cut into pieces. */
export async function* piecesOf(bytes: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    yield bytes.subarray(at, at + chunkBytes);
  }
}

/** A row with its own text, cut out of the list where the scan says. */
export interface RowInTest extends ScannedRow {
  readonly raw: string;
}

/** All rows of a list, with the cells of the column of a name. */
export async function scanAll(
  format: RowFormat,
  source: Source,
  name: string,
): Promise<RowInTest[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of source.read()) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  const rows: RowInTest[] = [];
  let at = format.headBytes;
  const index = format.columns.indexOf(name);
  const column: DomainColumn = { index, name, by: 'option', example: undefined, others: [] };
  for await (const batch of format.scan(source, column)) {
    for (const row of batch) {
      rows.push({ ...row, raw: whole.toString('utf8', at, at + row.sizeBytes) });
      at += row.sizeBytes;
    }
  }
  return rows;
}
