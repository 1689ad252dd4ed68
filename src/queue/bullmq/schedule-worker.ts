import { type Job, WaitingError, Worker } from 'bullmq';
import { isDone } from '../../common/errors.ts';
import { within } from '../../common/lifetime.ts';
import { type Owner, startHeartbeat } from '../../common/owner.ts';
import { createChunkLeases } from './chunks/leases.ts';
import { ABSENT_MS, KEPT_FAILURES, PREFIX } from './names.ts';
import {
  nextDue,
  RUN_JOB,
  type RunReason,
  type RunRequest,
  resultsKey,
  scheduleQueueName,
  skipsKey,
} from './schedule-queue.ts';
import { type RedisClient, type RedisServer, timeOf } from './server/redis.ts';
import { createRefusals } from './server/refusals.ts';
import { queueOptions } from './traces.ts';

/** A run that this process has taken. */
export interface TakenRun extends RunRequest {
  /** How many processes were lost while they made it. */
  readonly losses: number;
  /** Whether it was begun before, here or elsewhere. */
  readonly isAgain: boolean;
}

/** When a job was due. */
export interface DueTime {
  /** In milliseconds since 1970. */
  readonly atMs: number;
  /** How long ago that is. Negative when the clock that created the tick is ahead. */
  readonly agoMs: number;
}

export interface TakeRunsOptions {
  readonly redis: RedisServer;
  readonly group: string;
  /** How many runs may go at the same time. */
  readonly atOnce: number;
  /** How long a process may be silent before its runs are given to others. */
  readonly leaseMs: number;
  /** Called with the reason when Redis refuses to hand runs over. */
  readonly onNotice: (message: string) => void;
  /** Called when a job is due. */
  readonly onTick: (job: string, due: DueTime) => Promise<void>;
  /**
   * Makes a run, and returns whether it was completed. When the signal fires, it ends early, and
   * the run is made again: at the next start, or by another process.
   */
  readonly run: (taken: TakenRun, signal: AbortSignal) => Promise<boolean>;
}

/** Takes ticks and runs off the queue of a group. */
export interface RunTaker {
  /** Takes no more runs and ends those under way. Resolves when all have ended. */
  stop(): Promise<void>;
}

/** A Redis that cannot be reached must not hold up a stop for longer. It notices the end later. */
const SHUTDOWN_TIMEOUT_MS = 5_000;
const LOOKS_PER_LEASE = 6;
const STALLED_CHECKS_PER_LEASE = 3;
/** Keeps ticks served while all runs are under way. */
const SLOTS_FOR_TICKS = 4;

export function takeRuns(options: TakeRunsOptions): RunTaker {
  const { redis, group, atOnce, leaseMs, onNotice, onTick, run } = options;
  const stopping = new AbortController();
  const going = new Map<string, Promise<boolean>>();
  const worker = new Worker<unknown>(
    scheduleQueueName(group),
    async (job, token = '') => {
      if (job.name === RUN_JOB) await take(job as Job<RunRequest>, token);
      else await onTick((job.data as { readonly job: string }).job, await dueTimeOf(job));
    },
    {
      connection: redis.connect(),
      ...queueOptions(redis.client),
      settings: { repeatStrategy: nextDue },
      autorun: false,
      concurrency: atOnce + SLOTS_FOR_TICKS,
      lockDuration: leaseMs,
      stalledInterval: Math.ceil(leaseMs / STALLED_CHECKS_PER_LEASE), // Redis takes whole numbers only
      skipLockRenewal: true, // done below, where a failure is noticed
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: 1,
      removeOnComplete: { count: 0 },
      removeOnFail: KEPT_FAILURES,
    },
  );
  const refusals = createRefusals(onNotice, 'the schedule');
  worker.on('error', refusals.tell);
  const leases = createChunkLeases({ worker, leaseMs });

  /** A job is late only if it is late by the clock of Redis too: the clock here may be ahead. */
  async function dueTimeOf({ opts, timestamp }: Job<unknown>): Promise<DueTime> {
    const atMs = opts.prevMillis ?? timestamp;
    const nowMs = Math.min(Date.now(), await timeOf(redis.client));
    return { atMs, agoMs: nowMs - atMs };
  }

  async function take(job: Job<RunRequest>, token: string): Promise<void> {
    const lease = leases.acquire(job.id ?? '', token);
    const lost = new AbortController();
    const timer = setInterval(() => {
      if (!lease.isOurs()) lost.abort();
    }, leaseMs / LOOKS_PER_LEASE);
    const signal = AbortSignal.any([stopping.signal, lost.signal]);
    const taken = { ...job.data, losses: job.stalledCounter, isAgain: job.attemptsStarted > 1 };
    try {
      const isDone = await oneByOne(taken.job, () => run(taken, signal));
      if (!signal.aborted || (isDone && lease.isOurs())) return;
      if (lease.isOurs()) await job.moveToWait(token);
      throw new WaitingError();
    } finally {
      clearInterval(timer);
      lease.release();
    }
  }

  /**
   * Runs of a job go one after the other: the lease may have been lost while Redis was away, and
   * the run given to this process again.
   */
  async function oneByOne(job: string, work: () => Promise<boolean>): Promise<boolean> {
    const before = going.get(job)?.catch(() => false) ?? Promise.resolve(false);
    const made = before.then(work);
    going.set(job, made);
    try {
      return await made;
    } finally {
      if (going.get(job) === made) going.delete(job);
    }
  }

  worker.run().catch(() => {}); // ends when the worker is closed
  return {
    stop: async () => {
      const closed = worker.close();
      stopping.abort();
      await Promise.allSettled(going.values());
      await within(SHUTDOWN_TIMEOUT_MS, closed);
      leases.close();
    },
  };
}

