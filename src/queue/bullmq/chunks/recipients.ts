import { Queue } from 'bullmq';
import type { PendingSince } from '../../parking.ts';
import {
  CONTRACT_VERSION,
  chunkId,
  type LookupsData,
  type OutcomeData,
  type OutcomesData,
  PART,
} from '../contract.ts';
import {
  CHUNK_OPTIONS,
  doneKey,
  findRunId,
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  ledgerKey,
  logKey,
  OUTCOMES_JOB,
  OUTCOMES_OPTIONS,
  OUTCOMES_QUEUE,
  replyId,
} from '../names.ts';
import type { CallNote } from '../runs/run-calls.ts';
import { readLeft, replaceChunk } from '../runs/run-ledger.ts';
import { createServerClock, type RedisClient } from '../server/redis.ts';
import { queueOptions } from '../traces.ts';
import { createStreamReader, type OutcomeStreams, type StreamedOutcome } from './outcome-stream.ts';

/** A chunk that a worker has taken. */
export interface TakenChunk {
  readonly id: string;
  readonly data: LookupsData;
  /** When it was put on the queue, in milliseconds since 1970. */
  readonly addedAtMs: number;
  readonly priority: number;
}

/** Who waits for the outcomes of a chunk: a run, or whoever reads a queue of outcomes. */
export interface Recipient {
  /** Finds out what is left of the chunk; undefined when its outcomes are no longer awaited. */
  readonly open: () => Promise<OpenedChunk | undefined>;
  /** Hands outcomes over as they come. Resolves when Redis has them. */
  readonly report: (
    outcomes: readonly StreamedOutcome[],
    takeNote?: () => CallNote | undefined,
  ) => Promise<void>;
  /**
   * Ends the chunk, once all its outcomes are reported. A worker that is killed in between leaves it to
   * another one.
   *
   * @param outcomes all that the chunk has, those of earlier workers included
   * @param complete removes the chunk from the queue of lookups
   */
  readonly finish: (
    outcomes: readonly OutcomeData[],
    complete: () => Promise<unknown>,
  ) => Promise<void>;
  /** Whether it takes outcomes from a worker whose lease on the chunk has run out. */
  readonly takesLate: boolean;
}

export interface OpenedChunk {
  /** The texts that are to be looked up. */
  readonly texts: readonly string[];
  /** Outcomes of an earlier worker that was lost. */
  readonly known: readonly OutcomeData[];
}

export interface Recipients {
  readonly of: (chunk: TakenChunk) => Recipient;
  /** Answers a job that is no chunk. */
  readonly refuse: (job: RefusedJob) => Promise<void>;
  close(): Promise<void>;
}

export interface RefusedJob {
  readonly id: string;
  readonly addedAtMs: number;
  readonly replyTo: string | undefined;
  readonly ref: unknown;
  readonly error: string;
}

/** Long answers are sent in parts of about this size. */
const PART_BYTES = 4 * 1024 * 1024;
const MOST_QUEUES = 200;
/** Long enough for another worker to take the chunk over if this one is killed now. */
const SOON_MS = 60_000;

