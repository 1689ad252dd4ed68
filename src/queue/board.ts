import type { Queue } from 'bullmq';
import { DAY_MS, MINUTE_MS } from '../common/format.ts';
import type { Closable } from '../common/lifetime.ts';
import { ABSENT_MS, PREFIX, QUEUES_KEY, streamKey, WORKERS_KEY } from './names.ts';
import {
  isAway,
  openQueue,
  parsed,
  type RedisClient,
  type RedisServer,
  repeat,
  timeOf,
} from './redis.ts';

// What the processes on a Redis say of themselves, each in a field of a hash, and how long its
// queues are.

/** What was said, and when it was said last, by the clock of Redis. */
interface Said {
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly seenMs: number;
  /** How long ago that is, in milliseconds, or how far ahead: the clock may have gone back. */
  readonly silentMs: number;
}

async function say(client: RedisClient, key: string, id: string, what: object): Promise<number> {
  const seenMs = await timeOf(client);
  await client.hset(key, id, JSON.stringify({ ...what, seenMs }));
  return seenMs;
}

/** @param keptMs how long it counts. What is older, or unreadable, is removed. */
async function readSaid<T>(
  client: RedisClient,
  key: string,
  keptMs: (said: T) => number,
): Promise<readonly (T & Said)[]> {
  const [nowMs, texts] = await Promise.all([timeOf(client), client.hgetall(key)]);
  const said: (T & Said)[] = [];
  const gone: string[] = [];
  for (const [id, text] of Object.entries(texts)) {
    const read = parsed(text) as (T & Said) | null | undefined;
    const silentMs = Math.abs(nowMs - (read?.seenMs ?? 0));
    if (read && silentMs <= keptMs(read)) said.push({ ...read, id, silentMs });
    else gone.push(id);
  }
  if (gone.length > 0) await client.hdel(key, ...gone);
  return said.toSorted((a, b) => a.seenMs - b.seenMs);
}

/** The description that a worker gives of itself. */
export interface WorkerNotice {
  readonly host: string;
  readonly pid: number;
  /** The API that it asks, for people. */
  readonly api: string;
  /** The queue that it serves, which is that of its API. */
  readonly queue: string;
  /** The most calls that it makes at the same time. */
  readonly concurrency: number;
  /** HTTP requests made. */
  readonly calls: number;
  /** Why it makes no calls although others do, in a sentence. */
  readonly trouble?: string | undefined;
  /** Why it stopped by itself, in a sentence. Kept for a day. */
  readonly stopped?: string | undefined;
}

export type FoundWorker = WorkerNotice &
  Said & {
    /** `lost`: it was killed, is frozen, or is cut off from Redis. `stopped`: by itself. */
    readonly state: 'there' | 'lost' | 'stopped';
  };

/** Announces a worker. */
export interface Heartbeat {
  /**
   * The time by the clock of Redis, in milliseconds since 1970; before it is known, by the
   * machine's.
   */
  now(): number;
  /**
   * @param why why it stopped by itself, for those who wait for lookups, in case no worker is left
   */
  close(why: string | undefined): Promise<void>;
}

const HEARTBEAT_MS = 2_000;

export function announceWorker(
  { client, refused }: RedisServer,
  id: string,
  describe: () => WorkerNotice,
): Heartbeat {
  let aheadMs = 0;

  async function tell(): Promise<void> {
    await client.sadd(QUEUES_KEY, describe().queue); // again, for a Redis that was emptied
    aheadMs = (await say(client, WORKERS_KEY, id, describe())) - Date.now();
  }

  const beating = repeat(HEARTBEAT_MS, tell, refused);
  return {
    now: () => Date.now() + aheadMs,
    close: async (stopped) => {
      await beating.close();
      // If that fails, it counts as gone a little later.
      if (stopped === undefined) await client.hdel(WORKERS_KEY, id).catch(() => {});
      else await say(client, WORKERS_KEY, id, { ...describe(), stopped }).catch(() => {});
    },
  };
}

/** Workers that are gone are shown for this long. */
const GONE_MS = 10 * MINUTE_MS;

/**
 * The workers on all machines, as they describe themselves, in the order in which they did so last;
 * with those that are lost, for ten minutes, and those that stopped by themselves, for a day.
 */
async function readWorkers(client: RedisClient): Promise<readonly FoundWorker[]> {
  const keptMs = ({ stopped }: WorkerNotice): number => (stopped === undefined ? GONE_MS : DAY_MS);
  const said = await readSaid<WorkerNotice>(client, WORKERS_KEY, keptMs);
  return said.map((worker) => Object.assign(worker, { state: stateOf(worker) }));
}

function stateOf({ stopped, silentMs }: WorkerNotice & Said): FoundWorker['state'] {
  if (stopped !== undefined) return 'stopped';
  return silentMs > ABSENT_MS ? 'lost' : 'there';
}

/**
 * Those that are there, then those that went within ten minutes, or were the last of a queue that
 * has none now.
 */
export async function readShownWorkers(client: RedisClient): Promise<readonly FoundWorker[]> {
  const all = (await readWorkers(client)).toReversed();
  const isLast = (worker: FoundWorker): boolean =>
    all.find(({ queue }) => queue === worker.queue) === worker;
  return all.filter((worker) => worker.silentMs <= GONE_MS || isLast(worker));
}

/** Who serves a queue. */
export interface Serving {
  readonly workers: number;
  /** The last that stopped by itself, if none is there. */
  readonly lastStop: FoundWorker | undefined;
  /** Other queues that have workers. */
  readonly others: readonly string[];
}

