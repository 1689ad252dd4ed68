import { type Encoding, UTF_8, UTF_16_BE, UTF_16_LE, UTF_32_BE, UTF_32_LE } from './encodings.ts';

/** A byte order mark: its encoding and its length. */
export interface Mark {
  readonly encoding: Encoding;
  readonly sizeBytes: number;
}

const MARKS: readonly (readonly [bytes: readonly number[], encoding: Encoding])[] = [
  [[0xef, 0xbb, 0xbf], UTF_8],
  // Begins like the mark of UTF-16, so it comes first.
  [[0xff, 0xfe, 0, 0], UTF_32_LE],
  [[0, 0, 0xfe, 0xff], UTF_32_BE],
  [[0xff, 0xfe], UTF_16_LE],
  [[0xfe, 0xff], UTF_16_BE],
];

/** Finds the byte order mark that a file begins with. A file that was saved twice may have more. */
export function findMark(start: Buffer): Mark | undefined {
  const begins = (bytes: readonly number[], from: number): boolean =>
    bytes.every((byte, at) => start[from + at] === byte);
  const found = MARKS.find(([bytes]) => begins(bytes, 0));
  if (!found) return undefined;
  const [bytes, encoding] = found;
  let sizeBytes = bytes.length;
  while (begins(bytes, sizeBytes)) sizeBytes += bytes.length;
  return { encoding, sizeBytes };
}
