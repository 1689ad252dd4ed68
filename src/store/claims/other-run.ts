import { closeSync, fstatSync, openSync, readSync, rmSync, type Stats, statSync } from 'node:fs';
import { DAY_MS } from '../../common/format.ts';
import { isHere, type Owner, SILENCE_MS } from '../../common/owner.ts';

/** Another run, as its file of claims shows it. */
export interface OtherRun {
  /** Reads what is new. The file of a run that is gone is removed. */
  look(): 'there' | 'of_no_concern' | 'gone';
  /**
   * Whether the run had a domain under way at the last look. When it is lost but workers go on with
   * the domain, the call ends the run on the queue.
   */
  has(domain: string): boolean;
  close(): void;
}

export interface OtherRunOptions {
  /** This run. */
  readonly self: Owner;
  /** Runs at other endpoints are ignored. */
  readonly endpointId: string;
  /** The name of this run on a queue. @default no queue */
  readonly runId?: string | undefined;
  /**
   * Ends what a lost run has on the queue. Resolves with whether nothing is left. @default no queue
   */
  readonly endLost?: ((runId: string) => Promise<boolean>) | undefined;
  /** A run elsewhere that is silent for this long holds nothing any more. @default 10 s */
  readonly silenceMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** A run that stands still for this long, as while paused, keeps nothing from others. */
export const STANDSTILL_MS: number = 5 * 60_000;
/** How often a process is looked up, which costs more than reading its claims. */
const POLL_MS = 500;
/** Nothing of a lost run is kept on a queue for longer. */
const KEPT_MS = 7 * DAY_MS;

export function createOtherRun(
  path: string,
  {
    self,
    endpointId,
    runId,
    endLost,
    silenceMs = SILENCE_MS,
    now = () => performance.now(),
  }: OtherRunOptions,
): OtherRun {
  let file: AppendedLines | undefined;
  let head: ClaimHead | undefined;
  let claimed = new Set<string>();
  /** Whether its process is alive; undefined when that cannot be looked up. */
  let isThere: boolean | undefined;
  let lookedUpAtMs = Number.NEGATIVE_INFINITY;
  let sign = { mtimeMs: Number.NaN, atMs: 0 };
  let isSilent = false;
  /** Whether none of its chunks have been on the queue since its last sign of life. */
  let isEnded = false;
  let ending: Promise<void> | undefined;
  let restsUntilMs = Number.NEGATIVE_INFINITY;

  /** @returns false when the file is gone */
  function read(): boolean {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats) return false;
    if (file?.inode !== stats.ino) {
      close();
      file = openAppendedLines(path);
      head = undefined;
      claimed = new Set();
    }
    const lines = file.read();
    head ??= readHead(lines.shift() ?? '');
    noteSign(stats);
    applyLines(claimed, lines);
    return true;
  }

  /** Times of files are compared only with each other, because the clocks of machines differ. */
  function noteSign({ mtimeMs }: Stats): void {
    const nowMs = now();
    if (mtimeMs !== sign.mtimeMs) {
      sign = { mtimeMs, atMs: nowMs };
      isEnded = false;
    }
    // A live run that is suspended or short of time still has its domains when it goes on.
    isSilent = nowMs - sign.atMs > (isThere ? STANDSTILL_MS : silenceMs);
  }

  function lookItUp({ owner }: ClaimHead): void {
    if (now() - lookedUpAtMs < POLL_MS) return;
    lookedUpAtMs = now();
    isThere = isHere(owner, self);
  }

  function isLost(): boolean {
    return isSilent || isThere === false;
  }

  /** Whether workers may go on with the chunks of a lost run. */
  function isOnQueue(): boolean {
    if (!head?.runId || !endLost || isEnded) return false;
    // This run has the same name, so it has resumed what was there.
    return head.runId !== runId && claimed.size > 0 && Date.now() - sign.mtimeMs < KEPT_MS;
  }

  function endOnQueue(): void {
    if (!head?.runId || !endLost || ending) return;
    const { atMs } = sign;
    ending = endLost(head.runId)
      .then((isNoMoreThere) => {
        isEnded = isNoMoreThere && atMs === sign.atMs;
      })
      .catch(() => {}) // the next attempt may succeed
      .finally(() => {
        ending = undefined;
      });
  }

  function lookAtIt(): 'there' | 'of_no_concern' | 'gone' {
    if (!read()) return 'gone';
    if (head?.endpointId !== endpointId) return 'of_no_concern';
    lookItUp(head);
    if (!isLost() || isOnQueue()) return 'there';
    if (isThere !== false) return 'of_no_concern';
    rmSync(path, { force: true });
    return 'gone';
  }

  /** Skips the file for a while. Thousands may lie about, of killed runs elsewhere. */
  function rest(): 'of_no_concern' {
    close();
    restsUntilMs = now() + POLL_MS;
    return 'of_no_concern';
  }

  function close(): void {
    file?.close();
    file = undefined;
    claimed = new Set();
  }

  return {
    look: () => {
      if (now() < restsUntilMs) return 'of_no_concern';
      try {
        const state = lookAtIt();
        return state === 'of_no_concern' ? rest() : state;
      } catch {
        // The file has just been removed, or is a folder. The files of other runs can still be
        // read.
        return rest();
      }
    },
    has: (domain) => {
      if (!claimed.has(domain)) return false;
      if (!isLost()) return true;
      if (isOnQueue()) endOnQueue();
      return isOnQueue();
    },
    close,
  };
}

/** A file to which another process appends lines. */
interface AppendedLines {
  /** Tells the file from a later one of the same name. */
  readonly inode: number;
  /** The lines that were added since the last call. The first call returns all lines. */
  read(): string[];
  close(): void;
}

/** @throws Error of the file system */
function openAppendedLines(path: string): AppendedLines {
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

/** The first line of a file of claims: its run, and the API of that run. */
export interface ClaimHead {
  readonly owner: Owner;
  readonly endpointId: string;
  /** The run's name on a queue, where workers go on with its lookups after it is lost. */
  readonly runId?: string | undefined;
}

/** The mark of a line that withdraws a claim. No domain begins with it. */
export const WITHDRAWN = '!';

/** The head as the first line of a file. */
export function beginWith(head: ClaimHead): string {
  return `${JSON.stringify(head)}\n`;
}

/** One line of text for each domain. */
export function linesOf(domains: Iterable<string>, mark = ''): string {
  let text = '';
  for (const domain of domains) text += `${mark}${domain}\n`;
  return text;
}

/** @returns undefined when it is not the first line of such a file */
function readHead(line: string): ClaimHead | undefined {
  try {
    const { owner, endpointId, runId } = JSON.parse(line) as Partial<ClaimHead>;
    const isWhole = typeof owner?.token === 'string' && typeof endpointId === 'string';
    return isWhole ? { owner, endpointId, runId } : undefined;
  } catch {
    return undefined;
  }
}

/** Applies lines to the set of claimed domains. */
function applyLines(claimed: Set<string>, lines: readonly string[]): void {
  for (const line of lines) {
    if (line.startsWith(WITHDRAWN)) claimed.delete(line.slice(WITHDRAWN.length));
    else claimed.add(line);
  }
}
