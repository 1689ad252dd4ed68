import { Queue } from 'bullmq';
import type { PendingSince } from '../../parking.ts';
import { chunkId, type LookupsData, PART } from '../contract.ts';
import { CHUNK_OPTIONS, findRunId, LOOKUPS_JOB, LOOKUPS_QUEUE } from '../names.ts';
import { replaceChunk } from '../runs/run-ledger.ts';
import type { RedisClient } from '../server/redis.ts';
import { queueOptions } from '../traces.ts';
import type { TakenChunk } from './recipients.ts';

/** Replaces a chunk that was taken by other chunks on the queue. */
export interface ChunkReturns {
  /** Puts the remaining domains back as a chunk of their own, before all waiting chunks. */
  giveBack(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  /** Puts pending domains back as a chunk of their own, which workers get when it is due. */
  park(chunk: TakenChunk, domains: readonly string[], pending: ParkedChunk): Promise<void>;
  /** Puts the domains back one by one, to find out which of them is to blame. */
  cut(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface ParkedChunk extends PendingSince {
  /** In milliseconds since 1970. */
  readonly dueMs: number;
}

export function createChunkReturns(client: RedisClient): ChunkReturns {
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...queueOptions(client) });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere

  /**
   * The ledger of the run first, the queue second: if the run knows of a chunk that was never
   * added, it adds it again.
   */
  async function replace(
    chunk: TakenChunk,
    by: readonly LookupsData[],
    dueMs?: number,
  ): Promise<void> {
    const runId = chunk.data.replyTo === undefined ? undefined : findRunId(chunk.data.replyTo);
    // The id is not made from the content alone: others may have given out the same domains for
    // other reasons.
    const asks = dueMs === undefined ? [] : [String(by[0]?.pending?.asks)];
    const chunks = new Map(
      by.map((data) => [chunkId(PART, [chunk.id, ...asks, ...data.domains]), data]),
    );
    if (runId !== undefined) {
      const domains = new Map([...chunks].map(([id, data]) => [id, data.domains]));
      await replaceChunk(client, runId, chunk.id, domains);
    }
    const { priority, addedAtMs } = chunk;
    const opts = {
      ...CHUNK_OPTIONS,
      // If another worker puts it back too, because this one was lost, its reply has the same id.
      timestamp: addedAtMs,
      ...(priority > 0 ? { priority } : dueMs === undefined ? { lifo: true } : {}),
      // BullMQ counts from the timestamp.
      ...(dueMs === undefined ? {} : { delay: Math.max(0, Math.round(dueMs - addedAtMs)) }),
    };
    await queue.addBulk(
      [...chunks].map(([jobId, data]) => ({ name: LOOKUPS_JOB, data, opts: { ...opts, jobId } })),
    );
  }

  return {
    giveBack: (chunk, domains) => replace(chunk, [{ ...chunk.data, domains: [...domains] }]),
    park: (chunk, domains, { dueMs, sinceMs, asks }) =>
      replace(chunk, [{ ...chunk.data, domains: [...domains], pending: { sinceMs, asks } }], dueMs),
    cut: (chunk, domains) =>
      replace(
        chunk,
        domains.map((domain) => ({ ...chunk.data, domains: [domain], suspect: true })),
      ),
    close: () => queue.close(),
  };
}
