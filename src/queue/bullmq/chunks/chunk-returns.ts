import { Queue } from 'bullmq';
import { chunkId, type LookupsData, PART } from '../contract.ts';
import { CHUNK_OPTIONS, findRunId, LOOKUPS_JOB, LOOKUPS_QUEUE } from '../names.ts';
import { replaceChunk } from '../runs/run-ledger.ts';
import type { RedisClient } from '../server/redis.ts';
import { queueOptions } from '../traces.ts';

/** Puts other chunks on the queue in the place of one that was taken. */
export interface ChunkReturns {
  /** What is left of it goes back as a chunk of its own, before all that wait. */
  giveBack(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  /** Two halves of that go back, to find out which one is to blame. */
  cutInHalves(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  close(): Promise<void>;
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
  queue.on('error', () => {}); // told by what watches the connection

  /** Run first, queue second: a run that knows of a chunk nobody has adds it again. */
  async function replace(chunk: TakenChunk, by: readonly LookupsData[]): Promise<void> {
    const runId = chunk.data.replyTo === undefined ? undefined : findRunId(chunk.data.replyTo);
    // Not by content alone: others may have given out the same domains for other reasons.
    const chunks = new Map(by.map((data) => [chunkId(PART, [chunk.id, ...data.domains]), data]));
    if (runId !== undefined) {
      const domains = new Map([...chunks].map(([id, data]) => [id, data.domains]));
      const returned = new Set(by.flatMap((data) => data.domains));
      // Until it has their outcomes, a run must not take them for what nobody has asked.
      const kept = chunk.data.domains.filter((domain) => !returned.has(domain));
      await replaceChunk(client, runId, { chunk: chunk.id, kept, by: domains });
    }
    for (const [jobId, data] of chunks) {
      const { priority, addedAtMs } = chunk;
      await queue.add(LOOKUPS_JOB, data, {
        ...CHUNK_OPTIONS,
        jobId,
        // Returned by another worker too, because this one was lost, it gets the same reply.
        timestamp: addedAtMs,
        ...(priority > 0 ? { priority } : { lifo: true }),
      });
    }
  }

  return {
    giveBack: (chunk, domains) => replace(chunk, [{ ...chunk.data, domains: [...domains] }]),
    cutInHalves: (chunk, domains) => {
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
