import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describeSystemError, systemErrorCode } from './errors.ts';
import {
  describeSelf,
  GONE_MS,
  isHere,
  noteGone,
  type Owner,
  SILENCE_MS,
  shortenPlace,
} from './owner.ts';

/**
 * A lock for moments, shared by processes on one file system: a symbolic link to nowhere whose
 * target names the holder. It is created complete, with one system call.
 *
 * The link of a holder that is gone stays until the lock is released. Whoever takes over creates a
 * second link, named after that holder, which only one can create; and so on, if the heir is killed
 * too. The last of the chain has the lock. To remove the stale link instead would take two calls,
 * one that looks and one that removes, and in between the link may have become that of a faster one.
 */
export interface LockLink {
  /**
   * Waits until no other process has it. The lock of a killed process is taken over. On the same
   * machine its process id and start time are looked up. A holder in another container or on
   * another machine counts as gone when it holds on for long.
   *
   * @returns the mark to release it with
   * @throws Error when a live process holds on for too long, or the holder cannot be read
   */
  acquire(): Promise<string>;
  release(mark: string): void;
}

export interface LockLinkOptions {
  /** This process. */
  readonly self?: Owner;
  /**
   * A holder that cannot be looked up here counts as gone after it held on for this long. @default
   * 10 s
   */
  readonly silenceMs?: number;
  /** How long to wait for a live holder. @default a minute */
  readonly patienceMs?: number;
}

/** The longest wait between two tries. A commit takes a few milliseconds. */
const RETRY_MS = 4;
/** How often to look up whether the holder is alive, which costs more than a try. */
const POLL_MS = 20;
const PATIENCE_MS = 60_000;

/** @param path where the link is created, in an existing folder */
export function createLockLink(
  path: string,
  { self = describeSelf(), silenceMs = SILENCE_MS, patienceMs = PATIENCE_MS }: LockLinkOptions = {},
): LockLink {
  const owner = { ...self, place: shortenPlace(self.place) };

  return {
    acquire: async () => {
      const mark = nextMark(owner);
      const startedMs = performance.now();
      let holder = { mark: '', sinceMs: startedMs, lookedMs: startedMs };
      while (!tryToTake(path, mark)) {
        const chain = readChain(path);
        if (chain === undefined) continue; // it was released just now
        const nowMs = performance.now();
        const held = chain.holder;
        if (held !== holder.mark) holder = { mark: held, sinceMs: nowMs, lookedMs: nowMs };
        if (nowMs - holder.lookedMs > POLL_MS) {
          holder.lookedMs = nowMs;
          const isSilent = nowMs - holder.sinceMs > silenceMs;
          if (isGone(held, owner, isSilent) && tryToTakeOver(path, chain, mark)) break;
        }
        if (nowMs - startedMs > patienceMs) throw stillHeld(path, held);
        await delay(Math.random() * RETRY_MS);
      }
      return mark;
    },
    release: (mark) => {
      try {
        const chain = readChain(path);
        if (chain?.holder !== mark) return;
        // The one at the path first: without it, the others count for nothing.
        for (const link of chain.links) rmSync(link, { force: true });
      } catch (error) {
        releasedMarks.add(mark);
        throw error;
      }
    },
  };
}

/** The links of a lock that is taken. */
interface Chain {
  /** The one at the path, and those of the heirs. */
  readonly links: readonly string[];
  /** The mark of the first. No mark is ever used again. */
  readonly first: string;
  /** The mark of the last. */
  readonly holder: string;
}

function readChain(path: string): Chain | undefined {
  const first = readMark(path);
  if (first === undefined) return undefined;
  const links = [path];
  let holder = first;
  for (;;) {
    const link = linkOfHeir(path, holder);
    const heir = readMark(link);
    if (heir === undefined) return { links, first, holder };
    links.push(link);
    holder = heir;
  }
}

function linkOfHeir(path: string, mark: string): string {
  return `${path}.${createHash('sha256').update(mark).digest('hex').slice(0, 16)}`;
}

/** Takes the lock after a holder that is gone, unless another process has already done so. */
function tryToTakeOver(path: string, { first, holder }: Chain, mark: string): boolean {
  const link = linkOfHeir(path, holder);
  if (!tryToTake(link, mark)) return false;
  if (readMark(path) === first) return true;
  rmSync(link, { force: true }); // another heir has released the lock meanwhile
  return false;
}

/**
 * Marks that this process released while the folder was read-only. Their links still exist and name
 * a live process, but the lock is free.
 */
const releasedMarks = new Set<string>();

let holds = 0;

/** Names the holder in few enough bytes that the link needs no disk block. */
function nextMark({ pid, startedAt, place }: Owner): string {
  holds += 1;
  return [pid, startedAt, place, holds.toString(36)].join('.');
}

/** Whether the holder of the lock is gone, as far as can be told from here. */
function isGone(mark: string, self: Owner, isSilent: boolean): boolean {
  if (releasedMarks.has(mark)) return true;
  const [pid = '', startedAt = '', place = '', token = ''] = mark.split('.');
  const holder = { pid: Number(pid), startedAt, place, token };
  const isThere = isHere(holder, self);
  if (isThere === undefined && isSilent) noteGone(holder, GONE_MS);
  return !(isThere ?? !isSilent);
}

function stillHeld(path: string, mark: string): Error {
  const [pid = ''] = mark.split('.');
  return new Error(
    `process ${pid} keeps it locked with ${path}; let that go on, or end it, and run this again`,
  );
}

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

/**
 * Used where links are not allowed, as for some users of Windows, or not supported by the file
 * system.
 */
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
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== 'EACCES' && code !== 'EISDIR') return undefined;
    // Further attempts would fail as well.
    throw new Error(`its lock ${path} cannot be read: ${describeSystemError(error)}`, {
      cause: error,
    });
  }
}
