import { fstatSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { type Encoding, UTF_8 } from './encoding/encodings.ts';
import { findEncoding } from './encoding/find-encoding.ts';
import { transcode } from './encoding/transcode.ts';
import { checkUtf8 } from './encoding/utf8.ts';
import { findOtherFormat, isZip, NUMBERS_SPREADSHEET } from './other-formats.ts';
import { readFromStart, type SpoolOptions, spool } from './spool.ts';
import type { Workbook } from './xlsx/open-workbook.ts';

/** The bytes of a list, which can be read from the start as often as needed. */
export interface Source {
  /** The name of the list in messages: the path as given, or `standard input`. */
  readonly name: string;
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
  /**
   * The beginning, decompressed, in UTF-8 and without byte order mark, to detect what the list is.
   */
  readonly sample: Buffer;
  /** Whether `sample` is the whole list. */
  readonly isWholeInSample: boolean;
  /** Identity of the file, to compare outputs with; undefined for a pipe. */
  readonly file: { readonly dev: number; readonly ino: number } | undefined;
  /** The other parts of a workbook, if the bytes are lines of its rows; undefined for a text. */
  readonly workbook?: Workbook | undefined;
  /**
   * Whether rows came as objects: none of them need have any member, and there may be no row.
   * @default false
   */
  readonly isOfObjects?: boolean | undefined;
  /** Reads everything, decompressed, in UTF-8 and without byte order mark, checked to be text. */
  read(): AsyncIterable<Buffer>;
  /**
   * Makes sure that nobody has written to the file since it was opened.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when somebody has
   */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

const SAMPLE_BYTES = 256 * 1024;
const READ_BYTES = 256 * 1024;

/** A list that can be read only once is spooled. */
export interface SourceOptions extends SpoolOptions {
  /** The sheet of a workbook that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** @default process.stdin */
  readonly stdin?: AsyncIterable<Buffer | string>;
  /** The encoding of the list. @default detected */
  readonly encoding?: Encoding | undefined;
}

/**
 * Opens a list: a file, or standard input as `-`. A list that can be read only once (a pipe) is
 * spooled to the disk first, because rows are read twice.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot be opened or is no text.
 */
export async function openSource(path: string, options: SourceOptions): Promise<Source> {
  if (path === '-') {
    const spooled = await spool(options.stdin ?? process.stdin, options);
    return await createOrClose('standard input', spooled, { ...options, file: identityOfStdin() });
  }
  const handle = await openForReading(path);
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      const isNumbers = /\.numbers\/?$/i.test(path);
      throw unreadable(path, `it is ${isNumbers ? NUMBERS_SPREADSHEET : 'a folder, not a file'}`);
    }
    if (stat.isFile()) {
      return await createSource(path, handle, { ...options, file: stat });
    }
    const spooled = await spool(handle.createReadStream(), options);
    return await createOrClose(path, spooled, options);
  } catch (error) {
    await handle.close().catch(() => {});
    throw error;
  }
}

/** Writes rows that came as objects to the disk, in the form of a file. */
export async function spoolObjects(
  name: string,
  lines: AsyncIterable<string>,
  options: SourceOptions,
): Promise<Source> {
  const spooled = await spool(lines, options);
  const source = await createOrClose(name, spooled, { ...options, encoding: UTF_8 });
  return { ...source, isOfObjects: true };
}

interface CreateOptions extends SourceOptions {
  readonly file?: Source['file'];
}

/** Closes the spooled file if it turns out not to be a list. */
async function createOrClose(
  name: string,
  spooled: FileHandle,
  options: CreateOptions,
): Promise<Source> {
  try {
    return await createSource(name, spooled, options);
  } catch (error) {
    await spooled.close().catch(() => {});
    throw error;
  }
}

