import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import yauzl, { type Entry } from 'yauzl';
import { BrandfillError } from '../../common/errors.ts';
import type { StoredPart } from './zip-writer.ts';

/** The parts of a workbook: the files in its ZIP archive. */
export interface Package {
  /** The name of the workbook in messages. */
  readonly name: string;
  /** Paths of all parts, in the order of the archive. Their case is that of the archive. */
  readonly paths: readonly string[];
  /**
   * The path of a part, as {@link paths} has it, whatever the case and the slashes of the one given;
   * undefined when there is no such part.
   */
  find(path: string): string | undefined;
  /**
   * Reads a part, decompressed.
   *
   * @throws BrandfillError `UNREADABLE_INPUT` when it is missing, damaged or longer than it says
   */
  read(path: string): AsyncIterable<Buffer>;
  /** Reads a part that is small by nature, whole. */
  readWhole(path: string): Promise<Buffer>;
  /** A part as it is in the archive, to be copied; undefined when its bytes are not there. */
  store(path: string): Promise<StoredPart | undefined>;
}

/** All parts together, decompressed. A million rows of twenty columns take about one GB. */
const MOST_BYTES = 4_000_000_000;
/**
 * Over all parts, as a bomb may be in many of them. Sheets of nothing but equal rows are 11 to 21 times
 * as large, with the numbers that programs write into each cell. A package below `HARMLESS_BYTES` may
 * repeat itself as often as it likes.
 */
const MOST_RATIO = 200;
const HARMLESS_BYTES = 32_000_000;
const MOST_PARTS = 20_000;
/** The largest part that is read whole; lists of links and styles get this long. */
const MOST_WHOLE_BYTES = 48_000_000;

/**
 * Opens the archive of a workbook. The handle stays open, and belongs to the caller.
 *
 * @throws BrandfillError `UNREADABLE_INPUT` when it is damaged, or blows up when it is decompressed
 */
export async function openPackage(handle: FileHandle, name: string): Promise<Package> {
  const entries = new Map<string, Entry>();
  /** Paths by their folded form: the names of parts are equal without regard to case. */
  const paths = new Map<string, string>();
  const find = (path: string): string | undefined => paths.get(normalizePath(path).toLowerCase());
  // The library refuses names with a leading slash, which some programs write.
  const zip = await brokenUnless(name, () =>
    yauzl.fromFdPromise(handle.fd, { decodeStrings: false }),
  );
  await brokenUnless(name, async () => {
    let sizeBytes = 0;
    let packedBytes = 0;
    for await (const entry of zip.eachEntry()) {
      sizeBytes += entry.uncompressedSize;
      packedBytes += entry.compressedSize;
      if (sizeBytes > MOST_BYTES || entries.size >= MOST_PARTS) {
        throw bomb(
          name,
          `larger than ${MOST_BYTES / 1e9} GB, or have more than ${MOST_PARTS} parts`,
        );
      }
      const path = pathOf(entry);
      if (path.endsWith('/') || find(path) !== undefined) continue;
      paths.set(normalizePath(path).toLowerCase(), path);
      entries.set(path, entry);
    }
    // The sizes that the archive declares; a false one is found out when its part is read.
    const ratio = Math.round(sizeBytes / Math.max(1, packedBytes));
    if (sizeBytes > HARMLESS_BYTES && ratio > MOST_RATIO) {
      throw bomb(name, `${ratio} times as large as it is`);
    }
  });

  async function* read(path: string): AsyncGenerator<Buffer> {
    const entry = entries.get(path);
    if (!entry) throw brokenWorkbook(name, `the part ${path} is missing`);
    const isDeflated = entry.compressionMethod === DEFLATED && !entry.isEncrypted();
    let stream: Readable | undefined;
    try {
      stream = await zip.openReadStreamPromise(entry, { decodeFileData: !isDeflated });
      if (isDeflated) yield* inflate(stream, entry);
      else for await (const chunk of stream) yield chunk as Buffer;
    } catch (error) {
      throw asBroken(name, error);
    } finally {
      stream?.destroy();
    }
  }

  return {
    name,
    paths: [...entries.keys()],
    find,
    read,
    readWhole: async (path) => {
      const sizeBytes = entries.get(path)?.uncompressedSize ?? 0;
      if (sizeBytes > MOST_WHOLE_BYTES) {
        throw brokenWorkbook(name, `the part ${path} is larger than ${MOST_WHOLE_BYTES / 1e6} MB`);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of read(path)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    store: async (path) => {
      const entry = entries.get(path);
      if (!entry) return undefined;
      const header = await zip.readLocalFileHeaderPromise(entry, { minimal: true }).catch(() => {});
      const { size } = await handle.stat();
      if (!header || header.fileDataStart + entry.compressedSize > size) return undefined;
      return {
        name: entry.fileNameRaw,
        flags: entry.generalPurposeBitFlag,
        method: entry.compressionMethod,
        time: entry.lastModFileTime,
        date: entry.lastModFileDate,
        crc: entry.crc32,
        sizeBytes: entry.uncompressedSize,
        packedBytes: entry.compressedSize,
        read: async function* () {
          const stream = await zip.openReadStreamPromise(entry, { decodeFileData: false });
          for await (const chunk of stream) yield chunk as Buffer;
        },
      };
    },
  };
}

const DEFLATED = 8;
/** The library inflates 16 KB at a time, and each piece is a turn of the event loop. */
const INFLATED_BYTES = 128 * 1024;

async function* inflate(
  packed: Readable,
  { uncompressedSize }: Pick<Entry, 'uncompressedSize'>,
): AsyncGenerator<Buffer> {
  const inflater = createInflateRaw({ chunkSize: INFLATED_BYTES });
  pipeline(packed, inflater).catch(() => {}); // it is thrown by the stream that is read, too
  let sizeBytes = 0;
  try {
    for await (const chunk of inflater) {
      sizeBytes += (chunk as Buffer).length;
      if (sizeBytes > uncompressedSize) break;
      yield chunk as Buffer;
    }
  } finally {
    inflater.destroy();
  }
  if (sizeBytes === uncompressedSize) return;
  const much = sizeBytes > uncompressedSize ? 'too many' : 'not enough';
  throw new Error(`${much} bytes in the stream: expected ${uncompressedSize}`);
}

function pathOf({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  return yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
}

/** A path in a package without `..`, doubled or leading slashes; backslashes are slashes. */
export function normalizePath(path: string): string {
  const steps: string[] = [];
  for (const step of path.split(/[\\/]/)) {
    if (step === '..') steps.pop();
    else if (step !== '.' && step !== '') steps.push(step);
  }
  return steps.join('/');
}

/** The message for a file that is no workbook, or no longer a whole one. */
export function brokenWorkbook(name: string, why: string, cause?: unknown): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: it is damaged, or no workbook (${why}); open it in a spreadsheet program and save it again as XLSX.`,
    { cause },
  );
}

/** Turns a library's error about a damaged file into a sentence of ours. */
function asBroken(name: string, error: unknown): BrandfillError {
  if (error instanceof BrandfillError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return brokenWorkbook(name, why.replace(/\.$/, ''), error);
}

/** Reports errors in the parts of a workbook as errors of the workbook. */
async function brokenUnless<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asBroken(name, error);
  }
}

function bomb(name: string, how: string): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: decompressed it would be ${how}, as in a ZIP bomb; if it is a real list, save the sheet as CSV.`,
  );
}
