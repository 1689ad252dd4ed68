import { type OutputFile, openOutputFile } from '../output/output-file.ts';
import {
  encodeTail,
  HEAD_BYTES,
  MAGIC,
  type ManifestColumn,
  RECORD_HEAD_WORDS,
} from './manifest.ts';

/** Writes the manifest of a run; nothing is at its place before `commit`. */
export interface ManifestWriter {
  readonly columns: readonly ManifestColumn[];
  /** Room for the next record, in `words`; where it begins there. It has to be filled. */
  add(): number;
  readonly words: Uint32Array;
  /** Says that a record has a value in a column that the output no longer has. */
  use(column: number): void;
  /** Writes what was gathered. To be called now and then: room is for {@link MOST_GATHERED} records. */
  flush(): Promise<void>;
  /** Brings everything to the disk. */
  finish(): Promise<void>;
  commit(): Promise<void>;
  /** Leaves the place as it was, unless it was committed. */
  discard(): Promise<void>;
}

/** A batch of rows has some two hundred. */
const MOST_GATHERED = 4_096;

/**
 * @param lost the columns from this place on are those that the output no longer has
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openManifestWriter(
  path: string,
  columns: readonly ManifestColumn[],
  lost: number = columns.length,
): Promise<ManifestWriter> {
  const file: OutputFile = await openOutputFile(path);
  const recordWords = RECORD_HEAD_WORDS + columns.length;
  const words = new Uint32Array(MOST_GATHERED * recordWords);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(MAGIC, 0);
  await file.write(head);
  const isUsed = columns.map((_, at) => at < lost);
  let gathered = 0;
  let records = 0;

  async function write(): Promise<void> {
    // A copy: it is still being written when the next records are gathered.
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
