import { rmSync, type Stats, statSync } from 'node:fs';
import { isHere, type Owner, SILENCE_MS } from '../../common/owner.ts';
import { type AppendedLines, openAppendedLines } from './appended-lines.ts';
import { applyLines, type ClaimHead, readHead } from './claim-lines.ts';

/** Another run, as its file of claims tells. */
export interface OtherRun {
  /** Reads what is new. A file of one that is gone is removed. */
  look(): 'there' | 'of_no_concern' | 'gone';
  /**
   * Whether it had a domain under way at the last look. Where workers go on with that though the run is
   * lost, asking for it ends the run in its place.
   */
  has(domain: string): boolean;
  close(): void;
}

export interface OtherRunOptions {
  /** This run. */
  readonly self: Owner;
  /** Runs at other endpoints are of no concern. */
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
  /** Whether its process is there; undefined where that cannot be looked up. */
  let isThere: boolean | undefined;
  let lookedUpAtMs = Number.NEGATIVE_INFINITY;
  let sign = { mtimeMs: Number.NaN, atMs: 0 };
  let isSilent = false;
  /** Whether nothing that it gave out is on the queue any more, since its last sign. */
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

  function lookItUp({ owner }: ClaimHead): void {
    if (now() - lookedUpAtMs < LOOK_MS) return;
    lookedUpAtMs = now();
    isThere = isHere(owner, self);
  }

  function isLost(): boolean {
    return isSilent || isThere === false;
  }

  /** Whether workers may go on with what a lost run gave out. */
  function isOnQueue(): boolean {
    if (!head?.runId || !endLost || isEnded) return false;
    // A run of the same name has taken up what was there.
    return head.runId !== runId && claimed.size > 0 && Date.now() - sign.mtimeMs < KEPT_MS;
  }

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

  function lookAtIt(): 'there' | 'of_no_concern' | 'gone' {
    if (!read()) return 'gone';
    if (head?.endpointId !== endpointId) return 'of_no_concern';
    lookItUp(head);
    if (!isLost() || isOnQueue()) return 'there';
    if (isThere !== false) return 'of_no_concern';
    rmSync(path, { force: true });
    return 'gone';
  }

  /** Thousands may lie about, of runs elsewhere that were killed. */
  function rest(): 'of_no_concern' {
    close();
    restsUntilMs = now() + LOOK_MS;
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
        // It went just now, or is a folder: the files of others can be read all the same.
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
