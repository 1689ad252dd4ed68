import { fstatSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BrandfillError, describeSystemError, systemErrorCode } from '../common/errors.ts';
import { type Closer, createCloser } from '../common/lifetime.ts';
import { describeKind } from '../common/text.ts';
import { openCsv } from './csv/csv.ts';
import { type Encoding, findEncoding, transcode, UTF_8 } from './encoding.ts';
import { openJsonl } from './jsonl.ts';
import { findOtherFormat, findOtherText, isZip } from './other-formats.ts';
import { type RowFormat, splitExtension } from './row-format.ts';
import { READ_BYTES, readAt, readFrom, type Source, unreadable } from './source.ts';
import { type SpoolOptions, spool } from './spool.ts';

/** A list: the path of a file, `-` for standard input, or rows as objects. */
export type ListInput = string | AsyncIterable<object> | Iterable<object>;

/** A list that can be read only once is spooled. */
interface OpenListOptions extends SpoolOptions {
  /** The sheet of a workbook that has the list. @default the first that is not empty */
  readonly sheet?: string | undefined;
  /** @default process.stdin */
  readonly stdin?: AsyncIterable<Buffer | string>;
  /** The encoding of the list. @default detected */
  readonly encoding?: Encoding | undefined;
}

/**
 * Opens a list of any kind. What can be read only once, or is not UTF-8 as it is, is kept on the disk
 * as UTF-8 while it is needed: a pipe, gzip, other encodings, and the rows of a program, as JSONL, so
 * they should hold only what JSON can.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot be opened or is no list
 */