/** A process that keeps schedules and makes their runs. */
export interface ScheduleProcess {
  readonly owner: Owner;
  /** The names of its jobs, sorted. */
  readonly jobs: readonly string[];
}

/** Tells that a process with schedules is there, until it is closed. */
export interface ScheduleHeartbeat {
  close(): Promise<void>;
}

const HEARTBEAT_MS = 5_000;

/** The key with the names of all groups and the folders of their files. */
const GROUPS = `${PREFIX}:schedules`;

/**
 * Tells that a process with schedules is there, and its group with the folder of the files. Resolves
 * when both can be seen. Both announcements are repeated, so that a Redis that has lost everything
 * gets them again.
 *
 * @param onClock called each time with how far this machine's clock is ahead of that of Redis, in
 *   milliseconds
 */
export async function startScheduleHeartbeat(
  client: RedisClient,
  { name: group, folder }: { readonly name: string; readonly folder: string },
  own: ScheduleProcess,
  onClock: (aheadMs: number) => void = () => {},
): Promise<ScheduleHeartbeat> {
  const member = JSON.stringify(own);
  const tell = async (): Promise<void> => {
    const now = await timeOf(client);
    onClock(Date.now() - now);
    const key = processesKey(group);
    const saying = client.multi().zadd(key, now, member).pexpire(key, ABSENT_MS);
    await saying.hset(GROUPS, group, folder).exec();
  };
  const heartbeat = startHeartbeat(HEARTBEAT_MS, tell);
  try {
    await heartbeat.first;
  } catch (error) {
    heartbeat.close();
    throw error;
  }
  return {
    close: async () => {
      heartbeat.close();
      await client.zrem(processesKey(group), member);
    },
  };
}

/** The processes with schedules of a group that are there. */
export async function findScheduleProcesses(
  client: RedisClient,
  group: string,
): Promise<readonly ScheduleProcess[]> {
  const since = (await timeOf(client)) - ABSENT_MS;
  const members = await client.zrangebyscore(processesKey(group), since, '+inf');
  return members.map((member) => JSON.parse(member) as ScheduleProcess);
}

/** All groups that ever existed, sorted, apart from those that were dropped. */
export async function findGroups(client: RedisClient): Promise<readonly string[]> {
  return (await client.hkeys(GROUPS)).sort();
}

/** Removes a group without schedules. */
export async function dropGroup(client: RedisClient, group: string): Promise<void> {
  await client.hdel(GROUPS, group);
}

function processesKey(group: string): string {
  return `${PREFIX}:schedule-processes:${group}`;
}

/** How a scheduled run ended. */
export interface ScheduledResult {
  readonly why: RunReason;
  /** In ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The exit code, as of `brandfill run`. */
  readonly exitCode: number;
  /** How often the job was due again while it ran. These runs were left out. */
  readonly skipped: number;
  /** Absent when there is an error. */
  readonly rows?: number;
  readonly found?: number;
  readonly failed?: number;
  /** HTTP requests made. */
  readonly calls?: number;
  /** Why it stopped before all domains were asked. */
  readonly stopped?: string;
  /** Why it could not be run. */
  readonly error?: string;
  /** The machine that it ran on. */
  readonly host: string;
}

/** The results of the last runs of each job. */
export interface ScheduleResults {
  /** Notes that a job was due while it was running. */
  skip(job: string): Promise<void>;
  /** Adds the result of a run, with how many runs were skipped meanwhile. */
  add(job: string, result: Omit<ScheduledResult, 'skipped'>): Promise<void>;
  /** Returns the results, the latest first. */
  read(job: string): Promise<readonly ScheduledResult[]>;
}

/**
 * How many results of each job are kept. The last completed run is kept too, however many failed
 * after it.
 */
const KEPT = 30;
/**
 * The results of a run that goes on while its schedule is removed are not removed. They expire
 * after more than a year, the longest interval of crons.
 */
const KEPT_S = 400 * 24 * 60 * 60;

export function openScheduleResults(client: RedisClient, group: string): ScheduleResults {
  const readTexts = (job: string): Promise<string[]> =>
    client.lrange(resultsKey(group, job), 0, -1);

  return {
    skip: async (job) => {
      await client.hincrby(skipsKey(group), job, 1);
    },
    add: async (job, result) => {
      const key = resultsKey(group, job);
      const skipped = Number(await client.hget(skipsKey(group), job)) || 0;
      const added = JSON.stringify({ ...result, skipped } satisfies ScheduledResult);
      const kept = keptOf([added, ...(await readTexts(job))]);
      await client
        .multi()
        .hdel(skipsKey(group), job)
        .del(key)
        .rpush(key, ...kept)
        .expire(key, KEPT_S)
        .exec();
    },
    read: async (job) => (await readTexts(job)).map(parse),
  };
}

/** @param texts the latest first */
function keptOf(texts: readonly string[]): readonly string[] {
  const lastDone = texts.findIndex((text) => isDone(parse(text).exitCode));
  return texts.filter((_, at) => at < KEPT || at === lastDone);
}

function parse(text: string): ScheduledResult {
  return JSON.parse(text) as ScheduledResult;
}
