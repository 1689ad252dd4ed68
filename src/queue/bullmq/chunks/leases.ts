import { uptime } from 'node:os';
import { ErrorCode, type Worker } from 'bullmq';
import { startHeartbeat } from '../../../common/owner.ts';
import { reasonOf } from '../server/refusals.ts';

/** The lease of this process on a chunk it took. */
export interface ChunkLease {
  /** False once another worker may have the chunk. */
  isOurs(): boolean;
  release(): void;
}

/** Keeps the leases on chunks alive while the chunks are worked on. */
export interface ChunkLeases {
  acquire(chunk: string, token: string): ChunkLease;
  close(): void;
}

export interface ChunkLeasesOptions {
  readonly worker: Worker;
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number;
  /**
   * A clock in milliseconds that nobody sets, and that goes on while the machine sleeps.
   *
   * @default the time since the machine was started
   */
  readonly nowMs?: () => number;
}

interface Leased {
  readonly token: string;
  renewedAtMs: number;
  isLost: boolean;
}

/**
 * Renews leases three times per lease time. A process that was frozen or cut off from Redis for
 * longer than the lease time may no longer own its chunks. They count as lost until a renewal
 * succeeds.
 */
export function createChunkLeases(options: ChunkLeasesOptions): ChunkLeases {
  const { worker, leaseMs, nowMs = createUptimeClock() } = options;
  const leased = new Map<string, Leased>();

  async function renew(): Promise<void> {
    const chunks = [...leased];
    if (chunks.length === 0) return;
    const askedAtMs = nowMs();
    const lost = await worker.extendJobLocks(
      chunks.map(([id]) => id),
      chunks.map(([, { token }]) => token),
      leaseMs,
    );
    for (const [id, lease] of chunks) {
      if (lost.includes(id)) lease.isLost = true;
      else lease.renewedAtMs = askedAtMs;
    }
  }

  // That a renewal failed is shown by the time since the last one.
  const heartbeat = startHeartbeat(leaseMs / 3, renew);

  return {
    acquire: (chunk, token) => {
      const lease: Leased = { token, renewedAtMs: nowMs(), isLost: false };
      leased.set(chunk, lease);
      return {
        isOurs: () => !lease.isLost && nowMs() - lease.renewedAtMs < leaseMs,
        release: () => {
          // The chunk may have been given to this process again, which then holds it under another
          // token.
          if (leased.get(chunk) === lease) leased.delete(chunk);
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

/** Errors of Redis about a job that this process no longer has a lease on. */
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
