import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Job, Queue } from 'bullmq';
import { within } from '../../../common/lifetime.ts';
import type { WorkerStanding } from '../../lookup-queue.ts';
import { delayUntilResumed } from '../bulk-lookups.ts';
import { AnyDataWorker, isUnreadable, mendUnreadable, parseLookups } from '../contract.ts';
import {
  findRunId,
  KEPT_FAILURES,
  LOOKUPS_QUEUE,
  QUEUE_OPTIONS,
  RETRY_MS,
  SHUTDOWN_TIMEOUT_MS,
} from '../names.ts';
import { watchPausedRuns } from '../runs/pauses.ts';
import { countCallsOfRuns } from '../runs/run-calls.ts';
import type { RedisClient, RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import { startChunkSpan } from '../traces.ts';
import { type ChunkTaskOptions, createChunkTask } from './chunk-task.ts';
import { announceWorker, createHeldChunkSums, isServed } from './heartbeats.ts';
import { createChunkLeases, describeLoss } from './leases.ts';
import { createOutcomeStreams } from './outcome-stream.ts';
import { createChunkReturns, createRecipients } from './recipients.ts';

export interface TakeChunksOptions
  extends Pick<ChunkTaskOptions, 'handle' | 'normalize' | 'api' | 'onNotice' | 'maxPendingMs'>,
    Partial<WorkerStanding> {
  readonly redis: RedisServer;
  /**
   * Calls in flight at once. Another chunk is taken when fewer than twice as many lookups are left.
   */
  readonly concurrency: number;
  /** How long a worker may be silent before its chunks are given to others. @default 15 s */
  readonly leaseMs?: number;
  /** HTTP requests made so far, for display. @default not counted */
  readonly callsMade?: () => number;
}

/** A worker on the queue of lookups. */
export interface ChunkTaker {
  /** Rejects on an error that no chunk is to blame for. */
  readonly ended: Promise<void>;
  /** The time that all workers share, in milliseconds since 1970. Clocks of machines may differ. */
  readonly now: () => number;
  /**
   * Takes no more chunks and starts no more lookups. Resolves when all outcomes are sent and the
   * rest is back on the queue.
   *
   * @param before awaited before this worker leaves the list of workers. @default nothing
   */
  stop(before?: Promise<unknown>): Promise<void>;
}

const LEASE_MS = 15_000;
/** An expired lease is noticed at the second check after it expired. */
const STALLED_CHECKS_PER_LEASE = 5;
const WAIT_FOR_CHUNK_S = 1;
const FETCH_MS = 100;
/**
 * BullMQ did not wait for a job if it returned sooner, as it does under a rate limit of the queue.
 */
const AT_ONCE_MS = 10;
const PAUSE_MS = 50;
/** How often a worker that has stepped back looks whether it should take a chunk. */
const STEPPED_BACK_MS = 250;
/**
 * A worker that took a chunk for another API rests this long, which leaves the next chunk to
 * others.
 */
const BACK_OFF_MS = 1_000;
/**
 * How long a chunk is delayed. In this time a run that is paused or stopping takes it off the queue, and a
 * lost run does not.
 */
const OFF_FOR_MS = 1_000;
/** The notice that backfills are paused is repeated at most this often. */
const REPORT_AGAIN_MS = 60 * 60_000;
/** More open chunks than this per call would only wait for slow answers. */
const MOST_CHUNKS_PER_CALL = 10;

/**
 * Takes chunks from the queue until it is stopped. They are fetched one by one, when the remaining
 * lookups do not keep all callers busy. With a fixed number of chunks, callers would be idle while
 * each chunk waits for its slowest lookup.
 *
 * @see {@link https://docs.bullmq.io/patterns/manually-fetching-jobs}
 */
export function takeChunks(options: TakeChunksOptions): ChunkTaker {
  const { redis, concurrency, leaseMs = LEASE_MS, onNotice } = options;
  const worker = new AnyDataWorker(LOOKUPS_QUEUE, null, {
    connection: redis.connect(),
    ...QUEUE_OPTIONS,
    autorun: false,
    lockDuration: leaseMs,
    stalledInterval: Math.ceil(leaseMs / STALLED_CHECKS_PER_LEASE), // Redis takes whole numbers only
    // Chunks that stall again and again are cut when they are taken.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    drainDelay: WAIT_FOR_CHUNK_S,
    // For jobs of other services, which need not set these options.
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILURES,
  });
  const refusals = createRefusals(onNotice);
  worker.on('error', refusals.tell);
  const leases = createChunkLeases({ worker, leaseMs });
  const streams = createOutcomeStreams(redis.client);
  const recipients = createRecipients(redis.client, streams);
  const returns = createChunkReturns(redis.client);
  const heartbeat = announceWorker(redis.client, {
    id: randomUUID(),
    onRefused: refusals.tell,
    describe: () => ({
      host: hostname(),
      pid: process.pid,
      api: options.api,
      concurrency,
      calls: options.callsMade?.(),
      trouble: options.describeStepBack?.(),
      holds: held.sums,
    }),
  });
  const held = createHeldChunkSums(heartbeat.now);
  const otherApis = createOtherApis({
    isServed: (api) => isServed(redis.client, api),
    onLeft: (api) =>
      onNotice(
        `There are lookups for another API, '${api}'. They are left to other workers; see --base-url and --param.`,
      ),
  });
  const ownChunks = createOwnChunks(redis.client, options.api);
  const paused = watchPausedRuns(redis.client);
  const callsOfRuns = countCallsOfRuns(redis.client);
  const open = new Set<Promise<void>>();
  let left = 0;
  let isStopping = false;
  let isBackingOff = false;
  let backingOff: NodeJS.Timeout | undefined;
  let wake = (): void => {};
  let pauseReportedAtMs = 0;

  const task = createChunkTask({
    ...options,
    streams,
    recipients,
    returns,
    paused,
    countCalls: async ({ replyTo = '', maxCalls, maxCost }) => {
      const runId = findRunId(replyTo);
      return runId === undefined ? undefined : await callsOfRuns.of(runId, { maxCalls, maxCost });
    },
    mayRefuse: (chunk, api) => otherApis.mayRefuse(chunk, api),
    returnJob: async ({ job, token }) => {
      backOff();
      await job.moveToWait(token);
      const isFed =
        wanted() <= 0 || (await ownChunks.bringBefore(job.priority, wanted()).catch(() => false));
      if (isFed) resume();
    },
    delay: ({ job, token }) => job.moveToDelayed(Date.now() + OFF_FOR_MS, token),
    delayUntilResumed: async ({ job, token }) => {
      reportPause();
      await delayUntilResumed(redis.client, job, token);
    },
    isStopping: () => isStopping,
    now: heartbeat.now,
    onLeft: (change) => {
      left += change;
      wake();
    },
  });

  function reportPause(): void {
    const isKnown = Date.now() - pauseReportedAtMs < REPORT_AGAIN_MS;
    if (!isKnown) onNotice('Backfills are paused until somebody resumes them.');
    if (!isKnown) pauseReportedAtMs = Date.now();
  }

  function backOff(): void {
    isBackingOff = true;
    clearTimeout(backingOff);
    backingOff = setTimeout(resume, BACK_OFF_MS).unref();
  }

  function resume(): void {
    clearTimeout(backingOff);
    isBackingOff = false;
    wake();
  }

  /** How many more lookups would keep all callers busy. */
  function wanted(): number {
    return 2 * concurrency - left;
  }

  function isHungry(): boolean {
    return wanted() > 0 && open.size < MOST_CHUNKS_PER_CALL * concurrency && !isBackingOff;
  }

  async function fetch(): Promise<void> {
    await worker.startStalledCheckTimer();
    while (!isStopping) {
      const appetite = options.appetite?.() ?? 'any';
      if (appetite === 'none' || (appetite === 'one_chunk' && open.size > 0)) {
        await delay(STEPPED_BACK_MS);
        continue;
      }
      if (!isHungry()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const token = randomUUID();
      const askedAtMs = performance.now();
      const job = await next(token);
      if (job && isStopping) await job.moveToWait(token).catch(refusals.tell);
      else if (job) start(job, token);
      else if (performance.now() - askedAtMs < AT_ONCE_MS) await delay(PAUSE_MS);
    }
  }

  async function next(token: string): Promise<Job | undefined> {
    try {
      return await worker.getNextJob(token);
    } catch (error) {
      refusals.tell(error);
      if (isUnreadable(error)) await mend(token).catch(refusals.tell);
      if (!isStopping) await delay(RETRY_MS);
      return undefined;
    }
  }

  async function mend(token: string): Promise<void> {
    const { client } = redis;
    const isOurs = (other: string): boolean => other === token;
    for (const id of await mendUnreadable({ client, queue: LOOKUPS_QUEUE, isOurs })) {
      onNotice(`Job ${id} has options that cannot be read; it is looked up without them.`);
    }
  }

  function start(job: Job, token: string): void {
    const lease = leases.acquire(job.id ?? '', token);
    const span = startChunkSpan(redis.client, job);
    let finished = (): void => {};
    const work = heartbeat.announced
      .then(async () => {
        finished = held.take(job.data);
        await task({ job, token, lease });
      })
      .then(
        () => span.end(),
        (error: unknown) => {
          span.end(error);
          // A refusal is not about one chunk: it would hit all of them.
          if (!refusals.tell(error)) onNotice(describeLoss(job.id ?? '', error));
        },
      )
      .finally(() => {
        lease.release();
        finished();
        open.delete(work);
        wake();
      });
    open.add(work);
  }

  async function leave(): Promise<void> {
    const parts = [recipients, returns, ownChunks, heartbeat];
    await Promise.all([worker.close(true), ...parts.map((part) => part.close())]);
    await ended;
  }

  const ended = fetch();
  return {
    ended,
    now: heartbeat.now,
    stop: async (before) => {
      isStopping = true;
      wake();
      // A longer fetch waits for a chunk that may never come, and is cut off below.
      await within(FETCH_MS, ended);
      while (open.size > 0) await Promise.all(open);
      leases.close();
      paused.close();
      await before;
      // No lease is held any more that would have to be released in a Redis that cannot be reached.
      await within(SHUTDOWN_TIMEOUT_MS, leave());
    },
  };
}

/** Decides what a worker does with chunks for other APIs than its own. */
export interface OtherApis {
  /**
   * Whether such a chunk is refused. It is left to others while there is a worker for its API, and
   * for some seconds after, in case that worker is only restarted.
   */
  mayRefuse(chunk: string, api: string): Promise<boolean>;
}

export interface OtherApisOptions {
  /** Whether any worker asks an API. */
  readonly isServed: (api: string) => Promise<boolean>;
  /** Called once for each API whose chunks are left to other workers. */
  readonly onLeft: (api: string) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly nowMs?: () => number;
}

const PATIENCE_MS = 5_000;

export function createOtherApis({
  isServed,
  onLeft,
  nowMs = () => performance.now(),
}: OtherApisOptions): OtherApis {
  const reported = new Set<string>();
  const absences = new Map<string, Absence>();

  /**
   * An absence seen long ago says nothing about now, except for a chunk that was left before and is
   * back.
   */
  function absenceOf(chunk: string, api: string): Absence {
    const atMs = nowMs();
    const known = absences.get(api) ?? { sinceMs: atMs, seenAtMs: atMs, left: new Set() };
    const isStale = atMs - known.seenAtMs > PATIENCE_MS && !known.left.has(chunk);
    const absence = { ...known, sinceMs: isStale ? atMs : known.sinceMs, seenAtMs: atMs };
    absences.set(api, absence);
    return absence;
  }

  return {
    mayRefuse: async (chunk, api) => {
      if (await isServed(api)) absences.delete(api);
      else {
        const { sinceMs, seenAtMs, left } = absenceOf(chunk, api);
        if (seenAtMs - sinceMs >= PATIENCE_MS) return true;
        left.add(chunk);
      }
      if (!reported.has(api)) onLeft(api);
      reported.add(api);
      return false;
    },
  };
}

/** No worker was seen for an API. */
interface Absence {
  readonly sinceMs: number;
  /** When the absence was last seen. */
  readonly seenAtMs: number;
  /** Chunks that were left for a worker that may come. */
  readonly left: Set<string>;
}

/** The waiting chunks that are for a worker's own API. */
interface OwnChunks {
  /**
   * Moves some of them before all chunks of a priority.
   *
   * @param priority the priority of the first chunk, which is for another API
   * @param lookups how many lookups the moved chunks should hold
   * @returns whether there was any such chunk
   */
  bringBefore(priority: number, lookups: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How many waiting chunks are searched. */
const MOST_CHUNKS = 1_024;
const READ_AT_ONCE = 64;

/**
 * BullMQ gives a worker the first chunk. If that is for another API, those behind it would wait for
 * workers that have nothing to do with them. So the worker looks for its own among the next chunks.
 *
 * @param api the API that the worker asks
 */
export function createOwnChunks(client: RedisClient, api: string): OwnChunks {
  const queue = new Queue(LOOKUPS_QUEUE, {
    connection: client,
    ...QUEUE_OPTIONS,
    skipMetasUpdate: true,
  });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  /** Waiting chunks known to be for other APIs. This way each worker reads a chunk only once. */
  let others = new Set<string>();

  async function findUnknown(): Promise<readonly string[]> {
    const ids = await queue.getRanges(['wait', 'prioritized'], 0, MOST_CHUNKS - 1, true);
    const known = others;
    others = new Set(ids.filter((id) => known.has(id)));
    return ids.filter((id) => !others.has(id));
  }

  /**
   * The chunks of the own API among these, and the invalid ones, with how many lookups they hold.
   */
  async function readOwn(ids: readonly string[]): Promise<readonly (readonly [Job, number])[]> {
    // A job that cannot be read is mended when it comes first.
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id).catch(() => undefined)));
    return jobs.flatMap((job) => {
      if (!job) return [];
      const data = parseLookups(job.data);
      if (typeof data === 'string') return [[job, 1] as const];
      if ((data.api ?? api) === api) return [[job, data.domains.length] as const];
      others.add(job.id ?? '');
      return [];
    });
  }

  return {
    bringBefore: async (priority, lookups) => {
      const unknown = await findUnknown();
      let found = 0;
      for (let at = 0; at < unknown.length && found < lookups; at += READ_AT_ONCE) {
        for (const [job, size] of await readOwn(unknown.slice(at, at + READ_AT_ONCE))) {
          if (found >= lookups) break;
          // Among jobs of equal priority, BullMQ orders by id once they were moved to the front.
          const before = Math.max(0, Math.min(job.priority, priority - 1));
          await job.changePriority({ priority: before, lifo: true });
          found += size;
        }
      }
      return found > 0;
    },
    close: () => queue.close(),
  };
}
