import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { systemErrorCode } from '../../common/errors.ts';
import { PRIVATE } from '../../common/files.ts';
import { type OutputFile, openOutputFile } from '../output/output-file.ts';

/**
 * The last report of each row, in a file. All words are 32 bits, little-endian:
 *
 * | part | content |
 * |---|---|
 * | head | {@link MAGIC}, then zeros |
 * | one record for each row | identity (2 words), when its outcome was fetched (2 words, milliseconds since 1970), a hash of its value in each column |
 * | tail | JSON: the columns and how many records there are; then its length in bytes, and {@link MAGIC} |
 *
 * It is only read on the machine that wrote it. A damaged one is treated as missing.
 */
const MAGIC = 0x31474342;
const HEAD_BYTES = 16;
/** Words of a record before its hashes. */
export const RECORD_HEAD_WORDS = 4;
export const AT = { idLow: 0, idHigh: 1, fetchedLow: 2, fetchedHigh: 3 } as const;
const END_WORDS = 2;
const WORD_BYTES = 4;
const LAYOUT_VERSION = 1;
const READ_BYTES = 256 * 1024;

/** A column of the output whose values are compared. */
export interface ManifestColumn {
  readonly name: string;
  /** How its value is made from an answer. Values made in the same way need no comparison. */
  readonly expression: string;
}

const FLAT = 'flat ';

/** Marks a column of the flattened answer, to tell it from one made by an expression. */
export function flatExpression(expression = ''): string {
  return FLAT + expression;
}

/** Whether columns are those of the flattened answer, however it was spread over them. */
export function areFlat(columns: readonly ManifestColumn[]): boolean {
  return columns.some(({ expression }) => expression.startsWith(FLAT));
}

/**
 * The manifest of an earlier run. It is read synchronously: nothing else happens while rows are
 * written, and a promise for each of them would cost more than the reading.
 */
export interface Manifest {
  readonly columns: readonly ManifestColumn[];
  /** The names of columns without a value in any record. */
  readonly unused: ReadonlySet<string>;
  /** The identities of all records, two words each. */
  readIds(): Uint32Array;
  /** Loads a record into `words` and returns its offset there. Reads ahead when called in order. */
  read(record: number): number;
  readonly words: Uint32Array;
  close(): Promise<void>;
}

/** The contents of a manifest's tail. */
interface TailContent {
  readonly records: number;
  readonly columns: readonly ManifestColumn[];
  /** The names of columns without a value in any record. */
  readonly unused: readonly string[];
}

/** The tail of a manifest, as bytes. */
function encodeTail(content: TailContent): Buffer {
  const json = Buffer.from(JSON.stringify({ version: LAYOUT_VERSION, ...content }));
  const end = Buffer.alloc(END_WORDS * WORD_BYTES);
  end.writeUInt32LE(json.length, 0);
  end.writeUInt32LE(MAGIC, WORD_BYTES);
  return Buffer.concat([json, end]);
}

/**
 * Opens a manifest.
 *
 * @returns undefined when there is none, `'damaged'` when it cannot be read
 */
export function openManifest(path: string): Manifest | 'damaged' | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    return systemErrorCode(error) === 'ENOENT' ? undefined : 'damaged';
  }
  try {
    return createManifest(file, readTail(file));
  } catch {
    closeSync(file);
    return 'damaged';
  }
}

/** @throws Error when the file is not a manifest, or not complete */
function readTail(file: number): TailContent {
  const { size } = fstatSync(file);
  const endBytes = END_WORDS * WORD_BYTES;
  const head = readExactly(file, Buffer.alloc(HEAD_BYTES), 0);
  const end = readExactly(file, Buffer.alloc(endBytes), Math.max(0, size - endBytes));
  const marks = [head.readUInt32LE(0), end.readUInt32LE(WORD_BYTES)];
  if (marks.some((mark) => mark !== MAGIC)) throw new Error('it was not written by Brandfill');
  const jsonAt = size - endBytes - end.readUInt32LE(0);
  const json = readExactly(file, Buffer.alloc(end.readUInt32LE(0)), Math.max(0, jsonAt));
  const tail = parseTail(JSON.parse(json.toString('utf8')));
  const recordBytes = (RECORD_HEAD_WORDS + tail.columns.length) * WORD_BYTES;
  if (jsonAt !== HEAD_BYTES + tail.records * recordBytes) throw new Error('it is not whole');
  return tail;
}

