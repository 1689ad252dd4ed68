import type { DomainColumn } from '../../src/rows/columns/domain-column.ts';
import type { CsvDialect } from '../../src/rows/csv/csv-dialect.ts';
import type { RowFormat, ScannedRow } from '../../src/rows/row-format.ts';
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

/** All rows of a list, with the cells of the column of a name. */
export async function scanAll(
  format: RowFormat,
  source: Source,
  name: string,
): Promise<ScannedRow[]> {
  const rows: ScannedRow[] = [];
  const column: DomainColumn = {
    index: format.columns.indexOf(name),
    name,
    by: 'option',
    example: undefined,
  };
  for await (const batch of format.scan(source, column)) rows.push(...batch);
  return rows;
}

/** The usual dialect of CSV, but for what is given. */
export function dialectOf(given: Partial<CsvDialect> = {}): CsvDialect {
  const { lineEnd = '\n' } = given;
  const lineEnds: CsvDialect['lineEnds'] = lineEnd === '\r' ? ['\r\n', '\n', '\r'] : ['\r\n', '\n'];
  return { delimiter: ',', quote: '"', escape: '"', lineEnd, lineEnds, ...given };
}
