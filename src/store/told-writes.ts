import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { isFull, type LmdbFile } from './lmdb-file.ts';

/**
 * Writes to a store whose errors are turned into messages by {@link writeError}. After the first one
 * that fails, LMDB would never end those behind it: they fail with it, and so do all later ones.
 */
export interface ToldWrites extends Pick<LmdbFile, 'lock' | 'close'> {
  /** Waits until all that was committed is on the disk. */
  flush(): Promise<void>;
}

/**
 * Wraps the lock and the end of the file in a folder, so that their errors are messages for users.
 */
export function tellWrites(folder: string, file: LmdbFile): ToldWrites {
  const { root, lock } = file;
  let failure: BrandfillError | undefined;
  /** Those who wait for a write. */
  const waiting = new Set<(failure: BrandfillError) => void>();

  function fail(cause: unknown): BrandfillError {
    if (failure) return failure;
    failure = writeError(folder, cause);
    file.abandon();
    for (const reject of waiting) reject(failure);
    return failure;
  }

  function told<T>(work: () => Promise<T>): Promise<T> {
    if (failure) return Promise.reject(failure);
    return new Promise<T>((resolve, reject) => {
      waiting.add(reject);
      work()
        .then(resolve, async (error: unknown) => reject(fail(await causeOf(error))))
        .finally(() => waiting.delete(reject))
        .catch(reject);
    });
  }

  return {
    lock: { hold: (work) => told(() => lock.hold(work)) },
    flush: async () => {
      await told(async () => await root.committed);
      await told(async () => await root.flushed);
    },
    close: async () => {
      if (!failure) await told(() => file.close());
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
