import { join } from 'node:path';
import { holdSuspension } from '../common/suspension.ts';
import { createLockLink, type LockLinkOptions } from './lock-link.ts';

/**
 * Lets one process at a time open, change or close the LMDB environment in a folder.
 *
 * LMDB takes care of that by itself, but for one fault that all releases of the `lmdb` package have
 * (seen in 3.5.6): whoever opens reads the number of the latest transaction from the file, and a
 * little later writes it to where all processes look. A commit in between is taken back by that; the
 * next one overwrites it, and pages come to be used twice. LMDB itself has mended it since.
 */
export interface StoreLock {
  /**
   * Does something while no other process does. Not to be called from within such work.
   *
   * @throws what the work throws, or an Error when another process holds on for a minute
   */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

const FILE = 'store.lock';
/** Work that comes while the lock is held shares it, but no longer than this: others wait. */
const SHARED_MS = 20;

/** Work that shares one hold of the lock. */
interface Hold {
  users: number;
  /** After that, other work waits for the next hold. */
  sharedUntilMs: number;
  readonly acquired: Promise<Acquired>;
  readonly ended: Promise<void>;
  end(): void;
}

/** The lock, and Ctrl-Z waits. */
interface Acquired {
  readonly mark: string;
  letSuspend(): void;
}

/** The lock of the store in a folder, which is there. */
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
