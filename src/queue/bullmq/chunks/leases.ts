import { uptime } from 'node:os';
import { ErrorCode, type Worker } from 'bullmq';
import { startHeartbeat } from '../../../common/heartbeat.ts';
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
   * A clock in milliseconds that nobody sets, and that goes on while the machine sleeps.
   *
   * @default the time since the machine was started
   */
  readonly nowMs?: () => number;
}

interface Held {
  readonly token: string;
  renewedAtMs: number;
  isLost: boolean;
}

/**
 * Renews locks three times per lock time. A process that was frozen or cut off from Redis for
 * longer than the lock time may no longer own its chunks. They count as lost until a renewal
 * succeeds.
 */
export function createChunkLocks(options: ChunkLocksOptions): ChunkLocks {
  const { worker, lockMs, nowMs = createUptimeClock() } = options;
  const held = new Map<string, Held>();

  async function renew(): Promise<void> {
    const chunks = [...held];
    if (chunks.length === 0) return;
    const askedAtMs = nowMs();
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

  // That a renewal failed is shown by the time since the last one.
  const heartbeat = startHeartbeat(lockMs / 3, renew);

  return {
    hold: (chunk, token) => {
      const lock: Held = { token, renewedAtMs: nowMs(), isLost: false };
      held.set(chunk, lock);
      return {
        isOurs: () => !lock.isLost && nowMs() - lock.renewedAtMs < lockMs,
        release: () => {
          // The chunk may have been given to this process again, which then holds it under another
          // token.
          if (held.get(chunk) === lock) held.delete(chunk);
        },
      };
    },
    close: heartbeat.close,
  };
}

/** To read the uptime takes some microseconds, and it is asked for before each lookup. */
const READ_EVERY_MS = 10;

/**
 * The wall clock may be set, and the monotonic clock of Node.js stands still while the machine
 * sleeps.
 */
function createUptimeClock(): () => number {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let uptimeMs = 0;
  return () => {
    if (performance.now() - readAtMs >= READ_EVERY_MS) {
      readAtMs = performance.now();
      uptimeMs = uptime() * 1_000;
    }
    return uptimeMs;
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