/** @throws Error when it has another layout */
function parseTail(json: unknown): TailContent {
  const column = z.object({ name: z.string(), expression: z.string() });
  const tail = z.object({
    version: z.literal(LAYOUT_VERSION),
    records: z.int().nonnegative(),
    columns: z.array(column),
    unused: z.array(z.string()),
  });
  return tail.parse(json);
}

function createManifest(file: number, { columns, records, unused }: TailContent): Manifest {
  const recordWords = RECORD_HEAD_WORDS + columns.length;
  const recordBytes = recordWords * WORD_BYTES;
  const perBlock = Math.max(1, Math.floor(READ_BYTES / recordBytes));
  const words = new Uint32Array(perBlock * recordWords);
  let from = 0;
  let to = 0;

  function load(first: number, count: number): void {
    const until = Math.min(records, first + count);
    const bytes = Buffer.from(words.buffer, 0, (until - first) * recordBytes);
    readExactly(file, bytes, HEAD_BYTES + first * recordBytes);
    from = first;
    to = until;
  }

  return {
    columns,
    unused: new Set(unused),
    readIds: () => {
      const ids = new Uint32Array(2 * records);
      for (let first = 0; first < records; first += perBlock) {
        load(first, perBlock);
        for (let record = first; record < to; record += 1) {
          const at = (record - first) * recordWords;
          ids[2 * record] = words[at + AT.idLow] ?? 0;
          ids[2 * record + 1] = words[at + AT.idHigh] ?? 0;
        }
      }
      return ids;
    },
    read: (record) => {
      if (record < from || record >= to) {
        // For a list in another order, a whole block would be read for each row.
        load(record, record >= to && record - to < perBlock ? perBlock : 1);
      }
      return (record - from) * recordWords;
    },
    words,
    close: async () => closeSync(file),
  };
}

/** @throws Error when the file ends too early */
function readExactly(file: number, bytes: Buffer, position: number): Buffer {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, position + done);
    if (count === 0) throw new Error('it ends too early');
    done += count;
  }
  return bytes;
}

/** Writes the manifest of a run. Nothing is in its place before `commit`. */
export interface ManifestWriter {
  readonly columns: readonly ManifestColumn[];
  /** Adds a record. Returns its offset in `words`; the caller must fill it. */
  add(): number;
  readonly words: Uint32Array;
  /** Notes that a record has a value in a column that the output no longer has. */
  use(column: number): void;
  /** Writes gathered records. Must be called regularly: there is room for {@link MOST_GATHERED}. */
  flush(): Promise<void>;
  /** Flushes everything to the disk. */
  finish(): Promise<void>;
  commit(): Promise<void>;
  /** Leaves the place as it was, unless it was committed. */
  discard(): Promise<void>;
}

/** A batch of rows has some two hundred records. */
const MOST_GATHERED = 4_096;

/**
 * @param lost the index from which on columns are no longer in the output
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openManifestWriter(
  path: string,
  columns: readonly ManifestColumn[],
  lost: number = columns.length,
): Promise<ManifestWriter> {
  const file: OutputFile = await openOutputFile(path, [PRIVATE]);
  const recordWords = RECORD_HEAD_WORDS + columns.length;
  const words = new Uint32Array(MOST_GATHERED * recordWords);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(MAGIC, 0);
  await file.write(head);
  const isUsed = columns.map((_, at) => at < lost);
  let gathered = 0;
  let records = 0;

  async function write(): Promise<void> {
    // A copy, because it is still being written while the next records are gathered.
    await file.write(new Uint8Array(words.slice(0, gathered * recordWords).buffer));
    records += gathered;
    gathered = 0;
  }

  return {
    columns,
    words,
    use: (column) => {
      isUsed[column] = true;
    },
    add: () => {
      if (gathered === MOST_GATHERED) throw new RangeError('too many records between two flushes');
      gathered += 1;
      return (gathered - 1) * recordWords;
    },
    flush: async () => {
      if (gathered > MOST_GATHERED / 2) await write();
    },
    finish: async () => {
      await write();
      const unused = columns.filter((_, at) => !isUsed[at]).map(({ name }) => name);
      await file.write(encodeTail({ columns: [...columns], records, unused }));
      await file.finish();
    },
    commit: () => file.commit(),
    discard: () => file.discard(),
  };
}
