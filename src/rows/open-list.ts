import { fstatSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BrandfillError, describeSystemError, refusal, systemErrorCode } from '../common/errors.ts';
import { openToRead } from '../common/files.ts';
import { type Closable, type Closer, createCloser } from '../common/lifetime.ts';
import { describeKind } from '../common/text.ts';
import { openCsv } from './csv/csv.ts';
import { findEncoding, transcode, UTF_8 } from './encoding.ts';
import { isJsonl, openJsonl } from './jsonl.ts';
import { READING_OPTIONS, type ReadingOptions } from './list-formats.ts';
import { findOtherFormat, findOtherText, isZip } from './other-formats.ts';
import type { FormatOptions, RowFormat } from './row-format.ts';
import { READ_BYTES, readAt, readFrom, type Source, unreadable } from './source.ts';
import { type SpoolOptions, spool } from './spool.ts';

// How a list becomes rows, and where to look when something about it is wrong:
//
//   file, pipe, rows of a program ──▶ bytes (spool.ts)
//     ├─ no text ──▶ xlsx/open-workbook.ts ──▶ XlsxList
//     └─ UTF-8 (encoding.ts) ──▶ csv/csv.ts or jsonl.ts
//
//   the header, and where the list ends   columns/table.ts, of sheets xlsx/open-workbook.ts
//   the column of the domain              columns/domain-column.ts, its name and its cells
//   the domain in a cell                  domain/domain.ts
//   how it is written again               csv/csv-writer.ts, jsonl.ts, xlsx/workbook-writer.ts

/** A list: the path of a file, `-` for standard input, or rows as objects. */
export type ListInput = string | AsyncIterable<object> | Iterable<object>;

/** A list that can be read only once is spooled. */
interface OpenListOptions extends SpoolOptions, FormatOptions {
  /** @default process.stdin */
  readonly stdin?: AsyncIterable<Buffer | string>;
}

interface OpenedSource {
  readonly source: Source;
  readonly format: RowFormat;
}

/**
 * Opens a list of any kind and finds its format. What can be read only once, or is not UTF-8 as it
 * is, is kept on the disk as UTF-8 while it is needed: a pipe, gzip, other encodings, and the rows
 * of a program, as JSONL, so they should hold only what JSON can.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it cannot be opened or is no list,
 *   `INVALID_SETTING` when there are options for another format
 */
export async function openList(
  input: ListInput,
  options: OpenListOptions,
): Promise<OpenedSource & Closable> {
  const closer = createCloser();
  try {
    const opened = await openInput(input, options);
    closer.add(opened.handle);
    const found = await openSource(opened, closer, options);
    refuseOptionsOfOthers(found, options);
    return { ...found, close: () => closer.close() };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

/** The name of a list that came through it, whatever file is behind. */
export const STANDARD_INPUT = 'standard input';

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
    return { name: STANDARD_INPUT, file: found.isFile() ? found : undefined, handle };
  }
  try {
    const handle = await openToRead(input);
    const found = await handle.stat();
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
): Promise<OpenedSource> {
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
  const magic = await readAt(0, handle, MAGIC_BYTES);
  if (isZip(magic)) {
    const { openWorkbook } = await import('./xlsx/open-workbook.ts');
    const { XlsxList } = await import('./xlsx/xlsx-list.ts');
    const list = await openWorkbook(handle, { ...options, name, sheet });
    const { rows } = list;
    closer.add(rows);
    const source = {
      ...common,
      hasByteOrderMark: false,
      encoding: UTF_8,
      sample: Buffer.alloc(0),
      isWholeInSample: false,
      read: (start = 0) => readFrom(start, rows),
    };
    return { source, format: new XlsxList(list) };
  }
  const other = findOtherFormat(magic);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);

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
  const source = {
    ...common,
    hasByteOrderMark: found.markBytes > 0 || isDecoded,
    encoding: found.encoding + found.example,
    sample: await readAt(markBytes, text, READ_BYTES),
    isWholeInSample: !isLong,
    windows: await Promise.all(places.map((place) => readLines(place, text))),
    read: (start = 0) => readFrom(markBytes + start, text),
  };
  return { source, format: openText(source, options) };
}

/** Opens a text in its format. @throws BrandfillError `UNREADABLE_INPUT` when it is none of them */
export function openText(source: Source, options: FormatOptions): RowFormat {
  const other = findOtherText(source.sample);
  if (other !== undefined) throw unreadable(source.name, `it is ${other}`);
  return isJsonl(source) ? openJsonl(source, options) : openCsv(source, options);
}

function refuseOptionsOfOthers({ source, format }: OpenedSource, options: OpenListOptions): void {
  const { kind, names } = format.notation;
  for (const [key, kinds] of Object.entries(READING_OPTIONS)) {
    if (!options[key as keyof ReadingOptions] || kinds.includes(kind)) continue;
    throw refusal(
      `Cannot use option '${key}' for ${source.name}, which is ${names[0]}: leave it out.`,
    );
  }
}

const MAGIC_BYTES = 4_096;
const WINDOWS = 24;
const WINDOW_BYTES = 16 * 1024;

/** The whole lines in a window of a file. */
async function readLines(place: number, handle: FileHandle): Promise<string> {
  const window = (await readAt(place, handle, WINDOW_BYTES)).toString('utf8');
  return window.slice(window.indexOf('\n') + 1, window.lastIndexOf('\n') + 1);
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
    // Of a circle, it goes on with a drawing.
    throw unreadable(`row ${number}`, why.split('\n', 1).join(), error);
  }
  // Of a Map or an instance that has getters alone nothing is left.
  if (line?.startsWith('{') && (line !== '{}' || row.constructor === Object)) return `${line}\n`;
  throw unreadable(
    `row ${number}`,
    `expected an object with members that JSON can hold, received ${describeKind(row)}`,
  );
}
