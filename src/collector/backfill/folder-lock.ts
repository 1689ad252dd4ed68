import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'lmdb';
import { beat, lastBeat } from '../../common/beat.ts';
import { BEAT_MS, describeSelf, isAlive, type Owner, SILENCE_MS } from '../../common/owner.ts';
import type { LmdbFile } from '../../store/lmdb-file.ts';

/** The claim of this process on a folder. */
export interface FolderLock {
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

  // Created before the claim, which would stay if this failed. Signs of another owner are left
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
