import { createHash } from 'node:crypto';
import {
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemErrorCode } from '../errors.ts';
import { describeSelf, isHere, type Owner, SILENCE_MS } from '../owner.ts';

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
   * Does something while no other process does.
   *
   * @throws what the work throws, or an Error when another process holds on for a minute
   */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

export interface StoreLockOptions {
  /** This process. */
  readonly self?: Owner;
  /** A holder that cannot be looked at from here counts as gone when it held on for so long. @default 10 s */
  readonly silenceMs?: number;
  /** How long to wait for a holder that is there. @default a minute */
  readonly patienceMs?: number;
}

const FILE = 'store.lock';
/** Work that comes while the lock is held shares it, but no longer than this: others wait. */
const SHARED_MS = 20;
/** The longest that is waited between two tries; a commit takes a few milliseconds. */
const RETRY_MS = 4;
const PATIENCE_MS = 60_000;

/** Work that shares one hold of the lock. */
interface Hold {
  readonly acquired: Promise<void>;
  readonly mark: string;
  users: number;
  /** After that, other work waits for the next hold. */
  sharedUntilMs: number;
}

/** The lock of the store in a folder, which is there: a link that says who has it. */
export function createStoreLock(
  folder: string,
  {
    self = describeSelf(),
    silenceMs = SILENCE_MS,
    patienceMs = PATIENCE_MS,
  }: StoreLockOptions = {},
): StoreLock {
  const path = join(folder, FILE);
  const owner = { ...self, place: shorten(self.place) };
  let current: Hold | undefined;

  async function acquire(mark: string): Promise<void> {
    const startedMs = performance.now();
    let seen = '';
    let seenMs = startedMs;
    while (!tryToTake(path, mark)) {
      const held = readMark(path);
      const nowMs = performance.now();
      if (held === undefined) continue; // it was released just now
      if (held !== seen) [seen, seenMs] = [held, nowMs];
      if (isGone(held, owner, nowMs - seenMs > silenceMs)) removeStale(path, held);
      else if (nowMs - startedMs > patienceMs) throw stillHeld(path, held);
      else await delay(Math.random() * RETRY_MS);
    }
  }

  function begin(): Hold {
    const mark = nextMark(owner);
    const hold: Hold = { acquired: acquire(mark), mark, users: 0, sharedUntilMs: Infinity };
    hold.acquired.then(
      () => {
        hold.sharedUntilMs = performance.now() + SHARED_MS;
      },
      () => {
        hold.sharedUntilMs = 0;
      },
    );
    return hold;
  }

  return {
    hold: async (work) => {
      if (!current || current.users === 0 || performance.now() > current.sharedUntilMs) {
        current = begin();
      }
      const hold = current;
      hold.users += 1;
      try {
        await hold.acquired;
        return await work();
      } finally {
        hold.users -= 1;
        if (hold.users === 0 && readMark(path) === hold.mark) rmSync(path, { force: true });
      }
    },
  };
}

let holds = 0;

/** Says who holds the lock, in so few bytes that the link needs no block of the disk. */
function nextMark({ pid, startedAt, place }: Owner): string {
  holds += 1;
  return [pid, startedAt, place, holds.toString(36)].join('.');
}

function shorten(place: string): string {
  return createHash('sha256').update(place).digest('base64url').slice(0, 12);
}

/** Whether who held the lock is no more, as far as can be told from here. */
function isGone(mark: string, self: Owner, isSilent: boolean): boolean {
  const [pid = '', startedAt = '', place = '', token = ''] = mark.split('.');
  return !(isHere({ pid: Number(pid), startedAt, place, token }, self) ?? !isSilent);
}

function stillHeld(path: string, mark: string): Error {
  const [pid = ''] = mark.split('.');
  return new Error(
    `process ${pid} keeps it locked with ${path}; let that go on, or end it, and run this again`,
  );
}

/** A link is whole from its first moment, and one call to make. */
function tryToTake(path: string, mark: string): boolean {
  try {
    symlinkSync(mark, path);
    return true;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOTSUP') throw error;
    return tryToWrite(path, mark);
  }
}

/** Not everybody may make links on Windows, and not every file system has them. */
function tryToWrite(path: string, mark: string): boolean {
  try {
    writeFileSync(path, mark, { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function readMark(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
  }
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Takes the lock from a holder that is gone, unless another process has done so before. */
function removeStale(path: string, mark: string): void {
  if (readMark(path) !== mark) return;
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  const taken = readMark(aside);
  // It may be that of a process which was faster: that one gets it back.
  if (taken !== undefined && taken !== mark) tryToTake(path, taken);
  rmSync(aside, { force: true });
}
