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
  readonly hasByteOrderMark: boolean;
  /** The encoding of the list, for people: `UTF-8`, `Windows-1252`. `read` gives UTF-8 in any case. */
  readonly encoding: string;
  /**
   * Some words that show whether the encoding was guessed correctly; undefined when it was not
   * guessed.
   */
  readonly encodingExample: string | undefined;
  /** What the user should know about its bytes, in sentences; usually nothing. */
  readonly notices?: readonly string[];
  /**
   * The beginning, decompressed, in UTF-8 and without byte order mark, to detect what the list is.
   */
  readonly sample: Buffer;
  /** Whether `sample` is the whole list. */
  readonly isWholeInSample: boolean;
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

const SAMPLE_BYTES = 256 * 1024;
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

export interface ReadOptions {
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

/** Reads the beginning of a list, and leaves the rest unread. */
export async function readSample(
  chunks: AsyncIterable<Buffer>,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > SAMPLE_BYTES) return { bytes: Buffer.concat(parts), isWhole: false };
  }
  return { bytes: Buffer.concat(parts), isWhole: true };
}

/** Skips the first `count` bytes. */
export async function* skip(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield left > 0 ? chunk.subarray(left) : chunk;
    left = Math.max(0, left - chunk.length);
  }
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

/** Ctrl-Z, with which DOS ends a file. */
const END_OF_FILE = 0x1a;

/** Bytes without the sign that ends a DOS file, and the line ends and NULs that a program put behind it. */
export function trimEndOfFile(bytes: Buffer): Buffer {
  const tail = bytes.subarray(startOfTail(bytes));
  const sign = tail.indexOf(END_OF_FILE);
  return sign === -1 ? bytes : bytes.subarray(0, bytes.length - tail.length + sign);
}

/** Where bytes of nothing but line ends, NULs and that sign begin, at the end of others. */
function startOfTail(bytes: Buffer): number {
  let start = bytes.length;
  while (isOfTail(bytes[start - 1])) start -= 1;
  return start;
}

function isOfTail(byte: number | undefined): boolean {
  return byte === END_OF_FILE || byte === 0x0a || byte === 0x0d || byte === 0;
}

/** The same for bytes in pieces. */
export async function* withoutEndOfFile(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const start = startOfTail(chunk);
    if (start > 0 && held.length > 0) yield held;
    if (start > 0) yield chunk.subarray(0, start);
    const ends = chunk.subarray(start);
    held = start > 0 ? ends : Buffer.concat([held, ends]);
    if (held.length <= MOST_HELD_BYTES) continue;
    yield held;
    held = Buffer.alloc(0);
  }
  const rest = trimEndOfFile(held);
  if (rest.length > 0) yield rest;
}

/** More line ends than these are lines of the list. */
const MOST_HELD_BYTES = 64 * 1024;
