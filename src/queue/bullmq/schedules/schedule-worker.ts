import { type Job, WaitingError, Worker } from 'bullmq';
import { within } from '../../../common/lifetime.ts';
import { createChunkLeases } from '../chunks/leases.ts';
import { KEPT_FAILURES } from '../names.ts';
import { timeOf } from '../server/commands.ts';
import type { RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';
import { nextDue, RUN_JOB, type RunRequest, scheduleQueueName } from './schedule-queue.ts';

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
   * Runs of a job go one after the other: the claim may have been lost while Redis was away, and
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