export function createRecipients(client: RedisClient, streams: OutcomeStreams): Recipients {
  const queues = new Map<string, Queue>();
  const { readAll } = createStreamReader(client);
  const now = createServerClock(client);

  function queueOf(name: string): Queue {
    const known = queues.get(name);
    if (known) return known;
    for (const [oldest, queue] of queues) {
      if (queues.size < MOST_QUEUES) break;
      queues.delete(oldest);
      void queue.close();
    }
    const queue = new Queue(name, { connection: client, ...queueOptions(client) });
    queue.on('error', () => {}); // errors of the connection are reported elsewhere
    queues.set(name, queue);
    return queue;
  }

  async function send(
    { id, addedAtMs }: Pick<TakenChunk, 'id' | 'addedAtMs'>,
    {
      replyTo = OUTCOMES_QUEUE,
      ...data
    }: Omit<OutcomesData, 'v' | 'chunk'> & {
      readonly replyTo: string | undefined;
    },
    number = 0,
  ): Promise<void> {
    const job: OutcomesData = { v: CONTRACT_VERSION, chunk: id, ...data };
    const jobId = replyId(id, { addedAtMs, number });
    const timestamp = await now();
    await queueOf(replyTo).add(OUTCOMES_JOB, job, { ...OUTCOMES_OPTIONS, jobId, timestamp });
  }

  /** The outcomes go to the stream of the run. */
  function ofRun({ id }: TakenChunk, runId: string): Recipient {
    return {
      takesLate: true,
      open: async () => {
        const texts = await readLeft(client, runId, id);
        return texts && { texts, known: [] };
      },
      report: (outcomes, takeNote) => streams.report({ chunk: id, runId, outcomes, takeNote }),
      finish: async (_, complete) => {
        // In this order, and in one packet.
        await Promise.all([client.hdel(ledgerKey(runId), id), client.del(doneKey(id)), complete()]);
      },
    };
  }

  /** The outcomes gather in the stream of the chunk, and are sent as one reply. */
  function ofQueue(chunk: TakenChunk): Recipient {
    const { id, data } = chunk;
    const { replyTo, ref, domains } = data;
    const stream = logKey(id);
    return {
      takesLate: false,
      open: async () => {
        const entries = await readAll(stream);
        return {
          texts: domains,
          known: entries.flatMap(({ outcomes }) => outcomes.map((outcome) => outcome.data)),
        };
      },
      report: (outcomes) => streams.report({ chunk: id, outcomes }),
      finish: async (outcomes, complete) => {
        const to = { replyTo, ...(ref === undefined ? {} : { ref }) };
        for (const [number, part] of cut(outcomes).entries()) {
          await send(chunk, { ...to, outcomes: part }, number);
        }
        await client.pexpire(stream, SOON_MS);
        await complete();
        await client.del(stream);
      },
    };
  }

  return {
    of: (chunk) => {
      const runId = findRunId(chunk.data.replyTo ?? '');
      return runId === undefined ? ofQueue(chunk) : ofRun(chunk, runId);
    },
    refuse: async ({ replyTo, ref, error, ...job }) => {
      // A run looks for its failed chunks itself.
      if (findRunId(replyTo ?? '') !== undefined) return;
      await send(job, { replyTo, ...(ref === undefined ? {} : { ref }), outcomes: [], error });
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}

/**
 * Cuts outcomes into parts, none if there are none. They are sorted, so that parts sent again, by any
 * worker, are the same.
 */
function cut(outcomes: readonly OutcomeData[]): readonly (readonly OutcomeData[])[] {
  const parts: OutcomeData[][] = [];
  const sorted = [...outcomes].sort((a, b) => (a.domain < b.domain ? -1 : 1));
  let sizeBytes = Number.POSITIVE_INFINITY;
  for (const outcome of sorted) {
    if (sizeBytes > PART_BYTES) {
      parts.push([]);
      sizeBytes = 0;
    }
    parts.at(-1)?.push(outcome);
    sizeBytes += outcome.json.length;
  }
  return parts;
}

/** Replaces a chunk that was taken by other chunks on the queue. */
export interface ChunkReturns {
  /** Puts the remaining domains back as a chunk of their own, before all waiting chunks. */
  returnUnasked(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  /** Puts pending domains back as a chunk of their own, which workers get when it is due. */
  park(chunk: TakenChunk, domains: readonly string[], pending: ParkedChunk): Promise<void>;
  /** Puts the domains back one by one, to find out which of them is to blame. */
  cut(chunk: TakenChunk, domains: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

interface ParkedChunk extends PendingSince {
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
    returnUnasked: (chunk, domains) => replace(chunk, [{ ...chunk.data, domains: [...domains] }]),
    park: (chunk, domains, { dueMs, sinceMs, asks }) =>
      replace(chunk, [{ ...chunk.data, domains: [...domains], pending: { sinceMs, asks } }], dueMs),
    cut: (chunk, domains) =>
      replace(
        chunk,
        domains.map((domain) => ({ ...chunk.data, domains: [domain], poison: true })),
      ),
    close: () => queue.close(),
  };
}
