import { fstatSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { describeKind } from '../common/text.ts';
import { type Encoding, findEncoding, transcode, UTF_8 } from './encoding.ts';
import { findOtherFormat, isZip } from './other-formats.ts';
import {
  assertSame,
  examine,
  READ_BYTES,
  type ReadSoFar,
  readAll,
  type Source,
  skip,
  unreadable,
} from './source.ts';
import { readFromStart, type SpoolOptions, spool } from './spool.ts';

/** A list: the path of a file, `-` for standard input, or rows as objects. */
export type ListInput = string | AsyncIterable<object> | Iterable<object>;

/** A list that can be read only once is spooled. */
interface SourceOptions extends SpoolOptions {
  /** The sheet of a workbook that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** @default process.stdin */
  readonly stdin?: AsyncIterable<Buffer | string>;
  /** The encoding of the list. @default detected */
  readonly encoding?: Encoding | undefined;
  /** Called with how much was read so far, each time that the list is read. */
  readonly onRead?: ((read: ReadSoFar) => void) | undefined;
}

/**
 * Opens a list of any kind. Rows are read more than once, so a pipe, and rows that come as objects,
 * are kept on the disk while they are needed; objects as JSONL, so they should hold only what JSON
 * can.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot be opened or is no list
 */
export async function openList(input: ListInput, options: SourceOptions): Promise<Source> {
  if (input === '-') {
    const stat = fstatSync(0); // `brandfill enrich - < list.csv` also reads a file
    const file = stat.isFile() ? identityOf(stat) : undefined;
    return await openPiped('standard input', options.stdin ?? process.stdin, { ...options, file });
  }
  if (typeof input === 'string') return await openFile(input, options);
  const objects = { ...options, encoding: UTF_8 };
  return { ...(await openPiped('rows', toLines(input), objects)), isOfObjects: true };
}

async function openFile(path: string, options: SourceOptions): Promise<Source> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, describeSystemError(error), error);
  });
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw unreadable(path, 'it is a folder, not a file');
    return stat.isFile()
      ? await createSource(path, handle, { ...options, file: identityOf(stat) })
      : await openPiped(path, handle.createReadStream(), options);
  } catch (error) {
    await handle.close().catch(() => {});
    throw error;
  }
}

interface CreateOptions extends SourceOptions {
  readonly file?: Source['file'];
}

async function openPiped(
  name: string,
  chunks: AsyncIterable<Buffer | string>,
  options: CreateOptions,
): Promise<Source> {
  const { handle, hash } = await spool(chunks, options);
  try {
    return { ...(await createSource(name, handle, options)), hash };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function identityOf({ dev, ino, mode, gid }: NonNullable<Source['file']>): Source['file'] {
  return { dev, ino, mode, gid };
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
  const other = findOtherFormat(magic);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
  if (options.sheet !== undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot find the sheet '${options.sheet}' in ${name}: it is no workbook.`,
    );
  }
  const all = (): AsyncIterable<Buffer> =>
    readAll(handle, { name, isGzip, sizeBytes: opened.size, onRead: options.onRead });
  const seen = await examine(all());
  const { encoding, markBytes, example } = await findEncoding({
    name,
    start: seen.sample,
    isUtf8: seen.isUtf8,
    read: all,
    insisted: options.encoding,
  });
  const isDecoded = encoding.codec !== UTF_8.codec;
  const unmarked = (): AsyncIterable<Buffer> => skip(all(), markBytes);
  const read = (): AsyncIterable<Buffer> =>
    isDecoded ? transcode(unmarked(), encoding, name) : unmarked();
  const decoded = isDecoded
    ? await examine(read())
    : { ...seen, sample: seen.sample.subarray(markBytes) };
  return {
    ...decoded,
    name,
    isGzip,
    hasByteOrderMark: markBytes > 0 || isDecoded,
    encoding: encoding.label,
    encodingExample: example,
    file: options.file,
    read,
    assertUnchanged: () => assertSame(name, handle, opened),
    close: () => handle.close(),
  };
}

/** Opens the rows of a workbook, as lines of a file that nobody else can write to. */
async function openWorkbookSource(
  name: string,
  handle: FileHandle,
  { file, encoding, sheet, ...options }: CreateOptions,
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
  const list = await openWorkbook(handle, { name, sheet, ...options });
  return {
    name,
    isGzip: false,
    hasByteOrderMark: false,
    encoding: UTF_8.label,
    encodingExample: undefined,
    sample: Buffer.alloc(0),
    isWholeInSample: false,
    file,
    openSheet: () => openXlsx(list),
    read: () => readFromStart(list.rows, READ_BYTES),
    assertUnchanged: () => assertSame(name, handle, opened),
    close: async () => {
      await list.rows.close();
      await handle.close();
    },
  };
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
  const isObject = typeof row === 'object' && row !== null && !ArrayBuffer.isView(row);
  let line: string | undefined;
  try {
    line = isObject && !Array.isArray(row) ? JSON.stringify(row) : undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unreadable(`row ${number}`, why.split('\n', 1).join(), error); // of a circle, it goes on with a drawing
  }
  // A date becomes a text, and of a Map or an instance that has getters alone nothing is left.
  if (line?.startsWith('{') && (line !== '{}' || isPlain(row))) return line;
  throw unreadable(
    `row ${number}`,
    `expected an object with members that JSON can hold, received ${describeKind(row)}`,
  );
}

function isPlain(row: unknown): boolean {
  const prototype: unknown = Object.getPrototypeOf(row);
  return prototype === null || prototype === Object.prototype;
}