export async function findServing(client: RedisClient, queue: string): Promise<Serving> {
  const all = await readWorkers(client);
  const there = all.filter(({ state }) => state === 'there').map((worker) => worker.queue);
  const lastStop = all.findLast((one) => one.queue === queue && one.state === 'stopped');
  const workers = there.filter((name) => name === queue).length;
  return {
    workers,
    lastStop: workers > 0 ? undefined : lastStop,
    others: [...new Set(there.filter((name) => name !== queue))],
  };
}

const RUNS_KEY = `${PREFIX}:runs`;
/** Each is some kilobytes, and the dashboard reads all of them. */
const MOST_RUNS = 50;
/** Requests to a run that no longer reads them are dropped after this time. */
const ASKED_FOR_MS = 30_000;
const askedKey = (id: string): string => `${PREFIX}:run-asked:${id}`;

export interface AnnounceRunOptions {
  readonly id: string;
  /** Returns the state as JSON. */
  readonly describe: () => string;
  /** Called with each action that is asked of the run. */
  readonly onAsked: (action: string) => void;
}

/**
 * Shows a run in Redis and takes requests to it, both within a second, until it is closed. Its last
 * state stays for a day.
 */
export function announceRun(client: RedisClient, options: AnnounceRunOptions): Closable {
  const { id, describe, onAsked } = options;

  async function tell(): Promise<void> {
    await say(client, RUNS_KEY, id, { state: describe() });
  }

  async function forgetOld(): Promise<void> {
    const old = (await readRuns(client)).slice(0, -MOST_RUNS);
    if (old.length > 0) await client.hdel(RUNS_KEY, ...old.map((run) => run.id));
  }

  async function look(): Promise<void> {
    for (const action of (await client.lpop(askedKey(id), 10)) ?? []) onAsked(action);
    await tell();
  }

  forgetOld().catch(() => {}); // the next run does
  const heartbeat = repeat(1_000, look);
  return {
    close: async () => {
      await heartbeat.close();
      await tell().catch(() => {}); // otherwise the run looks lost, which it is to this Redis
    },
  };
}

/** A run as it was announced. */
export interface AnnouncedRun {
  readonly id: string;
  /** JSON. */
  readonly state: string;
  /** The time since its last announcement. */
  readonly silentMs: number;
}

/** The runs that were announced within a day, in the order of their last announcements. */
export async function readRuns(client: RedisClient): Promise<readonly AnnouncedRun[]> {
  return await readSaid<{ readonly state: string }>(client, RUNS_KEY, () => DAY_MS);
}

/** Asks for an action on a run. It is done when the process of the run reads it. */
export async function askRun(client: RedisClient, id: string, action: string): Promise<void> {
  await client.multi().rpush(askedKey(id), action).pexpire(askedKey(id), ASKED_FOR_MS).exec();
}

/** States that a job on a queue may be in. */
const JOB_STATES = ['wait', 'prioritized', 'active', 'delayed', 'failed'] as const;

/** A job that failed and is kept for a day. */
export interface FailedJob {
  readonly job: string;
  readonly reason: string;
  /** In milliseconds since 1970. */
  readonly failedMs: number;
}

/** The queue of an API. */
export interface QueueState {
  readonly queue: string;
  /** Whether somebody has paused it through BullMQ. */
  readonly isPaused: boolean;
  /** How many jobs are on it, by their states. */
  readonly jobs: Readonly<Record<string, number>>;
  /** Batches of outcomes of its backfills that nobody has collected. */
  readonly uncollected: number;
  /** The last jobs that failed. */
  readonly failures: readonly FailedJob[];
}

/** The queues on a Redis, and how many workers take from them. */
export interface QueueReading {
  readonly queues: readonly QueueState[];
  readonly workers: number;
}

/** Undefined when Redis does not answer. */
export type ReadQueues = () => Promise<QueueReading | undefined>;

const MOST_FAILURES = 5;

/**
 * Reads the queues that all processes on a Redis share. Each is opened once; the connection closes
 * them.
 */
export function createQueueReader({ client }: RedisServer): ReadQueues {
  const open = new Map<string, Queue>();
  const read = async (name: string): Promise<QueueState> => {
    const queue = open.get(name) ?? openQueue(client, name, false);
    open.set(name, queue);
    const jobs = await queue.getJobCounts(...JOB_STATES);
    const failed = jobs['failed'] ? await queue.getFailed(0, MOST_FAILURES - 1) : [];
    return {
      queue: name,
      isPaused: await queue.isPaused(),
      jobs,
      uncollected: await client.xlen(streamKey(name)),
      failures: failed.map(({ id = '', failedReason, finishedOn = 0 }) => {
        return { job: id, reason: failedReason, failedMs: finishedOn };
      }),
    };
  };
  return async () => {
    if (isAway(client)) return undefined;
    const there = (await readWorkers(client)).filter(({ state }) => state === 'there');
    const names = (await client.smembers(QUEUES_KEY)).toSorted();
    return { workers: there.length, queues: await Promise.all(names.map(read)) };
  };
}

/** Puts all failed jobs of a queue on it again, as they are, each in its turn. */
export async function takeFailedAgain({ client }: RedisServer, name: string): Promise<void> {
  const queue = openQueue(client, name, false);
  for (const job of await queue.getFailed()) await job.retry('failed');
  await queue.close();
}
