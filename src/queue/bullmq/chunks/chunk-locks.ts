import { ErrorCode, type Worker } from 'bullmq';
import { reasonOf } from '../server/reasons.ts';

/** The claim of this process on a chunk it took. */
export interface ChunkLock {
  /** False once another worker may have the chunk. */
  isOurs(): boolean;
  release(): void;
}

/** Keeps the claims on chunks alive while the chunks are worked on. */
export interface ChunkLocks {
  hold(chunk: string, token: string): ChunkLock;
  close(): void;
}

export interface ChunkLocksOptions {
  readonly worker: Worker;
  /** How long a claim lasts without renewal. */
  readonly lockMs: number;
  /**
   * Clocks in milliseconds. The one by which more time has passed counts. @default a monotonic
   * clock, and one that goes on while the machine sleeps
   */
  readonly clocks?: readonly (() => number)[];
}

const CLOCKS = [() => performance.now(), Date.now];

interface Held {
  readonly token: string;
  /** The last renewal by each clock. */
  renewedAtMs: readonly number[];
  isLost: boolean;
}

/**
 * Renews locks three times per lock time. A process that was frozen or cut off from Redis for
 * longer than the lock time may no longer own its chunks. They count as lost until a renewal
 * succeeds.
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
    renew().catch(() => {}); // the time since the last renewal shows it
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
          // The chunk may have been given to this process again, which then holds it under another
          // token.
          if (held.get(chunk) === lock) held.delete(chunk);
        },
      };
    },
    close: () => clearInterval(timer),
  };
}

/** Errors of Redis about a job that this process no longer has a claim on. */
const NOT_OURS: ReadonlySet<unknown> = new Set([
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
]);

/** Says that other workers may have a chunk by now. */
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
