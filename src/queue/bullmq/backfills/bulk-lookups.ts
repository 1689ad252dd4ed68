import { Queue } from 'bullmq';
import { within } from '../../../common/lifetime.ts';
import { CONTRACT_VERSION, chunkId, type LookupsData } from '../contract.ts';
import { BULK_PRIORITY, CHUNK_OPTIONS, LOOKUPS_JOB, LOOKUPS_QUEUE } from '../names.ts';
import { timeOf } from '../server/commands.ts';
import type { RedisServer } from '../server/redis.ts';
import { createRetrier } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';

export interface BulkLookupsOptions {
  readonly redis: RedisServer;
  /** Returned with the outcomes. */
  readonly ref: string;
  /** The API that is meant. @default the API of whichever worker takes the chunk */
  readonly api?: string | undefined;
  /** Whether the chunks go before all chunks of whole lists. */
  readonly isInteractive: boolean;
  /** Called with the reason when Redis refuses lookups. */
  readonly onNotice: (message: string) => void;
}

/** Lookups whose outcomes go to the queue of outcomes instead of coming back here. */
export interface BulkLookups {
  /**
   * Puts chunks on the queue, however often Redis refuses. A chunk that is on the queue already,
   * because the same list was added before, is not added twice.
   *
   * @returns how many of the lookups were not on the queue before
   * @throws the signal's reason when it fires first; any of the chunks may then be on the queue
   */
  add(chunks: readonly (readonly string[])[], signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

/** A Redis that cannot be reached must not hold up a stop for longer. */
const SHUTDOWN_TIMEOUT_MS = 3_000;

export function openBulkLookups(options: BulkLookupsOptions): BulkLookups {
  const { redis, ref, api, isInteractive, onNotice } = options;
  const { client } = redis;
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...queueOptions(client) });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  const retrier = createRetrier(onNotice);
  const priority = isInteractive ? {} : { priority: BULK_PRIORITY };
  // Lists for different APIs are different lists. As JSON, so that no ref can be taken for a
  // domain.
  const owner = JSON.stringify(api === undefined ? ref : [ref, api]);

  async function findWaiting(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const pipeline = client.pipeline();
    for (const id of ids) pipeline.exists(queue.toKey(id));
    const found = (await pipeline.exec()) ?? [];
    const [refusal] = found.flatMap(([error]) => (error === null ? [] : [error]));
    if (refusal) throw refusal;
    return new Set(ids.filter((_, at) => found[at]?.[1] === 1));
  }

  async function add(chunks: readonly (readonly string[])[], signal: AbortSignal): Promise<number> {
    const jobs = chunks.map((domains) => {
      const data: LookupsData = {
        v: CONTRACT_VERSION,
        domains,
        ref,
        ...(api === undefined ? {} : { api }),
      };
      const jobId = chunkId('add', [owner, ...domains]);
      return { name: LOOKUPS_JOB, data, opts: { ...CHUNK_OPTIONS, ...priority, jobId } };
    });
    let waiting: ReadonlySet<string> | undefined;
    await retrier.retryUntilAborted(async () => {
      // Looked up before the first try only: chunks that a try added are new.
      waiting ??= await findWaiting(jobs.map(({ opts }) => opts.jobId));
      const timestamp = await timeOf(client);
      await queue.addBulk(jobs.map((job) => ({ ...job, opts: { ...job.opts, timestamp } })));
    }, signal);
    return jobs
      .filter(({ opts }) => !waiting?.has(opts.jobId))
      .reduce((lookups, { data }) => lookups + data.domains.length, 0);
  }

  return {
    add: async (chunks, signal) => {
      signal.throwIfAborted();
      const adding = add(chunks, signal);
      adding.catch(() => {}); // may fail when it is no longer awaited
      const patienceEnds = new AbortController();
      try {
        return await Promise.race([adding, afterStop(signal, patienceEnds.signal)]);
      } finally {
        patienceEnds.abort();
      }
    },
    close: async () => {
      await within(SHUTDOWN_TIMEOUT_MS, queue.close());
    },
  };
}

/** Rejects some time after a stop, unless it is cancelled. */
async function afterStop(stop: AbortSignal, calledOff: AbortSignal): Promise<never> {
  return await new Promise<never>((_, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onStop = (): void => {
      timer = setTimeout(() => reject(stop.reason), SHUTDOWN_TIMEOUT_MS);
    };
    stop.addEventListener('abort', onStop);
    calledOff.addEventListener('abort', () => {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    });
  });
}
