/** Cuts a stream of bytes into pieces of known lengths. */
export interface Cutter {
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