async function createSource(
  name: string,
  handle: FileHandle,
  options: CreateOptions,
): Promise<Source> {
  const opened = await handle.stat();
  const magic = Buffer.alloc(4);
  await handle.read(magic, 0, 4, 0);
  if (isZip(magic)) return await openWorkbookSource(name, handle, options);
  const isGzip = magic[0] === 0x1f && magic[1] === 0x8b;
  if (!isGzip) await refuseOtherFormats(magic, handle, name);
  const { sheet } = options;
  if (sheet !== undefined)
    throw impossible(`find the sheet '${sheet}' in ${name}: it is no workbook`);

  const all = (): AsyncIterable<Buffer> => readAll(handle, isGzip, name);
  const start = await readSample(all());
  const found = await findEncoding({
    name,
    start: start.bytes,
    isWhole: start.isWhole,
    read: all,
    insisted: options.encoding,
  });
  const { encoding, markBytes, by, example } = found;
  const unmarked = (): AsyncIterable<Buffer> => skip(all(), markBytes);
  const assertUnchanged = (): Promise<void> => assertSame(name, handle, opened);
  const described = {
    name,
    isGzip,
    hasByteOrderMark: markBytes > 0,
    encoding: encoding.label,
    encodingExample: example,
    file: options.file && { dev: options.file.dev, ino: options.file.ino },
  };
  if (encoding.codec !== UTF_8.codec) {
    const spooled = await spool(transcode(unmarked, { encoding, name }), options);
    await assertUnchanged();
    await handle.close();
    return { ...described, ...(await openSpooled(spooled, name)) };
  }
  return {
    ...described,
    sample: start.bytes.subarray(markBytes),
    isWholeInSample: start.isWhole,
    read: () => checkUtf8(unmarked, { name, isInsisted: by === 'option' }),
    assertUnchanged,
    close: () => handle.close(),
  };
}

/** Opens the rows of a workbook, as lines of a file that nobody else can write to. */
async function openWorkbookSource(
  name: string,
  handle: FileHandle,
  { file, encoding, sheet, ...options }: CreateOptions,
): Promise<Source> {
  if (encoding)
    throw impossible(`read ${name} as ${encoding.label}: workbooks say what they are in`);
  const opened = await handle.stat();
  const { openWorkbook } = await import('./xlsx/open-workbook.ts');
  const { workbook, rows } = await openWorkbook(handle, { name, sheet, ...options });
  return {
    name,
    isGzip: false,
    hasByteOrderMark: false,
    encoding: UTF_8.label,
    encodingExample: undefined,
    sample: Buffer.alloc(0),
    isWholeInSample: false,
    file: file && { dev: file.dev, ino: file.ino },
    workbook,
    read: () => readFromStart(rows, READ_BYTES),
    assertUnchanged: () => assertSame(name, handle, opened),
    close: async () => {
      await rows.close();
      await handle.close();
    },
  };
}

async function assertSame(name: string, handle: FileHandle, opened: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.size === opened.size && now.mtimeMs === opened.mtimeMs) return;
  throw unreadable(name, 'it was changed while it was read; run the same command again');
}

/** Opens a file that nobody else can write to, and that is known to be UTF-8. */
async function openSpooled(handle: FileHandle, name: string): Promise<ReadableText> {
  const read = (): AsyncIterable<Buffer> => readAll(handle, false, name);
  const start = await readSample(read());
  return {
    sample: start.bytes,
    isWholeInSample: start.isWhole,
    read,
    assertUnchanged: async () => {},
    close: () => handle.close(),
  };
}

type ReadableText = Pick<
  Source,
  'sample' | 'isWholeInSample' | 'read' | 'assertUnchanged' | 'close'
>;

/** `brandfill enrich - < list.csv` also reads a file. */
function identityOfStdin(): Source['file'] {
  const stat = fstatSync(0);
  return stat.isFile() ? { dev: stat.dev, ino: stat.ino } : undefined;
}

async function openForReading(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw unreadable(path, describeSystemError(error), error);
  }
}

async function* readAll(handle: FileHandle, isGzip: boolean, name: string): AsyncGenerator<Buffer> {
  const file = readFromStart(handle, READ_BYTES);
  try {
    // Errors in a pipeline are thrown by the pipeline.
    if (isGzip) yield* pipeline(file, createGunzip({ chunkSize: READ_BYTES }), () => {});
    else yield* file;
  } catch (error) {
    const isCorrupt = systemErrorCode(error)?.startsWith('Z_') === true;
    const why = isCorrupt ? 'the gzip data is corrupt or cut short' : describeSystemError(error);
    throw unreadable(name, why, error);
  }
}

async function readSample(
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

async function* skip(chunks: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield left > 0 ? chunk.subarray(left) : chunk;
    left = Math.max(0, left - chunk.length);
  }
}

async function refuseOtherFormats(magic: Buffer, handle: FileHandle, name: string): Promise<void> {
  const other = await findOtherFormat(magic, handle);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
}

function unreadable(name: string, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read ${name}: ${why}.`, { cause });
}

function impossible(what: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', `Cannot ${what}.`);
}
