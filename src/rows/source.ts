import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import type { FileAccess, FileIdentity } from '../common/files.ts';
import { shorten } from './columns/names.ts';
import type { ByteSource, RowFormat } from './row-format.ts';
import { readFromStart } from './spool.ts';

/** The bytes of a list, which can be read from the start as often as needed. */
export interface Source extends ByteSource {
  /** Whether the bytes were compressed; `read` gives them decompressed. */
  readonly isGzip: boolean;
  /** Whether CSV made from it needs a byte order mark: it had one, or was not UTF-8. */
  readonly hasByteOrderMark: boolean;
  /** The encoding of the list, for people: `UTF-8`, `Windows-1252`. `read` gives UTF-8 in any case. */
  readonly encoding: string;
  /**
   * Some words that show whether the encoding was guessed correctly; undefined when it was not
   * guessed.
   */
  readonly encodingExample: string | undefined;
  /**
   * The beginning, decompressed, in UTF-8 and without byte order mark, to detect what the list is.
   */
  readonly sample: Buffer;
  /** Whether `sample` is the whole list. */
  readonly isWholeInSample: boolean;
  /** Pieces from all over a longer list. They begin and end anywhere. @default none */
  readonly windows?: readonly Buffer[] | undefined;
  /** The file, to compare outputs with and to keep them from those who may not read it; undefined for a pipe. */
  readonly file: (FileIdentity & FileAccess) | undefined;
  /**
   * A hash of all that came, for a list that can be read only once: its name does not tell it from
   * others. Undefined for a file.
   */
  readonly hash?: string | undefined;
  /** Opens the list of a workbook, if the bytes are lines of its rows; undefined for a text. */
  readonly openSheet?: (() => RowFormat) | undefined;
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
  close(): Promise<void>;
}

/** Describes a list of text: `CSV, Windows-1252 (such as 'Müller')`. UTF-8 is not mentioned. */
export function describeText(
  format: string,
  { encoding, encodingExample }: Pick<Source, 'encoding' | 'encodingExample'>,
): string {
  if (encoding === 'UTF-8') return format;
  const example = encodingExample === undefined ? '' : ` (such as '${shorten(encodingExample)}')`;
  return `${format}, ${encoding}${example}`;
}

export const READ_BYTES: number = 256 * 1024;

/** How much of a list was read, in a reading from its start. */
export interface ReadSoFar {
  /** The name of the list in messages. */
  readonly name: string;
  /** Bytes of its file that were read. */
  readonly fileBytes: number;
  /** The size of the file; 0 when it is not known. */
  readonly sizeBytes: number;
  /** What they are when decompressed. */
  readonly plainBytes: number;
}

interface ReadOptions {
  /** The name of the list in messages. */
  readonly name: string;
  readonly isGzip: boolean;
  /** The size of the file. @default not known */
  readonly sizeBytes?: number;
  /** Called a few times for each MB. */
  readonly onRead?: ((read: ReadSoFar) => void) | undefined;
}

/**
 * Reads a file from its start, decompressed, and leaves it open.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`
 */
export async function* readAll(
  handle: FileHandle,
  { name, isGzip, sizeBytes = 0, onRead }: ReadOptions,
): AsyncGenerator<Buffer> {
  const file = readFromStart(handle, READ_BYTES);
  const gunzip = isGzip ? createGunzip({ chunkSize: READ_BYTES }) : undefined;
  let plainBytes = 0;
  try {
    // Errors in a pipeline are thrown by the pipeline.
    const plain: AsyncIterable<Buffer> = gunzip ? pipeline(file, gunzip, () => {}) : file;
    for await (const chunk of plain) {
      plainBytes += chunk.length;
      onRead?.({ name, fileBytes: gunzip?.bytesWritten ?? plainBytes, sizeBytes, plainBytes });
      yield chunk;
    }
  } catch (error) {
    const isCorrupt = systemErrorCode(error)?.startsWith('Z_') === true;
    const why = isCorrupt ? 'the gzip data is corrupt or cut short' : describeSystemError(error);
    throw unreadable(name, why, error);
  }
}

const SAMPLE_BYTES = 256 * 1024;
const WINDOW_BYTES = 16 * 1024;
const MOST_WINDOWS = 32;

/** What a list looks like: its beginning, pieces from all over it, and whether all of it is UTF-8. */
export async function examine(
  chunks: AsyncIterable<Buffer>,
): Promise<
  Required<Pick<Source, 'sample' | 'isWholeInSample' | 'windows'>> & { readonly isUtf8: boolean }
> {
  const parts: Buffer[] = [];
  let windows: Buffer[] = [];
  let sizeBytes = 0;
  let every = 1;
  let number = 0;
  let isValid = true;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (isValid) {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      const end = bytes.length - unfinishedBytes(bytes);
      isValid = isUtf8(bytes.subarray(0, end));
      rest = Buffer.from(bytes.subarray(end));
    }
    if (sizeBytes <= SAMPLE_BYTES) {
      parts.push(chunk);
      sizeBytes += chunk.length;
      continue;
    }
    number += 1;
    if (number % every !== 0) continue;
    windows.push(Buffer.from(chunk.subarray(0, WINDOW_BYTES)));
    if (windows.length < MOST_WINDOWS) continue;
    windows = windows.filter((_, at) => at % 2 === 1);
    every *= 2;
  }
  return {
    sample: Buffer.concat(parts),
    isWholeInSample: number === 0,
    windows,
    isUtf8: isValid && rest.length === 0,
  };
}

/** The number of bytes at the end that begin a character which the next chunk has to finish. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

const LINE_FEED = 0x0a;

/**
 * Cuts bytes into lines, their ends included; those that end in a chunk come together.
 *
 * @param mostBytes of a line @param refuse makes the error of the line that is longer
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  mostBytes: number = Number.POSITIVE_INFINITY,
  refuse: (line: number) => Error = () => new RangeError(),
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
    if (restBytes > mostBytes) throw refuse(number);
    yield lines;
  }
  if (rest.length > 0) yield [Buffer.concat(rest)];
}

/** Skips the first `count` bytes. */
export async function* skip(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield left > 0 ? chunk.subarray(left) : chunk;
    left = Math.max(0, left - chunk.length);
  }
}

/** Cuts a stream of bytes into pieces of known lengths. */
export interface Cutter {
  /** The next `sizeBytes` bytes. There are fewer only at the end of the stream. */
  take(sizeBytes: number): Promise<Buffer> | Buffer;
  /** All that is left. */
  rest(): AsyncGenerator<Buffer>;
  /** Ends the reading of the stream. */
  close(): Promise<void>;
}

export function createCutter(chunks: AsyncIterable<Buffer>): Cutter {
  const iterator = chunks[Symbol.asyncIterator]();
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;

  async function takeAcross(sizeBytes: number): Promise<Buffer> {
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
    return Buffer.concat(parts);
  }

  return {
    take: (sizeBytes) => {
      const end = at + sizeBytes;
      if (end > bytes.length) return takeAcross(sizeBytes);
      const piece = bytes.subarray(at, end);
      at = end;
      return piece;
    },
    rest: async function* () {
      yield bytes.subarray(at);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        yield next.value;
      }
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}

/** @throws BrandfillError `UNREADABLE_INPUT` when somebody wrote to the file since it was opened */
export async function assertSame(name: string, handle: FileHandle, opened: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.size === opened.size && now.mtimeMs === opened.mtimeMs) return;
  throw unreadable(name, 'it was changed while it was read; run the same command again');
}

/** The error that a list cannot be read, with the reason. */
export function unreadable(name: string, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read ${name}: ${why}.`, { cause });
}
