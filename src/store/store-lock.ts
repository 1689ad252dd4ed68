import { join } from 'node:path';
import { holdSuspension } from '../common/suspension.ts';
import { createLockLink, type LockLinkOptions } from './lock-link.ts';

/**
 * Lets one process at a time open, change or close the LMDB environment in a folder.
 *
 * LMDB takes care of that itself, apart from one fault in all releases of the `lmdb` package (seen
 * in 3.5.6). A process that opens the environment reads the number of the latest transaction from
 * the file, and a little later writes it to where all processes look. That takes back a commit in
 * between. The next commit overwrites it, and pages are used twice. LMDB itself has fixed it since.
 */
export interface StoreLock {
  /**
   * Does work while no other process does. Must not be called from within such work.
   *
   * @throws what the work throws, or an Error when another process holds the lock for a minute
   */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

const FILE = 'store.lock';
/**
 * Work that comes while the lock is held shares the hold, but only for this long: others wait for
 * it.
 */
const SHARED_MS = 20;

/** Work that shares one hold of the lock. */
interface Hold {
  users: number;
  /** After this time, new work waits for the next hold. */
  sharedUntilMs: number;
  readonly acquired: Promise<Acquired>;
  readonly ended: Promise<void>;
  end(): void;
}

/** The acquired lock. Suspending the process with Ctrl-Z is delayed meanwhile. */
interface Acquired {
  readonly mark: string;
  letSuspend(): void;
}

/** Creates the lock of the store in an existing folder. */
export function createStoreLock(folder: string, options: LockLinkOptions = {}): StoreLock {
  const link = createLockLink(join(folder, FILE), options);
  let current: Hold | undefined;

  async function acquireAfter(earlier: Hold | undefined): Promise<Acquired> {
    await earlier?.ended;
    const mark = await link.acquire();
    return { mark, letSuspend: holdSuspension() };
  }

  function begin(): Hold {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const acquired = acquireAfter(current);
    return { users: 0, sharedUntilMs: Infinity, acquired, ended, end };
  }

  function isShared({ users, sharedUntilMs }: Hold): boolean {
    return users > 0 && performance.now() <= sharedUntilMs;
  }

  function leave(hold: Hold, acquired: Acquired | undefined): void {
    hold.users -= 1;
    if (hold.users > 0) return;
    try {
      if (acquired) link.release(acquired.mark);
    } finally {
      acquired?.letSuspend();
      hold.end();
    }
  }

  return {
    hold: async (work) => {
      const hold = current && isShared(current) ? current : begin();
      current = hold;
      hold.users += 1;
      let acquired: Acquired | undefined;
      try {
        acquired = await hold.acquired;
        hold.sharedUntilMs = Math.min(hold.sharedUntilMs, performance.now() + SHARED_MS);
        return await work();
      } finally {
        leave(hold, acquired);
      }
    },
  };
}
