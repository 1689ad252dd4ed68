import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'lmdb';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder } from '../../common/make-folder.ts';
import { describeOwner, type Owner } from '../../common/owner.ts';
import { type LmdbFile, openLmdb } from '../../store/lmdb-file.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { createJournal, type Journal, type JournalTables, openJournalTables } from './journal.ts';

/** A folder for the files of a backfill, held by this process alone. */
export interface BackfillFolder {
  readonly path: string;
  readonly journal: Journal;
  /** Whether no other process has taken it, for example while this one was frozen. */
  isOurs(): boolean;
  close(): Promise<void>;
}

/** The subfolder for what the collector has to remember. */
const JOURNAL = '.collect';

/**
 * Opens a folder, which is created if it does not exist, and locks it.
 *
 * @param flag the name of the folder's option in messages
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openBackfillFolder(path: string, flag: string): Promise<BackfillFolder> {
  const journalFolder = join(path, JOURNAL);
  const file = await openFile(path, flag);
  let lock: Awaited<ReturnType<typeof lockFolder>>;
  try {
    lock = await lockFolder({ ...file, folder: journalFolder });
  } catch (error) {
    await file.close();
    throw unwritable(path, describeSystemError(error), { flag, cause: error });
  }
  if (!('isOurs' in lock)) {
    await file.close();
    throw unwritable(path, `another collector writes to it (${describeOwner(lock)})`, {
      flag,
    });
  }
  const ours: FolderLock = lock;
  const journal = createJournal(file, () => {
    if (!ours.isOurs()) throw new Error('another collector has taken the folder');
  });
  return {
    path,
    journal,
    isOurs: () => ours.isOurs(),
    close: async () => {
      try {
        await ours.release();
      } catch {
        // The disk is full. The next collector sees that this process is gone.
      }
      await file.close();
    },
  };
}

interface CollectorFile extends LmdbFile, JournalTables {
  readonly owners: Database<Owner, string>;
}

async function openFile(path: string, flag: string): Promise<CollectorFile> {
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
    return await openLmdb(join(path, JOURNAL), ({ root }) => ({
      ...openJournalTables(root),
      owners: root.openDB('owner', { encoding: 'json' }),
    }));
  } catch (error) {
    const cause = error instanceof BrandfillError ? error.cause : error;
    throw unwritable(path, describeSystemError(cause), { flag, cause });
  }
}

function unwritable(
  path: string,
  reason: string,
  { flag, cause }: { readonly flag: string; readonly cause?: unknown },
): BrandfillError {
  return new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write to the folder ${path}: ${reason}; put that right, or choose another folder with ${flag}.`,
    { cause },
  );
}