export async function openList(input: ListInput, options: OpenListOptions): Promise<Source> {
  const closer = createCloser();
  try {
    const opened = await openInput(input, options);
    closer.add(opened.handle);
    return { ...(await openSource(opened, closer, options)), close: () => closer.close() };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

/** An open file, or what came from elsewhere as one. */
interface Opened extends Pick<Source, 'name' | 'file' | 'isOfObjects'> {
  readonly handle: FileHandle;
}

async function openInput(input: ListInput, options: OpenListOptions): Promise<Opened> {
  if (typeof input !== 'string') {
    const handle = await spool<object>(input, options, toLine);
    return { name: 'rows', file: undefined, isOfObjects: true, handle };
  }
  if (input === '-') {
    const found = fstatSync(0); // `brandfill enrich - < list.csv` also reads a file
    const handle = await spool(options.stdin ?? process.stdin, options);
    return { name: 'standard input', file: found.isFile() ? found : undefined, handle };
  }
  try {
    const found = await stat(input);
    if (found.isDirectory()) throw unreadable(input, 'it is a folder, not a file');
    const handle = await open(input, 'r');
    if (found.isFile()) return { name: input, handle, file: found };
    const chunks: AsyncIterable<Buffer> = handle.createReadStream(); // it closes the handle
    return { name: input, file: undefined, handle: await spool(chunks, options) };
  } catch (error) {
    if (error instanceof BrandfillError || options.signal.aborted) throw error;
    throw unreadable(input, describeSystemError(error), error);
  }
}

async function openSource(
  { handle, ...input }: Opened,
  closer: Closer,
  options: OpenListOptions,
): Promise<Omit<Source, 'close'>> {
  const { name } = input;
  const { sheet, encoding } = options;
  const opened = await handle.stat();
  const common = {
    ...input,
    assertUnchanged: async () => {
      const now = await handle.stat();
      if (now.size === opened.size && now.mtimeMs === opened.mtimeMs) return;
      throw unreadable(name, 'it was changed while it was read; run the same command again');
    },
  };
  const magic = await readAt(0, handle, 4);
  if (isZip(magic)) {
    if (encoding) throw refuse('--encoding', name, 'it is for texts, and this is a workbook');
    const { openWorkbook } = await import('./xlsx/open-workbook.ts');
    const { openXlsx } = await import('./xlsx/xlsx.ts');
    const list = await openWorkbook(handle, { ...options, name, sheet });
    const { rows } = list;
    closer.add(rows);
    return {
      ...common,
      hasByteOrderMark: false,
      encoding: UTF_8,
      sample: Buffer.alloc(0),
      isWholeInSample: false,
      workbook: openXlsx(list),
      read: (start = 0) => readFrom(start, rows),
    };
  }
  const other = findOtherFormat(magic);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
  if (sheet !== undefined) throw refuse('--sheet', name, 'it is for workbooks, and this is none');

  const keep = async (chunks: AsyncIterable<Buffer>): Promise<FileHandle> =>
    closer.add(await spool(chunks, options));
  const isGzip = magic[0] === 0x1f && magic[1] === 0x8b;
  const plain = isGzip ? await keep(gunzip(handle, name)) : handle;
  const found = await findEncoding(name, input.isOfObjects ? UTF_8 : encoding, {
    sample: await readAt(0, plain, READ_BYTES),
    read: () => readFrom(0, plain),
  });
  const isDecoded = found.encoding !== UTF_8;
  const text = isDecoded
    ? await keep(transcode(readFrom(found.markBytes, plain), found.encoding, name))
    : plain;
  const markBytes = isDecoded ? 0 : found.markBytes;
  const { size } = await text.stat();
  const isLong = size - markBytes > READ_BYTES;
  const places = Array.from({ length: isLong ? WINDOWS : 0 }, (_, at) =>
    Math.floor((size * (at + 1)) / (WINDOWS + 1)),
  );
  return {
    ...common,
    hasByteOrderMark: found.markBytes > 0 || isDecoded,
    encoding: found.encoding + found.example,
    sample: await readAt(markBytes, text, READ_BYTES),
    isWholeInSample: !isLong,
    windows: await Promise.all(places.map((place) => readAt(place, text, WINDOW_BYTES))),
    read: (start = 0) => readFrom(markBytes + start, text),
  };
}

const WINDOWS = 24;
const WINDOW_BYTES = 16 * 1024;

function refuse(option: string, name: string, why: string): BrandfillError {
  return new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${option} for ${name}: ${why}; leave it out.`,
  );
}

async function* gunzip(handle: FileHandle, name: string): AsyncGenerator<Buffer> {
  try {
    const gunzip = createGunzip({ chunkSize: READ_BYTES });
    // Errors in a pipeline are thrown by the pipeline.
    yield* pipeline(readFrom(0, handle), gunzip, () => {}) as AsyncIterable<Buffer>;
  } catch (error) {
    const isCorrupt = systemErrorCode(error)?.startsWith('Z_') === true;
    const why = isCorrupt ? 'the gzip data is corrupt or cut short' : describeSystemError(error);
    throw unreadable(name, why, error);
  }
}

/** A row of a program as a line of JSON. */
function toLine(row: object, number: number): string {
  const isObject = typeof row === 'object' && row !== null && !ArrayBuffer.isView(row);
  let line: string | undefined;
  try {
    line = isObject && !Array.isArray(row) ? JSON.stringify(row) : undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unreadable(`row ${number}`, why.split('\n', 1).join(), error); // of a circle, it goes on with a drawing
  }
  // A date becomes a text, and of a Map or an instance that has getters alone nothing is left.
  if (line?.startsWith('{') && (line !== '{}' || isPlain(row))) return `${line}\n`;
  throw unreadable(
    `row ${number}`,
    `expected an object with members that JSON can hold, received ${describeKind(row)}`,
  );
}

function isPlain(row: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(row);
  return prototype === null || prototype === Object.prototype;
}

export interface OpenRowsOptions {
  /** The prefix of the names of our own columns. */
  readonly prefix: string;
  /** Whether the first line of CSV is a row. @default false */
  readonly noHeader?: boolean | undefined;
  /** Number of lines above the list, in CSV. @default 0 */
  readonly skipLines?: number | undefined;
}

/**
 * Detects the format of a list, by the name of its file or else by its first character, and opens
 * it.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is neither CSV nor JSONL nor a workbook,
 * `INVALID_SETTING` when options are for CSV and it is another format.
 */
export function openRows(source: Source, options: OpenRowsOptions): RowFormat {
  const isOfTabs = /^\.(?:tsv|tab)\b/i.test(splitExtension(source.name).extension);
  const isCsv = source.workbook === undefined && !source.isOfObjects && !isJsonl(source);
  if (isCsv) return openCsv(source, { ...options, delimiter: isOfTabs ? '\t' : undefined });
  const option = options.noHeader ? '--no-header' : options.skipLines ? '--skip-lines' : undefined;
  if (option !== undefined) {
    const kind = source.workbook ? 'a workbook' : 'JSONL';
    throw refuse(option, source.name, `it is for CSV, and this is ${kind}`);
  }
  return source.workbook ?? openJsonl(source, options.prefix);
}

/** Whether a list is JSONL: by its name, else by its first line. */
function isJsonl({ name, sample }: Source): boolean {
  const other = findOtherText(sample);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
  const start = sample.toString('utf8').trimStart();
  // The first column of CSV may be called `[id]`.
  if (/^\[\s*(?:[[{"\]]|-?\d|null|true|false)/.test(start)) {
    throw unreadable(
      name,
      "it is a JSON array; expected one JSON object per line (jq -c '.[]' makes it so)",
    );
  }
  const { extension } = splitExtension(name);
  if (/^\.(?:jsonl|ndjson)\b/i.test(extension)) return true;
  if (!start.startsWith('{')) return false;
  if (!/^\.(?:csv|tsv|tab)\b/i.test(extension)) return true;
  try {
    JSON.parse(start.split('\n', 1).join());
    return true; // and not `{id}`, the first column of CSV
  } catch {
    return false;
  }
}
