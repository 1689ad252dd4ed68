import { accessSync, constants, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'lmdb';
import { BrandfillError, describeSystemError } from '../../common/errors.ts';
import { makeFolder } from '../../common/files.ts';
import {
  BEAT_MS,
  beat,
  describeOwner,
  describeSelf,
  isAlive,
  lastBeat,
  type Owner,
  SILENCE_MS,
} from '../../common/owner.ts';
import { type LmdbFile, openLmdb } from '../../store/lmdb-file.ts';
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

/** That this process owns a folder. */
interface FolderLock {
  /** Whether no other process has taken the folder, for example while this one was frozen. */
  isOurs(): boolean;
  release(): Promise<void>;
}

export interface LockFolderOptions extends Pick<LmdbFile, 'commit'> {
  /** The table with the owner. */
  readonly owners: Database<Owner, string>;
  /** The folder of the file for the owner's signs of life. */
  readonly folder: string;
  /** An owner that cannot be looked up here counts as gone after this silence. @default 10 s */
  readonly silenceMs?: number;
  /** How often this process gives a sign of life. @default 2 s */
  readonly beatMs?: number;
  /** This process. */
  readonly self?: Owner;
}

/**
 * Takes a folder for this process alone, or returns its owner. A killed process does not keep it.
 * On the same machine its process id and start time are looked up. A process in another container
 * or on another machine is given time to show a sign of life, which comes every two seconds.
 */
export async function lockFolder(options: LockFolderOptions): Promise<FolderLock | Owner> {
  const { commit, owners, folder, self = describeSelf() } = options;
  const { silenceMs = SILENCE_MS, beatMs = BEAT_MS } = options;
  const beatFile = join(folder, 'beat');
  const signs = { lastBeat: () => lastBeat(beatFile), silenceMs };

  // Created before the lock, which would stay if this failed. Signs of another owner are left
  // alone.
  writeFileSync(beatFile, '', { flag: 'a' });
  for (;;) {
    const owner = owners.get(KEY);
    if (owner && (await isAlive(owner, self, signs))) return owner;
    const isTaken = await commit(() => {
      // Another process may have been faster.
      if (owners.get(KEY)?.token !== owner?.token) return false;
      owners.putSync(KEY, self);
      return true;
    });
    if (isTaken) break;
  }
  const timer = setInterval(() => beat(beatFile), beatMs);
  timer.unref();
  const isOurs = (): boolean => owners.get(KEY)?.token === self.token;
  return {
    isOurs,
    release: async () => {
      clearInterval(timer);
      await commit(() => {
        if (isOurs()) owners.removeSync(KEY);
      });
    },
  };
}

const KEY = 'owner';
