import { isUtf8 } from 'node:buffer';
import { BrandfillError } from '../errors.ts';

const LINE_FEED = 0x0a;

/**
 * Passes bytes on unchanged and makes sure that they are UTF-8, whatever way they are cut.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line of the first byte that is not.
 */
export async function* checkUtf8(
  chunks: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer> {
  let line = 1;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const whole = bytes.subarray(0, bytes.length - unfinishedBytes(bytes));
    if (!isUtf8(whole)) throw notUtf8(name, line, whole);
    line += countLines(whole);
    rest = Buffer.from(bytes.subarray(whole.length));
    yield chunk;
  }
  if (rest.length > 0) throw notUtf8(name, line, rest);
}

/**
 * Refuses encodings that announce themselves at the start of a file. The byte order mark of UTF-8
 * is fine.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the encoding.
 */
export function refuseOtherEncodings(start: Buffer, name: string): void {
  const other = findOtherEncoding(start);
  if (other) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      `Cannot read ${name}: it is in ${other}, expected UTF-8; save it as 'CSV UTF-8' and try again.`,
    );
  }
}

/**
 * Refuses a beginning that is not UTF-8, so that nothing is guessed from what cannot be read.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` that names the line.
 */
export function refuseInvalidUtf8(start: Buffer, name: string): void {
  const whole = start.subarray(0, start.length - unfinishedBytes(start));
  if (!isUtf8(whole)) throw notUtf8(name, 1, whole);
}

/** How many bytes of a UTF-8 byte order mark a file starts with: 3 or 0. */
export function byteOrderMarkBytes(start: Buffer): number {
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0;
}

function findOtherEncoding(start: Buffer): string | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'UTF-16 (little-endian)';
  if (start[0] === 0xfe && start[1] === 0xff) return 'UTF-16 (big-endian)';
  // Without a mark, text in Latin letters has every other byte zero.
  const head = start.subarray(0, 64);
  const zeros = [0, 0];
  head.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  });
  const many = head.length / 4;
  if (head.length >= 4 && (zeros[1] ?? 0) >= many) return 'UTF-16 (little-endian)';
  if (head.length >= 4 && (zeros[0] ?? 0) >= many) return 'UTF-16 (big-endian)';
  return undefined;
}

/** How many bytes at the end begin a character that the next chunk has to finish. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
  }
  return 0;
}

function notUtf8(name: string, firstLine: number, bytes: Buffer): BrandfillError {
  // Cut at lines until the first bad one is found; this happens once, at the end of a run.
  let start = 0;
  let line = firstLine;
  for (;;) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) break;
    start = end + 1;
    line += 1;
  }
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${name}: its bytes are not UTF-8 (it may be Windows-1252 or Latin-1); save the file as 'CSV UTF-8' and try again.`,
  );
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1))
    lines += 1;
  return lines;
}
