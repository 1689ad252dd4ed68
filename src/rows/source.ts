import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { BrandfillError } from '../common/errors.ts';
import type { FileAccess, FileIdentity } from '../common/files.ts';

/** The bytes of a list. */
export interface ByteSource {
  /** The name of the list in messages: the path as given, or `standard input`. */
  readonly name: string;
  /**
   * Reads everything, decompressed, in UTF-8 and without byte order mark, checked to be text.
   *
   * @param start where to begin, in bytes. @default 0
   */
  read(start?: number): AsyncIterable<Buffer>;
}

/** A list, which can be read from the start as often as needed. */
export interface Source extends ByteSource {
  /** Whether CSV made from it needs a byte order mark: it had one, or was not UTF-8. */
  readonly hasByteOrderMark: boolean;
  /**
   * The encoding of the list, for people: `UTF-8`, `Windows-1252 (such as 'Müller')` where it was
   * guessed. `read` gives UTF-8 in any case.
   */
  readonly encoding: string;
  /** The beginning, as it is read, to detect what the list is. */
  readonly sample: Buffer;
  /** Whether `sample` is the whole list. */
  readonly isWholeInSample: boolean;
  /** Lines from all over a longer list, some at each place. @default none */
  readonly windows?: readonly string[];
  /**
   * The file, to compare outputs with and to keep them from those who may not read it; undefined
   * for a pipe.
   */
  readonly file: (FileIdentity & FileAccess) | undefined;
  /**
   * Whether rows came as objects: none of them need have any member, and there may be no row.
   * @default false
   */
  readonly isOfObjects?: boolean | undefined;
  /**
   * Makes sure that nobody has written to the file since it was opened.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when somebody has
   */
  assertUnchanged(): Promise<void>;
}

/** Describes a list of text: `CSV, Windows-1252 (such as 'Müller')`. UTF-8 is not mentioned. */
export function describeText(format: string, { encoding }: Source): string {
  return encoding === 'UTF-8' ? format : `${format}, ${encoding}`;
}

/** The error that a list cannot be read, with the reason. */
export function unreadable(name: string, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read ${name}: ${why}.`, { cause });
}

/** The same of one of its lines. */
export function unreadableLine(
  { name }: ByteSource,
  line: number,
  why: string,
  cause?: unknown,
): BrandfillError {
  return unreadable(`line ${line} of ${name}`, why, cause);
}

export const READ_BYTES: number = 256 * 1024;

/**
 * Reads a file up to its end, whatever was read before, and leaves it open. A stream over the
 * handle would close it.
 */
export async function* readFrom(
  start: number,
  handle: FileHandle,
  chunkBytes = READ_BYTES,
): AsyncGenerator<Buffer> {
  for (let position = start; ; ) {
    const bytes = await readAt(position, handle, chunkBytes);
    if (bytes.length === 0) return;
    position += bytes.length;
    yield bytes;
  }
}

/** Reads at most so many bytes at a place of a file. */
export async function readAt(
  position: number,
  handle: FileHandle,
  sizeBytes: number,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(sizeBytes);
  const { bytesRead } = await handle.read({ buffer, position });
  return buffer.subarray(0, bytesRead);
}

/** Whether all that is read is UTF-8. */
export async function areUtf8(chunks: AsyncIterable<Buffer>): Promise<boolean> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    // The next chunk may have to finish a character.
    const end = [0, 1, 2, 3]
      .map((back) => bytes.length - back)
      .find((end) => isUtf8(bytes.subarray(0, end)));
    if (end === undefined) return false;
    rest = bytes.subarray(end);
  }
  return rest.length === 0;
}

const LINE_FEED = 0x0a;
/** No real row is this long; it bounds the memory that one line may take. */
const MOST_LINE_BYTES = 32 * 1024 * 1024;

/**
 * Cuts bytes into lines, their ends included; those that end in a chunk come together.
 *
 * @param name of the list in messages
 * @throws BrandfillError `UNREADABLE_INPUT` when a line is longer than 32 MB
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<readonly Buffer[]> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let number = 1;
  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const tail = chunk.subarray(start, end + 1);
      lines.push(rest.length > 0 ? Buffer.concat([...rest, tail]) : tail);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    number += lines.length;
    if (restBytes > MOST_LINE_BYTES) {
      throw unreadable(`line ${number} of ${name}`, 'it is longer than 32 MB');
    }
    yield lines;
  }
  if (rest.length > 0) yield [Buffer.concat(rest)];
}

/** Gives the next so many bytes of a stream. There are fewer only at its end. */
export type Cutter = (sizeBytes: number) => Promise<Buffer> | Buffer;

/** Cuts a stream of bytes into pieces of known lengths. */
export function createCutter(chunks: AsyncIterable<Buffer>): Cutter {
  const iterator = chunks[Symbol.asyncIterator]();
  let bytes: Buffer = Buffer.alloc(0);

  function cut(sizeBytes: number): Buffer {
    const piece = bytes.subarray(0, sizeBytes);
    bytes = bytes.subarray(sizeBytes);
    return piece;
  }

  async function cutAcross(sizeBytes: number): Promise<Buffer> {
    const parts = [bytes];
    for (let missing = sizeBytes - bytes.length; missing > 0; ) {
      const next = await iterator.next();
      if (next.done) break;
      parts.push(next.value);
      missing -= next.value.length;
    }
    bytes = Buffer.concat(parts);
    return cut(sizeBytes);
  }

  return (sizeBytes) => (sizeBytes > bytes.length ? cutAcross(sizeBytes) : cut(sizeBytes));
}
