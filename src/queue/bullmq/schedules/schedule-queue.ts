import { randomUUID } from 'node:crypto';
import { type Job, type JobsOptions, Queue } from 'bullmq';
import { KEPT_FAILURES, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { queueOptions } from '../traces.ts';
import { nextDue } from './next-due.ts';

/** The schedule of a job as it is stored in Redis. */
export interface KeptSchedule {
  readonly cron: string;
  /** Always stored, because machines may be in different zones. */
  readonly timezone: string;
}

/** A schedule with its next time. */
export interface DueSchedule extends KeptSchedule {
  /** In milliseconds since 1970. It is in the past when no process was there to run the job. */
  readonly nextAtMs: number;
}

/** Why a job is run: at its time, late because no process was there, or on request. */
export type RunReason = 'due' | 'missed' | 'asked';

/** A run that has to be made. */
export interface RunRequest {
  readonly job: string;
  readonly why: RunReason;
  /** When the job was due, in milliseconds since 1970. */
  readonly dueAtMs: number;
}

/** A request as it is on the queue. */
interface AskedRun extends RunRequest {
  /** Tells who asked. */
  readonly token: string;
}

/** The schedules of one group of job files, in Redis. */
export interface ScheduleQueue {
  /** All schedules, by the name of the job. */
  read(): Promise<ReadonlyMap<string, DueSchedule>>;
  /** Adds or changes a schedule. Its next time is then counted from now. */
  keep(job: string, schedule: KeptSchedule): Promise<void>;
  /** Removes a schedule, its results, and its run if that has not begun. */
  forget(job: string): Promise<void>;
  /** Requests a run. Returns false if one is already requested or going on. */
  ask(request: RunRequest): Promise<boolean>;
  /** The runs that are requested: their start in milliseconds since 1970, or `waiting`. */
  findRuns(jobs: readonly string[]): Promise<ReadonlyMap<string, number | 'waiting'>>;
  close(): Promise<void>;
}

/** The name of a group's queue. */
export function scheduleQueueName(group: string): string {
  return `schedule-${group}`;
}

const TICK_JOB = 'tick';
export const RUN_JOB = 'run';

/** A tick that Redis refuses for now must not be lost. */
const TICK_OPTIONS: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: KEPT_FAILURES,
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 2_000 },
};
const RUN_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: true };

/**
 * Opens the schedules of a group. BullMQ makes a *tick* when a job is due. A tick requests a *run*,
 * a job with a fixed id. An id exists only once, whatever the state of its job. So while a run is
 * going on or requested, no second one can be requested, on any machine. The run goes to another
 * process when its own is gone.
 */
export function openScheduleQueue(client: RedisClient, group: string): ScheduleQueue {
  const queue = new Queue(scheduleQueueName(group), {
    connection: client,
    ...queueOptions(client),
    settings: { repeatStrategy: nextDue },
  });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere

  return {
    read: async () => {
      const schedulers = await queue.getJobSchedulers();
      return new Map(
        schedulers.flatMap(({ pattern, tz, next, template }) => {
          const { job } = (template?.data ?? {}) as { readonly job?: string };
          if (job === undefined || pattern === undefined) return [];
          return [[job, { cron: pattern, timezone: tz ?? 'UTC', nextAtMs: next ?? 0 }] as const];
        }),
      );
    },
    keep: async (job, { cron, timezone }) => {
      await queue.upsertJobScheduler(
        idOf(job),
        { pattern: cron, tz: timezone },
        { name: TICK_JOB, data: { job }, opts: TICK_OPTIONS },
      );
    },
    forget: async (job) => {
      await queue.removeJobScheduler(idOf(job));
      const run = await queue.getJob(runId(job));
      await run?.remove().catch(() => {}); // the run is going on, and ends by itself
      await client.del(resultsKey(group, job));
      await client.hdel(skipsKey(group), job);
    },
    ask: async (request) => {
      const id = runId(request.job);
      if ((await client.exists(queue.toKey(id))) === 1) return false;
      const token = randomUUID();
      await queue.add(RUN_JOB, { ...request, token }, { ...RUN_OPTIONS, jobId: id });
      // Somebody else may have asked just now: BullMQ keeps the first of an id, and says nothing. A run that is gone
      // again was made.
      const kept = (await queue.getJob(id)) as Job<Partial<AskedRun>> | undefined;
      return kept === undefined || kept.data.token === token;
    },
    findRuns: async (jobs) => {
      const runs = await Promise.all(jobs.map((job) => queue.getJob(runId(job))));
      const found = new Map<string, number | 'waiting'>();
      for (const [at, run] of runs.entries()) {
        const job = jobs[at];
        if (run === undefined || job === undefined) continue;
        const isGoing = (await run.isActive()) && run.processedOn !== undefined;
        found.set(job, isGoing ? (run.processedOn ?? 'waiting') : 'waiting');
      }
      return found;
    },
    close: () => queue.close(),
  };
}

/** Opens the schedules of a group for `work`, and closes them afterwards in any case. */
export async function withScheduleQueue<T>(
  client: RedisClient,
  group: string,
  work: (queue: ScheduleQueue) => Promise<T>,
): Promise<T> {
  const queue = openScheduleQueue(client, group);
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

/** The key with the results of a job, the latest first. */
export function resultsKey(group: string, job: string): string {
  return `${PREFIX}:schedule-results:${group}:${idOf(job)}`;
}

/** The key that counts how often a job was due while it was running. */
export function skipsKey(group: string): string {
  return `${PREFIX}:schedule-skips:${group}`;
}

/** BullMQ refuses a colon in an id. */
function idOf(job: string): string {
  return encodeURIComponent(job);
}

function runId(job: string): string {
  return `run-${idOf(job)}`;
}
