import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'lmdb';
import { beat, lastBeat } from '../../common/beat.ts';
import { BEAT_MS, describeSelf, isAlive, type Owner, SILENCE_MS } from '../../common/owner.ts';
import type { LmdbFile } from '../../store/lmdb-file.ts';

/** The claim of this process on a folder. */
export interface FolderLock {
  /** Whether nobody else has taken the folder, such as while this process was frozen. */
  isOurs(): boolean;
  release(): Promise<void>;
}

export interface LockFolderOptions extends Pick<LmdbFile, 'commit'> {
  /** Who has it. */
  readonly owners: Database<Owner, string>;
  /** Where the owner's signs of life go. */
  readonly folder: string;
  /** An owner that cannot be looked at from here counts as gone when it gave no sign for so long. @default 10 s */
  readonly silenceMs?: number;
  /** How often this one gives a sign of life. @default 2 s */
  readonly beatMs?: number;
  /** This process. */
  readonly self?: Owner;
}

/**
 * Takes a folder for this process alone, or gives back who has it. A process that was killed does not
 * keep it: on the same machine its number and start are looked up; one in another container or on
 * another machine is waited for, since it gives a sign of life every two seconds.
 */
export async function lockFolder(options: LockFolderOptions): Promise<FolderLock | Owner> {
  const { commit, owners, folder, self = describeSelf() } = options;
  const { silenceMs = SILENCE_MS, beatMs = BEAT_MS } = options;
  const beatFile = join(folder, 'beat');
  const signs = { lastBeat: () => lastBeat(beatFile), silenceMs };

  // Made before the claim, which would stay if this failed; the signs of whoever has it are left alone.
  writeFileSync(beatFile, '', { flag: 'a' });
  for (;;) {
    const owner = owners.get(KEY);
    if (owner && (await isAlive(owner, self, signs))) return owner;
    const isTaken = await commit(() => {
      // Another one may have been faster.
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
