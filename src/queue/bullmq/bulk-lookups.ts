import { type Job, Queue, UnrecoverableError, WaitingError } from 'bullmq';
import { z } from 'zod';
import { within } from '../../common/lifetime.ts';
import {
  AnyDataWorker,
  CONTRACT_VERSION,
  chunkId,
  isUnreadable,
  type LookupsData,
  mendUnreadable,
  type OutcomesData,
} from './contract.ts';
import {
  BULK_PRIORITY,
  CHUNK_OPTIONS,
  KEPT_FAILURES,
  LOOKUPS_JOB,
  LOOKUPS_QUEUE,
  OUTCOMES_QUEUE,
  PREFIX,
  QUEUE_OPTIONS,
  SHUTDOWN_TIMEOUT_MS,
} from './names.ts';
import { pausedKey } from './runs/pauses.ts';
import { type RedisClient, type RedisServer, timeOf } from './server/redis.ts';
import { createRefusals, createRetrier } from './server/refusals.ts';
import { queueOptions } from './traces.ts';

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

export interface ReceiveOutcomesOptions {
  readonly redis: RedisServer;
  /**
   * Stores a reply for good. The reply is acknowledged only then. If this rejects, the reply comes
   * again. A reply that is delivered twice has the same id.
   */
  readonly keep: (id: string, reply: OutcomesData) => Promise<void>;
  readonly onNotice: (message: string) => void;
}

/** Takes replies from the queue of outcomes. */
export interface OutcomeReceiver {
  /** Takes no more replies. Resolves when those taken are stored or refused. */
  stop(): Promise<void>;
}

/** Replies that are stored at the same time. They share the cost of writing to the disk. */
const REPLIES_AT_ONCE = 64;
/** Replies held by a receiver that was lost come again after this time. */
const LOCK_MS = 15_000;

const outcome = z.looseObject({
  domain: z.string(),
  given: z.string().optional(),
  status: z.enum(['found', 'not_found', 'rejected', 'failed', 'pending', 'invalid']),
  reason: z.string(),
  httpStatus: z.number().optional(),
  attempts: z.number(),
  fetchedAtMs: z.number().min(-8.64e15).max(8.64e15),
  json: z.string(),
});

const outcomes = z.looseObject({
  v: z.literal(1),
  chunk: z.string(),
  outcomes: z.array(outcome),
  error: z.string().optional(),
});

/** Receives the outcomes of chunks that name no queue of their own. */
export function receiveOutcomes(options: ReceiveOutcomesOptions): OutcomeReceiver {
  const { redis, keep, onNotice } = options;
  let isStopping = false;

  async function receive(job: Job<unknown>, token?: string): Promise<void> {
    const read = outcomes.safeParse(job.data);
    if (!read.success) {
      onNotice(
        `Job ${job.id} on the queue ${OUTCOMES_QUEUE} holds no outcomes and was left there as failed.`,
      );
      throw new UnrecoverableError('no outcomes');
    }
    const reply = read.data as OutcomesData;
    try {
      await keep(idOf(job), reply);
    } catch (error) {
      if (!isStopping) throw error;
      // Put back at once. A delayed job would come back by the clock of the next collector, and
      // this machine's clock may be ahead of it.
      await job.moveToWait(token);
      throw new WaitingError();
    }
  }

  const worker = new AnyDataWorker(OUTCOMES_QUEUE, receive, {
    connection: redis.connect(),
    ...queueOptions(redis.client),
    concurrency: REPLIES_AT_ONCE,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS / 5,
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    drainDelay: 1,
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILURES,
  });
  const refusals = createRefusals(onNotice, 'the collector');
  worker.on('error', (thrown) => {
    refusals.tell(thrown);
    if (isUnreadable(thrown)) mend().catch(refusals.tell);
  });

  async function mend(): Promise<void> {
    const isOurs = (token: string): boolean => token.startsWith(`${worker.id}:`);
    const { client } = redis;
    for (const id of await mendUnreadable({ client, queue: OUTCOMES_QUEUE, isOurs })) {
      onNotice(`Job ${id} has options that cannot be read; it is accepted without them.`);
    }
  }

  return {
    stop: async () => {
      isStopping = true;
      await worker.close();
    },
  };
}

/**
 * The id of a reply. Replies of workers have unique ids. Jobs of other programs may be numbered,
 * and a Redis that has lost everything begins with 1 again, so the number alone is not unique.
 */
function idOf({ id = '', timestamp }: Job<unknown>): string {
  return /^\d+$/.test(id) ? `${id}@${timestamp}` : id;
}

/** Stands for all lookups that belong to no run, where a run id is expected. */
export const BACKFILLS = 'backfills';
/** The chunks that are parked: backfills are paused. */
const PARKED = `${PREFIX}:aside`;
/**
 * How long a chunk is parked before a worker checks it again. Short enough that little is lost
 * if the process that resumes is killed meanwhile, and long enough that workers have time for runs.
 */
const PARKED_FOR_MS = 10 * 60_000;
const BATCH = 200;

/** Keeps workers from starting calls for lookups of no run, until these are resumed. */
export async function pauseBackfills(client: RedisClient): Promise<void> {
  await client.set(pausedKey(BACKFILLS), '1');
}

export async function areBackfillsPaused(client: RedisClient): Promise<boolean> {
  return (await client.exists(pausedKey(BACKFILLS))) === 1;
}

/** Resumes lookups of no run, and puts all parked chunks back on the queue. */
export async function resumeBackfills(client: RedisClient): Promise<void> {
  await client.del(pausedKey(BACKFILLS));
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...QUEUE_OPTIONS });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  try {
    for (;;) {
      const ids = (await client.spop(PARKED, BATCH)) ?? [];
      if (ids.length === 0) return;
      await Promise.all(ids.map((id) => promote(queue, id)));
    }
  } finally {
    await queue.close();
  }
}

/** The job may be gone or may have come back by itself. */
async function promote(queue: Queue, id: string): Promise<void> {
  const job: Job | undefined = await queue.getJob(id);
  if (job && (await job.isDelayed())) await job.promote().catch(() => {});
}

/**
 * Parks a chunk while backfills are paused. It stays on the queue, but does not block others.
 */
export async function delayUntilResumed(
  client: RedisClient,
  job: Job,
  token: string,
): Promise<void> {
  // Noted first: a note without its chunk is harmless, but a chunk without its note would keep
  // waiting.
  const id = job.id ?? '';
  await client.sadd(PARKED, id);
  await job.moveToDelayed(Date.now() + PARKED_FOR_MS, token);
  // A process that resumed a moment ago may have read the set before.
  if (await areBackfillsPaused(client)) return;
  await job.promote().catch(() => {});
  await client.srem(PARKED, id);
}

/** How many chunks of lookups wait. */
export interface Backlog {
  /** Chunks of runs and of no run. */
  readonly waiting: number;
  /** Chunks of no run that wait until they are resumed. */
  readonly aside: number;
  readonly isPaused: boolean;
}

/** @param queue the queue of lookups */
export async function readBacklog(client: RedisClient, queue: Queue): Promise<Backlog> {
  const [isPaused, aside, counts] = await Promise.all([
    areBackfillsPaused(client),
    client.scard(PARKED),
    queue.getJobCounts('wait', 'prioritized'),
  ]);
  const waiting = (counts['wait'] ?? 0) + (counts['prioritized'] ?? 0);
  return { waiting, aside: isPaused ? aside : 0, isPaused };
}
