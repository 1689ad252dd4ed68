import { ErrorCode, type Worker } from 'bullmq';
import { reasonOf } from '../server/reasons.ts';

/** The claim of this process on a chunk it took. */
export interface ChunkLock {
  /** False once it is not sure any more that no other worker has the chunk. */
  isOurs(): boolean;
  release(): void;
}

/** Keeps the claims on chunks alive while they are worked on. */
export interface ChunkLocks {
  hold(chunk: string, token: string): ChunkLock;
  close(): void;
}

export interface ChunkLocksOptions {
  readonly worker: Worker;
  /** How long a claim counts that is not renewed. */
  readonly lockMs: number;
  /**
   * In milliseconds; the one counts by which more time has passed. @default one that nobody sets, and one
   * that goes on while the machine sleeps
   */
  readonly clocks?: readonly (() => number)[];
}

const CLOCKS = [() => performance.now(), Date.now];

interface Held {
  readonly token: string;
  /** By each clock. */
  renewedAtMs: readonly number[];
  isLost: boolean;
}

/**
 * Renews locks thrice per lock time. A process that was frozen, or cut off from Redis, for longer
 * than that may no longer own its chunks: they count as lost until a renewal says otherwise.
 */
export function createChunkLocks(options: ChunkLocksOptions): ChunkLocks {
  const { worker, lockMs, clocks = CLOCKS } = options;
  const held = new Map<string, Held>();

  const readClocks = (): number[] => clocks.map((nowMs) => nowMs());

  async function renew(): Promise<void> {
    const chunks = [...held];
    if (chunks.length === 0) return;
    const askedAtMs = readClocks();
    const lost = await worker.extendJobLocks(
      chunks.map(([id]) => id),
      chunks.map(([, { token }]) => token),
      lockMs,
    );
    for (const [id, lock] of chunks) {
      if (lost.includes(id)) lock.isLost = true;
      else lock.renewedAtMs = askedAtMs;
    }
  }

  const timer = setInterval(() => {
    renew().catch(() => {}); // the time since the last renewal tells
  }, lockMs / 3);

  return {
    hold: (chunk, token) => {
      const lock: Held = { token, renewedAtMs: readClocks(), isLost: false };
      held.set(chunk, lock);
      return {
        isOurs: () => {
          const isOver = (nowMs: number, at: number): boolean =>
            nowMs - (lock.renewedAtMs[at] ?? 0) >= lockMs;
          return !lock.isLost && !readClocks().some(isOver);
        },
        release: () => {
          // It may have been given to this very process again, which holds it under another token.
          if (held.get(chunk) === lock) held.delete(chunk);
        },
      };
    },
    close: () => clearInterval(timer),
  };
}

/** What Redis answers about a job that this process has no claim on any more. */
const NOT_OURS: ReadonlySet<unknown> = new Set([
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
]);

/** Says that others may have a chunk by now. */
export function describeCutOff(chunk: string): string {
  return `Chunk ${chunk} was left to others: this worker was cut off for too long.`;
}

/** Says why a chunk that was taken could not be finished here. */
export function describeLoss(chunk: string, error: unknown): string {
  const isNotOurs = error instanceof Error && 'code' in error && NOT_OURS.has(error.code);
  return isNotOurs
    ? describeCutOff(chunk)
    : `Chunk ${chunk} was left to others: ${reasonOf(error)}.`;
}
