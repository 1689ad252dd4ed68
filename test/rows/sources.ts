import type { DomainColumn } from '../../src/rows/columns/domain-column.ts';
import type { CsvDialect } from '../../src/rows/csv/csv-dialect.ts';
import type { RowFormat, RowWriter, ScannedRow } from '../../src/rows/row-format.ts';
import type { Source } from '../../src/rows/source.ts';

/** A list in memory that is read in pieces of a given size. */
export function sourceOf(
  content: string | Buffer,
  { name = 'list.csv', chunkBytes = 7, isWholeInSample = true } = {},
): Source {
  const bytes = Buffer.from(content);
  return {
    name,
    isGzip: false,
    hasByteOrderMark: false,
    encoding: 'UTF-8',
    encodingExample: undefined,
    sample: bytes,
    isWholeInSample,
    file: undefined,
    read: () => piecesOf(bytes, chunkBytes),
    assertUnchanged: async () => {},
    close: async () => {},
  };
}

/** Bytes, cut into pieces. */
export async function* piecesOf(bytes: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    yield bytes.subarray(at, at + chunkBytes);
  }
}

/** A row with its own text, as its bytes are gone with its batch. */
export interface RowInTest extends Omit<ScannedRow, 'bytes' | 'start'> {
  readonly raw: string;
}

/** All rows of a list, with the cells of the column of a name. */
export async function scanAll(
  format: RowFormat,
  source: Source,
  name: string,
): Promise<RowInTest[]> {
  const rows: RowInTest[] = [];
  const column: DomainColumn = {
    index: format.columns.indexOf(name),
    name,
    by: 'option',
    example: undefined,
  };
  for await (const batch of format.scan(source, column)) {
    for (const { bytes, start, ...row } of batch) {
      const { sizeBytes } = row;
      rows.push({ ...row, raw: bytes.toString('utf8', start, start + sizeBytes) });
    }
  }
  return rows;
}

/** What a writer writes for a row in bytes; undefined where it refuses. */
export function writeInBytes(
  { inBytes }: RowWriter,
  { raw, fields }: Pick<RowInTest, 'raw' | 'fields'>,
  added: readonly unknown[],
): string | undefined {
  if (!inBytes) throw new TypeError('this writer has no bytes');
  const bytes = Buffer.from(`before${raw}behind`);
  const sizeBytes = Buffer.byteLength(raw);
  const cells = Buffer.from(` ${inBytes.cellsOf(added)} `);
  const target = Buffer.alloc(sizeBytes + cells.length + inBytes.spareBytes);
  const ready = { bytes: cells, start: 1, end: cells.length - 1 };
  const end = inBytes.write({ bytes, start: 6, sizeBytes, fields }, ready, target, 2);
  return end === -1 ? undefined : target.toString('utf8', 2, end);
}

/** The usual dialect of CSV, but for what is given. */
export function dialectOf(given: Partial<CsvDialect> = {}): CsvDialect {
  const { lineEnd = '\n' } = given;
  const lineEnds: CsvDialect['lineEnds'] = lineEnd === '\r' ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'];
  return { delimiter: ',', quote: '"', escape: '"', lineEnd, lineEnds, ...given };
}
