import type { IndexedRow, RowIndex } from '../producer/row-index.ts';
import type { Source } from '../rows/source.ts';

export interface CutRowsOptions {
  readonly source: Pick<Source, 'read' | 'assertUnchanged'>;
  /** How many bytes of the source precede the first row. */
  readonly headBytes: number;
  readonly index: Pick<RowIndex, 'read'>;
}

/**
 * Rows may be of any length, and so may what is made of them. So much is held at a time, or a single
 * row.
 */
const BATCH_BYTES = 2 * 1024 * 1024;

/**
 * Reads a list again and cuts it into rows, as its index says.
 *
 * @param make makes an item of the batches from each entry of the index and its text; `undefined`
 *   is left out. It calls `grow` with the bytes that the item holds besides its row.
 * @throws BrandfillError `UNREADABLE_INPUT` at the end, when the list was changed in the meantime
 */
export async function* cutRows<T>(
  { source, headBytes, index }: CutRowsOptions,
  make: (row: IndexedRow, raw: string, grow: (sizeBytes: number) => void) => T | undefined,
): AsyncGenerator<readonly T[]> {
  const cutter = createCutter(source.read());
  let sizeBytes = 0;
  const grow = (moreBytes: number): void => {
    sizeBytes += moreBytes;
  };
  try {
    await cutter.take(headBytes);
    for await (const rows of index.read()) {
      let made: T[] = [];
      sizeBytes = 0;
      for (const row of rows) {
        const isThere = row.kind !== 'written';
        const taken = isThere ? cutter.take(row.sizeBytes) : '';
        // Nearly all rows are buffered already, and need no turn of the event loop.
        const item = make(row, typeof taken === 'string' ? taken : await taken, grow);
        if (item !== undefined) made.push(item);
        if (isThere) sizeBytes += row.sizeBytes;
        if (sizeBytes < BATCH_BYTES) continue;
        yield made;
        made = [];
        sizeBytes = 0;
      }
      yield made;
    }
  } finally {
    await cutter.close();
  }
  await source.assertUnchanged();
}

/** Cuts a stream of bytes into pieces of known lengths. */
interface Cutter {
  /** The next `sizeBytes` bytes as text. There are fewer only at the end of the stream. */
  take(sizeBytes: number): Promise<string> | string;
  /** Ends the reading of the stream. */
  close(): Promise<void>;
}

export function createCutter(chunks: AsyncIterable<Buffer>): Cutter {
  const iterator = chunks[Symbol.asyncIterator]();
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;

  async function takeAcross(sizeBytes: number): Promise<string> {
    const parts = [bytes.subarray(at)];
    let missing = sizeBytes - (bytes.length - at);
    bytes = Buffer.alloc(0);
    at = 0;
    while (missing > 0) {
      const next = await iterator.next();
      if (next.done) break;
      bytes = next.value;
      at = Math.min(missing, bytes.length);
      parts.push(bytes.subarray(0, at));
      missing -= at;
    }
    return Buffer.concat(parts).toString('utf8');
  }

  return {
    take: (sizeBytes) => {
      const end = at + sizeBytes;
      if (end > bytes.length) return takeAcross(sizeBytes);
      const text = bytes.toString('utf8', at, end);
      at = end;
      return text;
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}
