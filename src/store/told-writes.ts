import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { isFull, type LmdbFile } from './lmdb-file.ts';

/** Writes to a store whose errors are turned into messages by {@link writeError}. */
export interface ToldWrites extends Pick<LmdbFile, 'lock' | 'close'> {
  /** Waits until all that was committed is on the disk. */
  flush(): Promise<void>;
}

/**
 * Wraps the lock and the end of the file in a folder, so that their errors are messages for users.
 */
export function tellWrites(folder: string, file: LmdbFile): ToldWrites {
  const { root, lock } = file;
  let hasFailed = false;

  async function told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      hasFailed = true;
      file.abandon();
      throw writeError(folder, await causeOf(error));
    }
  }

  return {
    lock: { hold: (work) => told(() => lock.hold(work)) },
    flush: async () => {
      await told(async () => await root.committed);
      await told(async () => await root.flushed);
    },
    close: async () => {
      // After a failed commit, lmdb waits for ever for the commits behind it.
      if (!hasFailed) await told(() => file.close());
    },
  };
}

/** Lmdb's error of a failed commit has the reason in another promise. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    const reason: unknown = await error.commitError;
    return reason instanceof Error ? reason : error;
  } catch (reason) {
    return reason;
  }
}

/** Says why nothing could be written to the store in a folder. */
export function writeError(folder: string, error: unknown): BrandfillError {
  const isWithoutRoom = isFull(folder);
  const why = isWithoutRoom ? 'the disk is full' : describeSystemError(error);
  const first = isWithoutRoom ? 'make room and ' : '';
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to the store ${folder}: ${why}. What was stored is kept; ${first}run the same command again.`,
    { cause: error },
  );
}
