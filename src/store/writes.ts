import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError, describeSystemError } from '../common/errors.ts';
import { isFull, type LmdbFile } from './lmdb-file.ts';

/**
 * Writes to a store whose errors are turned into messages by {@link writeError}. After the first one
 * that fails, LMDB would never end those behind it: they fail with it, and so do all later ones.
 */
export interface Writes extends Pick<LmdbFile, 'close'> {
  /** Does work that changes the store. */
  readonly write: <T>(work: () => Promise<T>) => Promise<T>;
  /** Resolves with the error of the first write that fails. */
  readonly failed: Promise<BrandfillError>;
  /** Waits until all that was committed is on the disk. */
  flush(): Promise<void>;
}

/** Writes to the file in a folder. */
export function createWrites(folder: string, file: LmdbFile): Writes {
  const { root } = file;
  let failure: BrandfillError | undefined;
  let tell: (failure: BrandfillError) => void;
  const failed = new Promise<BrandfillError>((resolve) => {
    tell = resolve;
  });
  /** Those who wait for a write. */
  const waiting = new Set<(failure: BrandfillError) => void>();

  function fail(cause: unknown): BrandfillError {
    if (failure) return failure;
    failure = writeError(folder, cause);
    file.abandon();
    tell(failure);
    for (const reject of waiting) reject(failure);
    return failure;
  }

  function write<T>(work: () => Promise<T>): Promise<T> {
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
    write,
    failed,
    flush: async () => {
      await write(async () => {
        if (!existsSync(folder)) throw new Error('the folder was removed');
        await root.committed;
      });
      await write(async () => await root.flushed);
    },
    close: async () => {
      if (!failure) await write(() => file.close());
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
  if (isLmdbError(error) && DAMAGES.has(error.code)) return damageError(folder, error);
  const isWithoutRoom = isFull(folder);
  const why = isWithoutRoom ? 'the disk is full' : describeSystemError(error);
  const first = isWithoutRoom ? 'make room and ' : '';
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot write to the store ${folder}: ${why}. What was stored is kept; ${first}run the same command again.`,
    { cause: error },
  );
}

/** Says why a store cannot be read. LMDB notices damage only when it comes to the damaged page. */
export function readError(
  folder: string,
  error: Error & { readonly code: number },
): BrandfillError {
  if (DAMAGES.has(error.code)) return damageError(folder, error);
  const message = `Cannot read the store ${folder}: ${describeSystemError(error)}; run the same command again.`;
  return new BrandfillError('UNUSABLE_STORE', message, { cause: error });
}

function damageError(folder: string, error: Error): BrandfillError {
  return new BrandfillError(
    'UNUSABLE_STORE',
    `Cannot use the store ${folder}: its file data.mdb is damaged (${describeSystemError(error)}); put a copy of the folder in its place, or choose another folder with --store.`,
    { cause: error },
  );
}

/** `MDB_PAGE_NOTFOUND`, `MDB_CORRUPTED`, `MDB_INVALID`, and `MDB_BAD_TXN`, which follows from them. */
const DAMAGES: ReadonlySet<number> = new Set([-30797, -30796, -30793, -30782]);

/** Whether an error is LMDB's own: it has the number of LMDB's error, or of the system's. */
export function isLmdbError(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number';
}

/** Gathers writes, so that many share one commit. */
interface CommitBatches<T> {
  /** @returns when the write is committed, along with others that came at about the same time */
  add(write: T): Promise<void>;
  /** Waits until all writes so far are committed. */
  settle(): Promise<void>;
}

/** Writes that arrive within this time share a commit; each commit costs an fsync. */
const COMMIT_DELAY_MS = 10;

/** @param commit writes all of a batch in one transaction */
export function createCommitBatches<T>(
  commit: (batch: readonly T[]) => Promise<void>,
): CommitBatches<T> {
  let gathering: T[] = [];
  let next: Promise<void> | undefined;
  let latest: Promise<void> = Promise.resolve();

  async function commitLater(): Promise<void> {
    await delay(COMMIT_DELAY_MS);
    const batch = gathering;
    gathering = [];
    next = undefined;
    await commit(batch);
  }

  return {
    add: (write) => {
      gathering.push(write);
      if (!next) {
        next = commitLater();
        latest = next;
      }
      return next;
    },
    // Commits come one after the other, so the latest is the last.
    settle: () => latest,
  };
}
