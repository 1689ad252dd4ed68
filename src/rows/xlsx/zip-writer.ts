import { once } from 'node:events';
import { constants, crc32, createDeflateRaw, deflateRawSync } from 'node:zlib';
import { BrandfillError } from '../../common/errors.ts';
import { openSpool, readFromStart, writeAll } from '../spool.ts';

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

/** A part of an archive that is written: as it was, or with a new text, whole or packed before. */
export type ZipPart =
  | StoredPart
  | { readonly path: string; readonly text: string }
  | {
      readonly path: string;
      readonly head: string;
      readonly body: Pick<PackedText, 'end'>;
      readonly tail: string;
    };

type PartHead = Omit<StoredPart, 'read'>;

/** Sheets compress to a tenth at any level; this level takes a third of the time of the default. */
const LEVEL = 2;
const CHUNK_BYTES = 64 * 1024;
/** So many pieces of that size are gathered before they are written. */
const MOST_KEPT = 8;
const READ_BYTES = 256 * 1024;
const VERSION = 20;
const DEFLATED = 8;
const IS_UTF8 = 0x800;
/** Sizes follow the data, which those of parts that are copied need not. */
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
    } else if ('text' in part) {
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
      const first = Buffer.from(part.head);
      const last = Buffer.from(part.tail);
      const open = deflateRawSync(first, { level: LEVEL, finishFlush: constants.Z_FULL_FLUSH });
      const close = deflateRawSync(last, { level: LEVEL });
      const body = await part.body.end();
      const sizeBytes = first.length + body.sizeBytes + last.length;
      refuseLarge(sizeBytes);
      head = {
        ...newHead(part.path, IS_UTF8),
        crc: crc32(last, joinCrc(crc32(first), body.crc, body.sizeBytes)),
        sizeBytes,
        packedBytes: open.length + body.packedBytes + close.length,
      };
      yield count(headerOf(head));
      yield count(open);
      for await (const chunk of body.read()) yield count(chunk);
      yield count(close);
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

/** A long text that is packed while it is made, and kept on the disk until it is whole. */
export interface PackedText {
  /** @param bytes must not be changed afterwards */
  write(bytes: Buffer): Promise<void>;
  /** Must be called once, after the last bytes. */
  end(): Promise<Packed>;
  close(): Promise<void>;
}

/** What stands between two other packed texts in the end. */
interface Packed {
  readonly crc: number;
  readonly sizeBytes: number;
  readonly packedBytes: number;
  read(): AsyncIterable<Buffer>;
}

/** This much may wait to be packed, which goes on in a thread of its own. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** @param folder where it is kept */
export async function createPackedText(folder: string): Promise<PackedText> {
  const file = await openSpool(folder);
  const options = { level: LEVEL, chunkSize: CHUNK_BYTES, highWaterMark: MOST_WAITING_BYTES };
  const packer = createDeflateRaw(options);
  let packed: Buffer[] = [];
  let failed: Error | undefined;
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  packer.on('error', (error) => {
    failed = error;
  });
  let crc = 0;
  let sizeBytes = 0;
  let packedBytes = 0;

  async function keep(): Promise<void> {
    if (failed) throw failed;
    const bytes = Buffer.concat(packed);
    packed = [];
    packedBytes += bytes.length;
    await writeAll(file, bytes, folder);
  }

  return {
    write: async (bytes) => {
      crc = crc32(bytes, crc);
      sizeBytes += bytes.length;
      if (!packer.write(bytes)) await once(packer, 'drain');
      if (packed.length > MOST_KEPT) await keep();
    },
    end: async () => {
      // What follows is packed by itself, and refers to nothing before it.
      await new Promise<void>((resolve) => packer.flush(constants.Z_FULL_FLUSH, resolve));
      await keep();
      packer.destroy();
      return { crc, sizeBytes, packedBytes, read: () => readFromStart(file, READ_BYTES) };
    },
    close: async () => {
      packer.destroy();
      await file.close();
    },
  };
}

/**
 * The CRC-32 of two texts that follow each other, from the CRCs of both. To add a zero bit to a text
 * is a linear map of its CRC; it is squared for two bits, four, and so on (as zlib does it).
 */
function joinCrc(first: number, second: number, secondBytes: number): number {
  let map = Uint32Array.from({ length: 32 }, (_, bit) => (bit === 0 ? CRC_32 : 2 ** (bit - 1)));
  const apply = (value: number): number => {
    let sum = 0;
    for (let bit = 0; bit < 32; bit += 1) if ((value & (1 << bit)) !== 0) sum ^= map[bit] ?? 0;
    return sum;
  };
  let crc = first;
  for (let bits = secondBytes * 8; bits > 0; bits = Math.floor(bits / 2)) {
    if (bits % 2 === 1) crc = apply(crc);
    map = map.map(apply);
  }
  return (crc ^ second) >>> 0;
}

/** Its polynomial, lowest bit first. */
const CRC_32 = 0xedb88320;

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
