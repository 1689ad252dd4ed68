import { Queue } from 'bullmq';
import { within } from '../../../common/within.ts';
import { CONTRACT_VERSION, chunkId, type LookupsData } from '../contract.ts';
import { BULK_PRIORITY, CHUNK_OPTIONS, LOOKUPS_JOB, LOOKUPS_QUEUE } from '../names.ts';
import { createPatience } from '../server/patience.ts';
import type { RedisServer } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';
import { queueOptions } from '../traces.ts';

export interface BulkLookupsOptions {
  readonly redis: RedisServer;
  /** Comes back with the outcomes. */
  readonly ref: string;
  /** The API that is meant. @default the one that the worker asks */
  readonly api?: string | undefined;
  /** Goes before all chunks of whole lists. */
  readonly isInteractive: boolean;
  /** Told why there is a wait. */
  readonly onNotice: (message: string) => void;
}

/** Lookups that nobody waits for here; their outcomes go to the queue of outcomes. */
export interface BulkLookups {
  /**
   * Puts chunks on the queue, however often Redis refuses. A chunk that is there already, because
   * the same list was added before, is not put there twice.
   *
   * @returns how many of the lookups were not there yet
   * @throws the signal's reason when it fires first; any of the chunks may then be on the queue
   */
  add(chunks: readonly (readonly string[])[], signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

/** A Redis that is gone must not hold up whoever wants to stop. */
const FAREWELL_MS = 3_000;

export function openBulkLookups(options: BulkLookupsOptions): BulkLookups {
  const { redis, ref, api, isInteractive, onNotice } = options;
  const { client } = redis;
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...queueOptions(client) });
  queue.on('error', () => {}); // told by what watches the connection
  const patience = createPatience(onNotice);
  const priority = isInteractive ? {} : { priority: BULK_PRIORITY };
  // Two lists that mean two APIs are not the same. As JSON, so that no ref can pass for a domain.
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
    await patience.insist(async () => {
      // Only before the first try: what that has added is new.
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
      adding.catch(() => {}); // may fail when nobody waits for it any more
      const patienceEnds = new AbortController();
      try {
        return await Promise.race([adding, afterStop(signal, patienceEnds.signal)]);
      } finally {
        patienceEnds.abort();
      }
    },
    close: async () => {
      await within(FAREWELL_MS, queue.close());
    },
  };
}

/** Rejects some time after a stop, unless it is called off. */
async function afterStop(stop: AbortSignal, calledOff: AbortSignal): Promise<never> {
  return await new Promise<never>((_, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onStop = (): void => {
      timer = setTimeout(() => reject(stop.reason), FAREWELL_MS);
    };
    stop.addEventListener('abort', onStop);
    calledOff.addEventListener('abort', () => {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    });
  });
}
