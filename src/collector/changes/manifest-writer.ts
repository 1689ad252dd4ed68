import { PRIVATE } from '../../common/file-access.ts';
import { type OutputFile, openOutputFile } from '../output/output-file.ts';
import {
  encodeTail,
  HEAD_BYTES,
  MAGIC,
  type ManifestColumn,
  RECORD_HEAD_WORDS,
} from './manifest.ts';

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
