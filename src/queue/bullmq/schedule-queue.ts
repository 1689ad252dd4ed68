import { randomUUID } from 'node:crypto';
import { type Job, type JobsOptions, Queue, type RepeatOptions } from 'bullmq';
import { CronExpressionParser } from 'cron-parser';
import { DAY_MS } from '../../common/format.ts';
import { KEPT_FAILURES, PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';
import { queueOptions } from './traces.ts';

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

/**
 * When a job is due next, in milliseconds since 1970, in the form that BullMQ asks for. A time that
 * clocks skip is due later by the length of their jump. A time that occurs twice counts once.
 *
 * cron-parser alone skips a day on which clocks jump at midnight, as in Cairo, Beirut, Havana and
 * Santiago. It throws where clocks go back by half an hour, on Lord Howe. So the next wall-clock
 * time is also computed, in a zone where clocks never change.
 */
export function nextDue(afterMs: number, { pattern = '', tz = 'UTC' }: RepeatOptions): number {
  const dueMs = tryNext(pattern, tz, afterMs);
  let shownMs = shownBefore(afterMs, tz);
  for (;;) {
    shownMs = nextOf(pattern, 'UTC', shownMs);
    const onClockMs = instantOf(shownMs, tz);
    if (onClockMs > afterMs) return Math.min(dueMs, onClockMs);
    // The time occurs twice, and the first time is past.
    if (Number.isFinite(dueMs)) return dueMs;
  }
}

function tryNext(cron: string, tz: string, afterMs: number): number {
  try {
    const dueMs = nextOf(cron, tz, afterMs);
    return dueMs > afterMs ? dueMs : Number.POSITIVE_INFINITY; // it may return a past time
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function nextOf(cron: string, tz: string, afterMs: number): number {
  return CronExpressionParser.parse(cron, { tz, currentDate: new Date(afterMs) })
    .next()
    .getTime();
}

/**
 * The first moment at which clocks show a time. If they skip it, later by the length of their jump.
 */
function instantOf(shownMs: number, tz: string): number {
  const earlierMs = shownMs - offsetAt(shownMs - DAY_MS, tz);
  const laterMs = shownMs - offsetAt(shownMs + DAY_MS, tz);
  const found = [earlierMs, laterMs].filter((ms) => shownAt(ms, tz) === shownMs);
  return found.length > 0 ? Math.min(...found) : earlierMs;
}

/**
 * The time that clocks show, or would show had they not just jumped. A time that they skipped is
 * still to come then.
 */
function shownBefore(ms: number, tz: string): number {
  const shownMs = shownAt(ms, tz);
  const jumpMs = offsetAt(ms, tz) - offsetAt(ms - DAY_MS, tz);
  const isJustOver = jumpMs > 0 && shownAt(ms - jumpMs, tz) < shownMs - jumpMs;
  return isJustOver ? shownMs - jumpMs : shownMs;
}

function offsetAt(ms: number, tz: string): number {
  return shownAt(ms, tz) - ms;
}

/** The time that clocks show at a moment, encoded as if it were UTC. */
function shownAt(ms: number, tz: string): number {
  const parts = clockOf(tz).formatToParts(ms);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((each) => each.type === type)?.value);
  const seconds = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return seconds + (ms % 1_000);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone);
  clock ??= new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  clocks.set(timeZone, clock);
  return clock;
}
