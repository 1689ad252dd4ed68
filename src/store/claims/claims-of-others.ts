import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { isHere, type Owner, SILENCE_MS } from '../../common/owner.ts';
import { applyLines, type ClaimHead, readHead } from './claim-lines.ts';

/** What other runs at the same API have under way. */
export interface ClaimsOfOthers {
  /**
   * Reads what is new.
   *
   * @returns whether there are other runs, or were at the last look
   * @throws Error of the file system
   */
  look(): boolean;
  /** Whether a run that lives, or workers of one that is lost, had a domain under way, at the last look. */
  has(domain: string): boolean;
  close(): void;
}

export interface ClaimsOfOthersOptions {
  readonly self: Owner;
  readonly endpointId: string;
  /** The name of this run on a queue. @default there is no queue */
  readonly runId?: string | undefined;
  /** Ends what a lost run has on the queue; says whether nothing is there any more. @default there is no queue */
  readonly endLost?: ((runId: string) => Promise<boolean>) | undefined;
  /** A run elsewhere that gave no sign of life for so long has nothing any more. @default 10 s */
  readonly silenceMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** A run of which nothing came for so long, as one that is paused, keeps nothing from others. */
export const STANDSTILL_MS: number = 5 * 60_000;
/** Whether a process is there is looked up so often; that costs more than reading what it claims. */
const LOOK_MS = 500;
/** Nothing of a lost run is kept on a queue for longer. */
const KEPT_MS = 7 * 24 * 60 * 60_000;
/** Two changes of a folder within a tick of the file system's clock leave the same time. */
const TICK_MS = 100;

/** @param folder which is there */
export function readClaimsOfOthers(folder: string, options: ClaimsOfOthersOptions): ClaimsOfOthers {
  const others = new Map<string, OtherRun>();
  let listedAtMs = Number.NaN;

  function list(): void {
    const { mtimeMs } = statSync(folder);
    if (mtimeMs === listedAtMs && Math.abs(Date.now() - mtimeMs) > TICK_MS) return;
    for (const name of readdirSync(folder)) {
      // Files that are not whole yet begin with a dot.
      if (name.startsWith('.') || name === options.self.token || others.has(name)) continue;
      others.set(name, createOtherRun(join(folder, name), options));
    }
    listedAtMs = mtimeMs;
  }

  return {
    look: () => {
      list();
      let areThere = false;
      for (const [name, other] of others) {
        const state = other.look();
        // One that has just ended may have stored what was asked for.
        areThere ||= state !== 'of_no_concern';
        if (state !== 'gone') continue;
        other.close();
        others.delete(name);
      }
      return areThere;
    },
    has: (domain) => {
      for (const other of others.values()) if (other.has(domain)) return true;
      return false;
    },
    close: () => {
      for (const other of others.values()) other.close();
      others.clear();
    },
  };
}

interface OtherRun {
  look(): 'there' | 'of_no_concern' | 'gone';
  has(domain: string): boolean;
  close(): void;
}

function createOtherRun(
  path: string,
  {
    self,
    endpointId,
    runId,
    endLost,
    silenceMs = SILENCE_MS,
    now = () => performance.now(),
  }: ClaimsOfOthersOptions,
): OtherRun {
  let file: OpenFile | undefined;
  let head: ClaimHead | undefined;
  let claimed = new Set<string>();
  let isSilent = false;
  let isEnded = false;
  let ending: Promise<void> | undefined;
  /** Undefined where that cannot be looked up. */
  let isThere: boolean | undefined;
  let sign = { mtimeMs: Number.NaN, atMs: 0 };
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  /** @returns false when the file is gone */
  function read(): boolean {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats) return false;
    if (file?.inode !== stats.ino) {
      close();
      file = openFile(path);
      head = undefined;
      claimed = new Set();
    }
    noteSign(stats);
    const lines = file.read();
    if (!head) {
      const found = readHead(lines.shift() ?? '');
      head = found?.endpointId === endpointId ? found : undefined;
      if (!head) return true;
    }
    applyLines(claimed, lines);
    return true;
  }

  /** Times of files are compared with each other only: clocks of machines differ. */
  function noteSign({ mtimeMs }: Stats): void {
    const nowMs = now();
    if (mtimeMs !== sign.mtimeMs) {
      sign = { mtimeMs, atMs: nowMs };
      isEnded = false;
    }
    // One that is there, but suspended or short of time, still has what it had when it goes on.
    isSilent = nowMs - sign.atMs > (isThere ? STANDSTILL_MS : silenceMs);
  }

  function isGone(): boolean {
    const nowMs = now();
    if (!head || nowMs - lookedAtMs < LOOK_MS) return isThere === false;
    lookedAtMs = nowMs;
    isThere = isHere(head.owner, self);
    return isThere === false;
  }

  /** Whether workers may go on with what a run gave out that is lost. */
  function isOnQueue(): boolean {
    if (!head?.runId || !endLost || isEnded) return false;
    // A run of the same name has taken up what was there.
    return head.runId !== runId && claimed.size > 0 && Date.now() - sign.mtimeMs < KEPT_MS;
  }

  /** Somebody wants it: else the same command, started again, goes on with it. */
  function endOnQueue(): void {
    if (!head?.runId || !endLost || ending) return;
    const { atMs } = sign;
    ending = endLost(head.runId)
      .then((isNoMoreThere) => {
        isEnded = isNoMoreThere && atMs === sign.atMs;
      })
      .catch(() => {}) // the next time it may go
      .finally(() => {
        ending = undefined;
      });
  }

  function close(): void {
    file?.close();
    file = undefined;
  }

  return {
    look: () => {
      if (!read()) return 'gone';
      if (isGone() && !isOnQueue()) {
        rmSync(path, { force: true });
        return 'gone';
      }
      return head && (!isSilent || isOnQueue()) ? 'there' : 'of_no_concern';
    },
    has: (domain) => {
      if (!claimed.has(domain)) return false;
      if (!isSilent && isThere !== false) return true;
      if (isOnQueue()) endOnQueue();
      return isOnQueue();
    },
    close,
  };
}

/** A file that others append lines to. */
interface OpenFile {
  readonly inode: number;
  /** The lines that were added since the last time. */
  read(): string[];
  close(): void;
}

function openFile(path: string): OpenFile {
  const handle = openSync(path, 'r');
  let offset = 0;
  let rest = '';
  return {
    inode: fstatSync(handle).ino,
    read: () => {
      const bytes = Buffer.allocUnsafe(Math.max(0, fstatSync(handle).size - offset));
      const count = readSync(handle, bytes, 0, bytes.length, offset);
      offset += count;
      const lines = (rest + bytes.toString('utf8', 0, count)).split('\n');
      rest = lines.pop() ?? '';
      return lines;
    },
    close: () => closeSync(handle),
  };
}
