import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { BrandfillError } from '../../common/errors.ts';

/** A part as it is in another archive. It is copied without being decompressed, damaged or not. */
export interface StoredPart {
  /** The bytes of its name. */
  readonly name: Buffer;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly date: number;
  readonly crc: number;
  readonly sizeBytes: number;
  readonly packedBytes: number;
  read(): AsyncIterable<Buffer>;
}

/** A part of an archive that is written: as it was, or with a new text, whole or piece by piece. */
export type ZipPart =
  | StoredPart
  | { readonly path: string; readonly text: string | (() => AsyncIterable<Buffer>) };

type PartHead = Omit<StoredPart, 'read'>;

/** Sheets compress to a tenth at any level; this level takes half the time of the default. */
const LEVEL = 4;
const CHUNK_BYTES = 64 * 1024;
const VERSION = 20;
const DEFLATED = 8;
const IS_UTF8 = 0x800;
/** Sizes follow the data. */
const HAS_DESCRIPTOR = 0x8;
/** Constant, so that the same rows make the same bytes: the first of January 1980. */
const MOMENT = { time: 0, date: 0x21 };
const MOST_BYTES = 0xff_ff_ff_fe;

/**
 * Writes an archive.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT` when it or one of its parts gets larger than 4 GiB
 */
export async function* writeZip(parts: readonly ZipPart[]): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  const count = (bytes: Buffer): Buffer => {
    offset += bytes.length;
    return bytes;
  };
  for (const part of parts) {
    const start = offset;
    let head: PartHead;
    if ('read' in part) {
      head = { ...part, flags: part.flags & ~HAS_DESCRIPTOR };
      yield count(headerOf(head));
      for await (const chunk of part.read()) yield count(chunk);
    } else if (typeof part.text === 'string') {
      const bytes = Buffer.from(part.text);
      const packed = deflateRawSync(bytes, { level: LEVEL });
      head = {
        ...newHead(part.path, IS_UTF8),
        crc: crc32(bytes),
        sizeBytes: bytes.length,
        packedBytes: packed.length,
      };
      yield count(headerOf(head));
      yield count(packed);
    } else {
      const unsized = newHead(part.path, IS_UTF8 | HAS_DESCRIPTOR);
      yield count(headerOf(unsized));
      const measured = { crc: 0, sizeBytes: 0 };
      const before = offset;
      for await (const chunk of pack(part.text, measured)) yield count(chunk);
      head = { ...unsized, ...measured, packedBytes: offset - before };
      refuseLarge(head.sizeBytes);
      yield count(descriptorOf(head));
    }
    refuseLarge(offset);
    directory.push(entryOf(head, start));
  }
  const directoryBytes = directory.reduce((sum, { length }) => sum + length, 0);
  yield* directory;
  yield endOf({ count: directory.length, sizeBytes: directoryBytes, offset });
}

function newHead(path: string, flags: number): PartHead {
  const name = Buffer.from(path);
  return { name, flags, method: DEFLATED, ...MOMENT, crc: 0, sizeBytes: 0, packedBytes: 0 };
}

async function* pack(
  read: () => AsyncIterable<Buffer>,
  measured: { crc: number; sizeBytes: number },
): AsyncGenerator<Buffer> {
  async function* measure(): AsyncGenerator<Buffer> {
    for await (const chunk of read()) {
      measured.crc = crc32(chunk, measured.crc);
      measured.sizeBytes += chunk.length;
      yield chunk;
    }
  }
  const source = Readable.from(measure(), { objectMode: false });
  const packer = createDeflateRaw({ level: LEVEL, chunkSize: CHUNK_BYTES });
  const flow = pipeline(source, packer);
  flow.catch(() => {}); // it is thrown by the stream that is read, too
  try {
    for await (const chunk of packer) yield chunk as Buffer;
  } finally {
    source.destroy();
    packer.destroy();
    // What the rows are read from may be closed then.
    if (!source.closed) await new Promise((resolve) => source.once('close', resolve));
  }
}

function headerOf(head: PartHead): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.writeUInt32LE(0x04_03_4b_50, 0);
  writeHead(bytes, head, 4);
  return Buffer.concat([bytes, head.name]);
}

function entryOf(head: PartHead, start: number): Buffer {
  const bytes = Buffer.alloc(46);
  bytes.writeUInt32LE(0x02_01_4b_50, 0);
  bytes.writeUInt16LE(VERSION, 4);
  writeHead(bytes, head, 6);
  bytes.writeUInt32LE(start, 42);
  return Buffer.concat([bytes, head.name]);
}

/** The fields that the header of a part and its entry in the directory share. */
function writeHead(bytes: Buffer, head: PartHead, at: number): void {
  const { name, flags, method, time, date, crc, sizeBytes, packedBytes } = head;
  for (const [index, field] of [VERSION, flags, method, time, date].entries()) {
    bytes.writeUInt16LE(field, at + 2 * index);
  }
  bytes.writeUInt32LE(crc, at + 10);
  bytes.writeUInt32LE(packedBytes, at + 14);
  bytes.writeUInt32LE(sizeBytes, at + 18);
  bytes.writeUInt16LE(name.length, at + 22);
}

function descriptorOf({ crc, sizeBytes, packedBytes }: PartHead): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32LE(0x08_07_4b_50, 0);
  bytes.writeUInt32LE(crc, 4);
  bytes.writeUInt32LE(packedBytes, 8);
  bytes.writeUInt32LE(sizeBytes, 12);
  return bytes;
}

interface Directory {
  readonly count: number;
  readonly sizeBytes: number;
  readonly offset: number;
}

function endOf({ count, sizeBytes, offset }: Directory): Buffer {
  const bytes = Buffer.alloc(22);
  bytes.writeUInt32LE(0x06_05_4b_50, 0);
  bytes.writeUInt16LE(count, 8);
  bytes.writeUInt16LE(count, 10);
  bytes.writeUInt32LE(sizeBytes, 12);
  bytes.writeUInt32LE(offset, 16);
  return bytes;
}

function refuseLarge(sizeBytes: number): void {
  if (sizeBytes <= MOST_BYTES) return;
  throw new BrandfillError(
    'UNWRITABLE_OUTPUT',
    'Cannot write a workbook: it would be larger than 4 GB; choose fewer columns with --fields, or an --out that ends in .csv.',
  );
}
