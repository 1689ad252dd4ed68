import { Queue } from 'bullmq';
import type { PendingSince } from '../../parking.ts';
import { chunkId, type LookupsData, PART } from '../contract.ts';
import { CHUNK_OPTIONS, findRunId, LOOKUPS_JOB, LOOKUPS_QUEUE } from '../names.ts';
import { replaceChunk } from '../runs/run-ledger.ts';
import type { RedisClient } from '../server/redis.ts';
import { queueOptions } from '../traces.ts';

/** Replaces a chunk that was taken by other chunks on the queue. */
export interface ChunkReturns {
  /** Puts the remaining domains back as a chunk of their own, before all waiting chunks. */
  giveBack(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  /** Puts pending domains back as a chunk of their own, which workers get when it is due. */
  park(chunk: TakenChunk, domains: readonly string[], pending: ParkedChunk): Promise<void>;
  /** Puts the domains back in two halves, to find out which half is to blame. */
  bisect(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface ParkedChunk extends PendingSince {
  /** In milliseconds since 1970. */
  readonly dueMs: number;
}

export interface TakenChunk {
  readonly id: string;
  readonly data: LookupsData;
  /** In milliseconds since 1970. */
  readonly addedAtMs: number;
  readonly priority: number;
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
      const returned = new Set(by.flatMap((data) => data.domains));
      // Until the run has their outcomes, it must not take these domains for not asked.
      const kept = chunk.data.domains.filter((domain) => !returned.has(domain));
      await replaceChunk(client, runId, { chunk: chunk.id, kept, by: domains });
    }
    for (const [jobId, data] of chunks) {
      const { priority, addedAtMs } = chunk;
      await queue.add(LOOKUPS_JOB, data, {
        ...CHUNK_OPTIONS,
        jobId,
        // If another worker puts it back too, because this one was lost, its reply has the same id.
        timestamp: addedAtMs,
        ...(priority > 0 ? { priority } : dueMs === undefined ? { lifo: true } : {}),
        // BullMQ counts from the timestamp.
        ...(dueMs === undefined ? {} : { delay: Math.max(0, Math.round(dueMs - addedAtMs)) }),
      });
    }
  }

  return {
    giveBack: (chunk, domains) => replace(chunk, [{ ...chunk.data, domains: [...domains] }]),
    park: (chunk, domains, { dueMs, sinceMs, asks }) =>
      replace(chunk, [{ ...chunk.data, domains: [...domains], pending: { sinceMs, asks } }], dueMs),
    bisect: (chunk, domains) => {
      const middle = Math.ceil(domains.length / 2);
      const half = { ...chunk.data, suspect: true };
      return replace(chunk, [
        { ...half, domains: domains.slice(0, middle) },
        { ...half, domains: domains.slice(middle) },
      ]);
    },
    close: () => queue.close(),
  };
}
