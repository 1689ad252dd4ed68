import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import type { Closable } from '../common/lifetime.ts';
import { ABSENT_MS, PREFIX, QUEUE_OPTIONS } from './names.ts';
import { lockMsOf, type RedisClient, type RedisServer, repeat } from './redis.ts';

/** When a job file is due. */
export interface KeptSchedule {
  readonly cron: string;
  /** Always stored, because machines may be in different zones. */
  readonly timezone: string;
}

/** Why a job is run: at its time, late because no process was there, or on request. */
export type RunReason = 'due' | 'missed' | 'asked';

/** How a scheduled run ended. */
export interface ScheduledResult {
  readonly why: RunReason;
  /** In ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The exit code, as of `brandfill run`. */
  readonly exitCode: number;
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

/** The known facts of a scheduled job. */
export interface ScheduledJob extends KeptSchedule {
  /** The name of its file without folder and ending. */
  readonly job: string;
  /** The name of the schedules that it belongs to. */
  readonly group: string;
  /** When it is due next, in ISO 8601, UTC. In the past when no process was there to run it. */
  readonly nextAt: string;
  /** Since when it has been running. */
  readonly runningSince?: string | undefined;
  /** Whether a run waits for a process to make it. */
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  /** How its last runs ended, the latest first. */
  readonly results: readonly ScheduledResult[];
}

/** Schedules of one name in Redis. BullMQ makes a job of them when they are due. */
export interface Schedules extends Closable {
  /** All of them, by job. */
  read(): Promise<ReadonlyMap<string, KeptSchedule>>;
  /** Adds or changes one. Its next time is then counted from now. */
  keep(job: string, schedule: KeptSchedule): Promise<void>;
  /** Removes one. */
  forget(job: string): Promise<void>;
  /** Asks for a run now. Returns false if one is going on or asked for already. */
  ask(job: string): Promise<boolean>;
  addResult(job: string, result: ScheduledResult): Promise<void>;
  list(): Promise<readonly ScheduledJob[]>;
}

interface RunData {
  readonly job: string;
  readonly isAsked?: boolean;
}

const KEPT_RESULTS = 30;
/** Results outlive a job that is due once a year. */
const KEPT_S = 400 * 24 * 60 * 60;
/** A set of the names of all schedules. */
const NAMES = `${PREFIX}:schedules`;
/** A run that begins this much later than it was due was missed. */
const LATE_MS = 60_000;
/** A run with which so many processes were lost, or stopped, would end the next one too. */
const MOST_STARTS = 3;

const queueNameOf = (name: string): string => `schedule-${name}`;
const resultsKey = (name: string, job: string): string =>
  `${PREFIX}:schedule-results:${name}:${job}`;
const aliveKey = (name: string): string => `${PREFIX}:schedule-process:${name}`;

export function openSchedules(client: RedisClient, name: string): Schedules {
  const queue = new Queue<RunData>(queueNameOf(name), { connection: client, ...QUEUE_OPTIONS });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  const opts = { removeOnComplete: true, removeOnFail: true };

  async function readResults(job: string): Promise<readonly ScheduledResult[]> {
    const texts = await client.lrange(resultsKey(name, job), 0, -1);
    return texts.map((text) => JSON.parse(text) as ScheduledResult);
  }

  return {
    read: async () => {
      const found = await queue.getJobSchedulers();
      return new Map(
        found.map(({ key, pattern = '', tz = 'UTC' }) => [
          decodeURIComponent(key),
          { cron: pattern, timezone: tz },
        ]),
      );
    },
    keep: async (job, { cron, timezone }) => {
      await client.sadd(NAMES, name);
      const template = { name: 'run', data: { job }, opts };
      await queue.upsertJobScheduler(
        encodeURIComponent(job),
        { pattern: cron, tz: timezone },
        template,
      );
    },
    forget: async (job) => {
      await queue.removeJobScheduler(encodeURIComponent(job));
    },
    ask: async (job) => {
      const jobId = `asked-${encodeURIComponent(job)}`;
      const active = await queue.getActive();
      if (active.some(({ data }) => data.job === job) || (await queue.getJob(jobId))) return false;
      await queue.add('run', { job, isAsked: true }, { ...opts, jobId });
      return true;
    },
    addResult: async (job, result) => {
      const key = resultsKey(name, job);
      const adding = client.multi().lpush(key, JSON.stringify(result));
      await adding
        .ltrim(key, 0, KEPT_RESULTS - 1)
        .expire(key, KEPT_S)
        .exec();
    },
    list: async () => {
      const [schedulers, isKept, active, waiting] = await Promise.all([
        queue.getJobSchedulers(),
        client.exists(aliveKey(name)),
        queue.getActive(),
        queue.getWaiting(),
      ]);
      const listed = schedulers.map(async ({ key, pattern = '', tz = 'UTC', next = 0 }) => {
        const job = decodeURIComponent(key);
        const running = active.find(({ data }) => data.job === job);
        return {
          job,
          group: name,
          cron: pattern,
          timezone: tz,
          nextAt: new Date(next).toISOString(),
          runningSince: running && new Date(running.processedOn ?? 0).toISOString(),
          isWaiting: waiting.some(({ data }) => data.job === job),
          isKept: isKept === 1,
          results: await readResults(job),
        };
      });
      return (await Promise.all(listed)).toSorted((a, b) => a.job.localeCompare(b.job));
    },
    close: () => queue.close(),
  };
}

/** The names of all schedules on a Redis. */
export async function findSchedules(client: RedisClient): Promise<readonly string[]> {
  return (await client.smembers(NAMES)).toSorted();
}

/** A run that is to be made. */
export interface DueRun {
  readonly job: string;
  readonly why: RunReason;
  /** When it was due, in milliseconds since 1970. */
  readonly dueAtMs: number;
  /** Whether it was begun before, by a process that was lost or stopped. */
  readonly isAgain: boolean;
}

export interface TakeRunsOptions {
  readonly redis: RedisServer;
  readonly name: string;
  /**
   * Makes a run.
   *
   * @param signal fires when the run is to end early, because this process stops or was cut off
   * @returns whether it came to its end. Otherwise it is made again.
   */
  readonly run: (due: DueRun, signal: AbortSignal) => Promise<boolean>;
  /** Called when a run is given up, since processes were lost with it again and again. */
  readonly onGivenUp: (job: string, starts: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Makes the runs that are due, one at a time, on all machines together:
 *
 *   delayed ──due──▶ waiting ──▶ running ─┬─ over ────────────────────▶ gone; the next one is delayed
 *                       ▲                 ├─ due again meanwhile ─────▶ is run behind it, or skipped
 *                       └── process lost, ┘
 *                           or stopping
 */
export async function takeRuns(options: TakeRunsOptions): Promise<Closable> {
  const { redis, name, run, onGivenUp, onError } = options;
  const { client } = redis;
  const lockMs = lockMsOf(60_000);
  const queue = new Queue(queueNameOf(name), { connection: client, ...QUEUE_OPTIONS });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  await queue.setGlobalConcurrency(1);
  const stopping = new AbortController();
  let cutOff = new AbortController();

  async function work(job: Job<RunData>, token = ''): Promise<void> {
    cutOff = new AbortController();
    const { data, id = '', timestamp, attemptsStarted } = job;
    const dueAtMs = data.isAsked ? timestamp : Number(id.split(':').at(-1)) || timestamp;
    const isLate = Date.now() - dueAtMs > LATE_MS;
    const why = data.isAsked ? 'asked' : isLate ? 'missed' : 'due';
    const isAgain = attemptsStarted > 1;
    const signal = AbortSignal.any([stopping.signal, cutOff.signal]);
    const isDone = await run({ job: data.job, why, dueAtMs, isAgain }, signal);
    if (isDone || !stopping.signal.aborted) return;
    await job.moveToWait(token);
    throw new WaitingError();
  }

  const worker = new Worker<RunData>(queueNameOf(name), work, {
    ...QUEUE_OPTIONS,
    connection: redis.connect(),
    concurrency: 1,
    lockDuration: lockMs,
    stalledInterval: Math.ceil(lockMs / 3),
    maxStalledCount: 1_000,
    maxStartedAttempts: MOST_STARTS,
    removeOnComplete: { count: 0 },
  });
  worker.on('error', onError);
  worker.on('lockRenewalFailed', () => cutOff.abort());
  worker.on('failed', (job) => job && onGivenUp(job.data.job, MOST_STARTS));
  const beating = repeat(ABSENT_MS / 3, async () => {
    await client.set(aliveKey(name), '1', 'PX', ABSENT_MS);
  });
  return {
    close: async () => {
      stopping.abort();
      beating.close();
      await worker.close();
      await queue.close();
      await client.del(aliveKey(name));
    },
  };
}
