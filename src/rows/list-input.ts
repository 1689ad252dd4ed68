import { fstatSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { describeKind } from '../common/text.ts';
import { shorten } from './columns/names.ts';
import { type Encoding, UTF_8 } from './encoding/encodings.ts';
import { findEncoding } from './encoding/find-encoding.ts';
import { transcode } from './encoding/transcode.ts';
import { checkUtf8 } from './encoding/utf8.ts';
import { findOtherFormat, isZip, NUMBERS_SPREADSHEET } from './other-formats.ts';
import {
  assertSame,
  READ_BYTES,
  type ReadOptions,
  readAll,
  readSample,
  type Source,
  skip,
  trimEndOfFile,
  unreadable,
  withoutEndOfFile,
} from './source.ts';
import { readFromStart, type Spooled, type SpoolOptions, spool } from './spool.ts';

/** A list: the path of a file, `-` for standard input, or rows as objects. */
export type ListInput = string | AsyncIterable<object> | Iterable<object>;

/**
 * Opens a list of any kind. Rows that come as objects are kept on the disk as JSONL while they are
 * needed, so they should hold only what JSON can.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`
 */
export async function openList(input: ListInput, options: SourceOptions): Promise<Source> {
  return typeof input === 'string'
    ? await openSource(input, options)
    : await spoolObjects('rows', toLines(input), options);
}

/**
 * Not a generator: one that waits for a row takes no notice of `return` until the row has come. An
 * aborted run would then leave the program's cursor or stream open.
 */
function toLines(rows: AsyncIterable<object> | Iterable<object>): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator =
        Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
      let number = 0;
      return {
        next: async () => {
          const { done = false, value } = await iterator.next();
          if (done) return { done, value: undefined };
          number += 1;
          return { done, value: `${toLine(await value, number)}\n` };
        },
        return: async () => {
          if (rows instanceof Readable) rows.destroy();
          else await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function toLine(row: unknown, number: number): string {
  if (typeof row === 'string' || ArrayBuffer.isView(row)) {
    throw unreadableRow(
      number,
      'expected an object, received text or bytes; give a file by its path',
    );
  }
  const line = typeof row === 'object' ? toJson(row, number) : undefined;
  if (line?.startsWith('{') && !isLost(row, line)) return line;
  const kind = describeKind(row);
  throw unreadableRow(
    number,
    `expected an object with members that JSON can hold, received ${kind}`,
  );
}

/**
 * Whether a row is lost in JSON, such as a Map, or an instance whose members are getters of its
 * class.
 */
function isLost(row: unknown, line: string): boolean {
  if (line !== '{}' || Object.keys(row as object).length > 0) return false;
  const prototype: unknown = Object.getPrototypeOf(row);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** A row with a `toJSON` of its own, such as a date, may become anything. */
function toJson(row: object | null, number: number): string | undefined {
  try {
    return JSON.stringify(row);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unreadableRow(number, why.split('\n', 1).join(), error); // of a circle, it goes on with a drawing
  }
}

function unreadableRow(number: number, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError('UNREADABLE_INPUT', `Cannot read row ${number}: ${why}.`, { cause });
}

/** A list that can be read only once is spooled. */
interface SourceOptions extends SpoolOptions {
  /** The sheet of a workbook that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** @default process.stdin */
  readonly stdin?: AsyncIterable<Buffer | string>;
  /** The encoding of the list. @default detected */
  readonly encoding?: Encoding | undefined;
  /** Called with how much was read so far, each time that the list is read. */
  readonly onRead?: ReadOptions['onRead'];
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
async function spoolObjects(
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
  { handle, hash }: Spooled,
  options: CreateOptions,
): Promise<Source> {
  try {
    return { ...(await createSource(name, handle, options)), hash };
  } catch (error) {
    await handle.close().catch(() => {});
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
  if (sheet !== undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot find the sheet '${sheet}' in ${name}: it is no workbook.`,
    );
  }

  const all = (): AsyncIterable<Buffer> =>
    readAll(handle, { name, isGzip, sizeBytes: opened.size, onRead: options.onRead });
  const start = await readSample(all());
  const found = await findEncoding({
    name,
    start: start.bytes,
    isWhole: start.isWhole,
    read: all,
    insisted: options.encoding,
  });
  const { encoding, markBytes, by, example, utf8Example } = found;
  const unmarked = (): AsyncIterable<Buffer> => skip(all(), markBytes);
  const assertUnchanged = (): Promise<void> => assertSame(name, handle, opened);
  const described = {
    name,
    isGzip,
    hasByteOrderMark: markBytes > 0,
    encoding: encoding.label,
    encodingExample: example,
    notices: utf8Example === undefined ? [] : [describeUtf8(name, encoding, utf8Example)],
    file: options.file && identityOf(options.file),
  };
  if (encoding.codec !== UTF_8.codec) {
    const text = withoutEndOfFile(transcode(unmarked, { encoding, name }));
    const spooled = await spool(text, options);
    try {
      await assertUnchanged();
      const readable = await openSpooled(spooled.handle, name);
      await handle.close();
      return { ...described, ...readable };
    } catch (error) {
      await spooled.handle.close();
      throw error;
    }
  }
  return {
    ...described,
    sample: start.isWhole
      ? trimEndOfFile(start.bytes.subarray(markBytes))
      : start.bytes.subarray(markBytes),
    isWholeInSample: start.isWhole,
    read: () => withoutEndOfFile(checkUtf8(unmarked, { name, isInsisted: by === 'option' })),
    assertUnchanged,
    close: () => handle.close(),
  };
}

function describeUtf8(name: string, { label }: Encoding, example: string): string {
  return `All of ${name} that was looked at is valid UTF-8, and is read as ${label}, as told: leave --encoding out if '${shorten(example)}' looks wrong.`;
}

/** Opens a file that nobody else can write to, and that is known to be UTF-8. */
async function openSpooled(handle: FileHandle, name: string): Promise<ReadableText> {
  const read = (): AsyncIterable<Buffer> => readAll(handle, { name, isGzip: false });
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

function identityOf({ dev, ino, mode, gid }: NonNullable<Source['file']>): Source['file'] {
  return { dev, ino, mode, gid };
}

/** `brandfill enrich - < list.csv` also reads a file. */
function identityOfStdin(): Source['file'] {
  const stat = fstatSync(0);
  return stat.isFile() ? identityOf(stat) : undefined;
}

async function openForReading(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw unreadable(path, describeSystemError(error), error);
  }
}

async function refuseOtherFormats(magic: Buffer, handle: FileHandle, name: string): Promise<void> {
  const other = await findOtherFormat(magic, handle, name);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
}

interface WorkbookSourceOptions extends SpoolOptions {
  /** Identity of the file; undefined for a pipe. */
  readonly file?: Source['file'];
  /** The encoding that was asked for. A workbook has no choice of encodings. */
  readonly encoding?: Encoding | undefined;
  /** The sheet that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
}

/**
 * Opens the rows of a workbook, as lines of a file that nobody else can write to.
 *
 * @throws BrandfillError `UNREADABLE_INPUT`, or `INVALID_SETTING` when an encoding was given
 */
async function openWorkbookSource(
  name: string,
  handle: FileHandle,
  { file, encoding, sheet, ...options }: WorkbookSourceOptions,
): Promise<Source> {
  if (encoding) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read ${name} as ${encoding.label}: workbooks say what they are in.`,
    );
  }
  const opened = await handle.stat();
  const { openWorkbook } = await import('./xlsx/open-workbook.ts');
  const { openXlsx } = await import('./xlsx/xlsx.ts');
  const { workbook, rows } = await openWorkbook(handle, { name, sheet, ...options });
  return {
    name,
    isGzip: false,
    hasByteOrderMark: false,
    encoding: UTF_8.label,
    encodingExample: undefined,
    sample: Buffer.alloc(0),
    isWholeInSample: false,
    file: file && { dev: file.dev, ino: file.ino, mode: file.mode, gid: file.gid },
    openSheet: () => openXlsx(workbook),
    read: () => readFromStart(rows, READ_BYTES),
    assertUnchanged: () => assertSame(name, handle, opened),
    close: async () => {
      await rows.close();
      await workbook.unlisted.close();
      await workbook.strings.close();
      await handle.close();
    },
  };
}
